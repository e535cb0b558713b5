"""Power as Redfish has it: which reset types bring about what, and what a state means."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from ...contract.bmc import BmcRefusal, PowerAction, PowerState
from .documents import Document, inner, link, path_of, text, texts

_ACTION: Final = "#ComputerSystem.Reset"
_PARAMETER: Final = "ResetType"

#: By action, the ways to bring it about: the first whose every reset type is allowed. Those after
#: the first do it in another way than the one asked for, and the outcome says so (W226).
WAYS: Final[Mapping[PowerAction, tuple[tuple[str, ...], ...]]] = {
    PowerAction.ON: (("On",), ("ForceOn",)),
    PowerAction.OFF: (("ForceOff",),),
    PowerAction.SOFT_OFF: (("GracefulShutdown",),),
    PowerAction.RESET: (("ForceRestart",), ("PowerCycle",), ("ForceOff", "On")),
    PowerAction.CYCLE: (("PowerCycle",), ("ForceOff", "On")),
    PowerAction.NMI: (("Nmi",),),
}
#: What a machine's power is in the end; none for those that leave it as it is.
GOALS: Final[Mapping[str, PowerState]] = {
    "On": PowerState.ON,
    "ForceOn": PowerState.ON,
    "PowerCycle": PowerState.ON,
    "ForceRestart": PowerState.ON,
    "ForceOff": PowerState.OFF,
    "GracefulShutdown": PowerState.OFF,
}
#: Reset types that have done nothing yet while the state is still the goal.
RESTARTS: Final = frozenset({"PowerCycle", "ForceRestart"})

_STATES: Final = {
    "On": PowerState.ON,
    "PoweringOff": PowerState.ON,
    "Off": PowerState.OFF,
    "PoweringOn": PowerState.OFF,
}


def state_of(system: Document) -> PowerState:
    """:returns: unknown for null, for none and for ``Reset`` (W229)."""
    return _STATES.get(text(system, "PowerState"), PowerState.UNKNOWN)


def settled(system: Document, goal: PowerState) -> bool:
    """:returns: whether it is there, and not on its way from there."""
    return text(system, "PowerState") == {PowerState.ON: "On", PowerState.OFF: "Off"}.get(goal)


@frozen
class Resetting:
    """
    How a machine is reset.

    :ivar target: where; empty when the machine does not say.
    :ivar allowed: reset types; None when it does not say. :ivar info: path of what does.
    """

    target: str
    allowed: tuple[str, ...] | None
    info: str = ""


def resetting(system: Document) -> Resetting:
    """:param system: the document."""
    action = inner(system, "Actions", _ACTION)
    allowed = texts(action, f"{_PARAMETER}@Redfish.AllowableValues")
    info = action.get("@Redfish.ActionInfo")
    return Resetting(
        path_of(action.get("target")), allowed, path_of(info) or link(action, "@Redfish.ActionInfo")
    )


def allowed_by(info: Document) -> tuple[str, ...] | None:
    """:param info: an ActionInfo (R52). :returns: None when it does not say."""
    parameters = info.get("Parameters")
    for each in parameters if isinstance(parameters, list) else ():
        if text(inner(each), "Name") == _PARAMETER:
            return texts(inner(each), "AllowableValues")
    return None


def way(action: PowerAction, allowed: tuple[str, ...] | None) -> tuple[str, ...]:
    """
    :param allowed: None: nobody knows, so the usual one.
    :returns: reset types, one after the other.
    :raises BmcRefusal: ``unsupported-operation``.
    """
    ways = WAYS[action]
    if allowed is None:
        return ways[0]
    for each in ways:
        if set(each) <= set(allowed):
            return each
    raise BmcRefusal(
        "unsupported-operation",
        f"{action.value} takes {' or '.join('+'.join(each) for each in ways)}, and it allows"
        f" {', '.join(allowed) or 'nothing'}",
    )
