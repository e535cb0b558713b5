"""What is done to the power, and what a machine boots by."""

from attrs import evolve

from .asking import NOTHING, Answer, Ask, refusal
from .documents import enabling, resets, targets
from .state import LAGGING, Override, Power, State
from .switches import Switch

_ON = ("On", "ForceOn")
_OFF = {"ForceOff": "off", "GracefulShutdown": "soft-off"}
_AGAIN = ("GracefulRestart", "ForceRestart", "PowerCycle")
#: Changes that a machine in POST refuses before it takes one.
_POSTING = 3


def in_post(state: State) -> tuple[State, Answer | None]:
    """:returns: what is said while the machine is in POST; None: it is through."""
    word = Switch.IN_POST.word
    if Switch.IN_POST not in state.switches or state.refusals.count(word) >= _POSTING:
        return state, None
    text = "The operation cannot be performed while the system is in POST."
    message = "iLO.2.14.UnableToModifyDuringSystemPOST"
    return state.refused(word), refusal(state.switches, 400, message, text)


def reset(state: State, ask: Ask) -> tuple[State, Answer]:
    """A POST to ``ComputerSystem.Reset``."""
    switches, wanted = state.switches, (ask.document or {}).get("ResetType")
    if wanted not in resets(state):
        text = f"The value {wanted} for the parameter ResetType is not in the list."
        said = refusal(switches, 400, "ActionParameterNotSupported", text, related=("#/ResetType",))
        return state, said
    on = state.power.at(ask.now)
    same = on if wanted in _ON else not on
    if Switch.SAME_STATE in switches and same and (wanted in _ON or wanted in _OFF):
        text = "The system is in that power state already."
        return state, refusal(switches, 409, "IDRAC.2.8.ActionParameterValueConflict", text)
    if wanted == "Nmi":
        return state.logged("NMI").changed("nmi"), NOTHING
    goal = wanted not in _OFF
    lags = Switch.POWER_LAGS in switches or Switch.POWER_NULL in switches
    due = ask.now + LAGGING if lags and goal is not on else ask.now
    state = evolve(state, power=Power(on, goal, due)).logged(f"{wanted}")
    if wanted in _OFF:
        return (state.changed(_OFF[wanted]) if on else state), NOTHING
    if wanted in _AGAIN or not on:
        return booted(state, "reset" if on else "on"), NOTHING
    return state, NOTHING


def booted(state: State, what: str) -> State:
    """The machine boots, and an override of once is used up."""
    state = evolve(state.changed(what), booted=True)
    if state.override.enabled != "Once" or Switch.OVERRIDE_SURVIVES in state.switches:
        return state
    used = evolve(state.override, enabled="Disabled", target="None", uri="")
    return evolve(state, override=used, version=state.version + 1)


def override(state: State, ask: Ask, settings: bool) -> tuple[State, Answer]:
    """A PATCH of ``Boot``. :param settings: whether on the resource of the settings."""
    switches, told = state.switches, (ask.document or {}).get("Boot")
    if not isinstance(told, dict):
        return state, refusal(switches, 400, "PropertyUnknown", "Only Boot can be changed.")
    problem = _problem(state, told)
    if problem is not None:
        return state, problem
    if Switch.BOOT_SETTINGS in switches and not settings:
        return state, Answer(200, {})
    old = Override() if Switch.BOOT_RESETS in switches else state.override
    new = Override(
        str(told.get("BootSourceOverrideTarget", old.target)),
        str(told.get("BootSourceOverrideEnabled", old.enabled)),
        str(told.get("BootSourceOverrideMode", old.mode)),
        str(told.get("HttpBootUri") or old.uri),
    )
    if Switch.CONTINUOUS_FORGOTTEN in switches and new.enabled == "Continuous":
        new = evolve(new, enabled="Disabled")
    state = evolve(state, override=new, version=state.version + 1)
    return state.changed("boot"), NOTHING


def _problem(state: State, told: dict[str, object]) -> Answer | None:
    switches = state.switches
    if Switch.CONFIG_JOB in switches and not state.booted:
        text = "A configuration job is pending: it is run at the next reboot."
        return refusal(switches, 409, "IDRAC.2.8.SYS011", text)
    names = ("BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode")
    if Switch.MODE_READ_ONLY in switches and names[2] in told:
        text = f"The property {names[2]} is read-only."
        related = (f"#/Boot/{names[2]}",)
        args = (names[2],)
        return refusal(switches, 400, "PropertyNotWritable", text, related=related, args=args)
    if Switch.BOOT_TRIPLE in switches and not all(each in told for each in names):
        return refusal(switches, 400, "PropertyMissing", "Boot is not complete.")
    allowed = {names[0]: targets(state), names[1]: enabling(state), names[2]: ("UEFI", "Legacy")}
    for name, values in allowed.items():
        if name in told and told[name] not in values:
            text = f"The value {told[name]} for the property {name} is not in the list."
            return refusal(
                switches, 400, "PropertyValueNotInList", text, related=(f"#/Boot/{name}",)
            )
    return None
