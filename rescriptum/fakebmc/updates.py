"""Firmware updates and their tasks."""

from attrs import evolve

from .asking import Answer, Ask, refusal
from .places import ROOT, Places
from .state import KEPT, State, Task
from .switches import Switch


def update(state: State, ask: Ask) -> tuple[State, Answer]:
    """A POST to ``SimpleUpdate``."""
    switches, told = state.switches, ask.document or {}
    image = told.get("ImageURI")
    if not isinstance(image, str) or not image:
        return state, refusal(switches, 400, "ActionParameterMissing", "ImageURI is missing.")
    state = state.logged(f"Update from {image}")
    if Switch.TASK_NONE in switches:
        return evolve(state, firmware=state.firmware + 1), Answer(200)
    state, task = begun(state, ask.now)
    places = Places.of(switches)
    where = places.task(task.id)
    if Switch.TASK_BODY in switches:
        return state, Answer(202, {"@odata.id": where, "Id": task.id, "TaskState": "New"})
    location = places.monitor(task.id, switches)
    if Switch.TASK_FOREIGN in switches:
        location = f"{state.elsewhere}{location}"
    document = {"@odata.id": where, "Id": task.id, "TaskState": "New"}
    return state, Answer(202, document, (("Location", location),))


def begun(state: State, now: float, applied: bool = False) -> tuple[State, Task]:
    """One more task. :param applied: whether it is of something that is done already."""
    task = Task(str(state.serial + 1), now, applied)
    return evolve(state, serial=state.serial + 1, tasks=(*state.tasks, task)[-KEPT:]), task


def progressed(state: State, now: float) -> State:
    """The firmware of an update that has come to its end meanwhile."""
    if Switch.TASK_STUCK in state.switches or Switch.TASK_CRITICAL in state.switches:
        return state
    ended = [each for each in state.tasks if state.task_over(each, now) and not each.applied]
    if not ended:
        return state
    tasks = tuple(evolve(each, applied=each.applied or each in ended) for each in state.tasks)
    return evolve(state, tasks=tasks, firmware=state.firmware + len(ended))


def monitor_read(state: State, place: str, now: float) -> State:
    """A GET of a monitor, on a BMC where that makes it forget a finished task."""
    if Switch.MONITOR_ONCE not in state.switches or not place.startswith(f"{ROOT}/TaskService/"):
        return state
    places = Places.of(state.switches)
    kept = tuple(
        each
        for each in state.tasks
        if not state.task_over(each, now) or places.monitor(each.id, state.switches) != place
    )
    return evolve(state, tasks=kept) if len(kept) != len(state.tasks) else state
