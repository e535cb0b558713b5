"""Power: one reset after the other, each until the machine is where it was to go."""

from typing import Final

from attrs import evolve

from ...contract.bmc import BmcRefusal, PowerAction, PowerState, SetPower
from .documents import Document, joined
from .patience import patient
from .replies import Declined
from .resets import GOALS, RESTARTS, WAYS, allowed_by, resetting, settled, state_of, way
from .session import Session
from .systems import system_of

#: Seconds between looks at the power: states lag by ten and more (W229).
_LOOK: Final = 2.0
#: Looks at a power that the BMC does not tell, and seconds that must be left for the next step.
_BLIND, _SPARE = 3, 1.0


async def get_power(session: Session, system: str) -> dict[str, object]:
    """``power.getPower``."""
    _, document = await system_of(session, system)
    return {"power": state_of(document).value}


async def set_power(session: Session, system: str, args: SetPower) -> dict[str, object]:
    """``power.setPower``: what holds already is done (W227)."""
    path, document = await system_of(session, system)
    if args.action is PowerAction.CYCLE and settled(document, PowerState.OFF):
        steps: tuple[str, ...] = way(PowerAction.ON, await allowed(session, document))
    else:
        steps = way(args.action, await allowed(session, document))
    target = resetting(document).target or joined(path, "Actions", "ComputerSystem.Reset")
    done: list[str] = []
    for step in steps:
        if step not in RESTARTS and step in GOALS and settled(document, GOALS[step]):
            continue
        done.append(step)
        document = await _step(session, path, target, step, document)
    said: dict[str, object] = {"power": state_of(document).value, "done": done}
    if done and steps != WAYS[args.action][0]:
        said["degraded"] = True
    return said


async def allowed(session: Session, document: Document) -> tuple[str, ...] | None:
    """:returns: reset types; None when the machine does not say."""
    found = resetting(document)
    types = found.allowed or session.profile.resets or None
    if types is None and found.info:
        types = allowed_by(await session.find(found.info))
    session.profile = evolve(session.profile, resets=types or (), reset_target=found.target)
    return types


async def _step(session: Session, path: str, target: str, step: str, before: Document) -> Document:
    """:returns: the machine as it is afterwards."""
    goal = GOALS.get(step)
    try:
        await patient(session, lambda: session.post(target, {"ResetType": step}))
    except Declined as e:
        now = await session.get(path)
        if e.code == "auth-failed" or step in RESTARTS or goal is None or not settled(now, goal):
            raise
        return now
    if goal is None or step in RESTARTS:
        return await session.get(path)
    return await _reached(session, path, goal, step)


async def _reached(session: Session, path: str, goal: PowerState, step: str) -> Document:
    blind = 0
    while True:
        document = await session.get(path)
        if settled(document, goal):
            return document
        state = state_of(document)
        blind = blind + 1 if state is PowerState.UNKNOWN else 0
        if blind == _BLIND and "PowerState" not in document:
            return document  # it never tells
        if session.left <= _LOOK + _SPARE or not await session.waited(_LOOK):
            raise BmcRefusal(
                "timeout", f"it took {step}, and its power is still {state.value}, not {goal.value}"
            )
