"""Workflows: journalled steps, carried on by one process at a time."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, insert, select, update

from ...contract.refusals import Rejected
from ..records import Page, StepState, Workflow, WorkflowState, WorkflowStep
from .rows import LIMIT, added, bounded, columns, counted, every, named, newest, one, there
from .tables import machines, workflow_steps, workflows
from .telling import notify

#: Steps of one workflow; bytes of JSON: of its parameters, and of a step's detail.
MOST_STEPS, PARAMETERS, DETAIL = 64, 64 * 1024, 64 * 1024


def add(connection: Connection, workflow: Workflow, steps: Sequence[WorkflowStep]) -> None:
    """
    :param steps: in their order, numbered from 0.
    :raises Rejected: ``in-use`` while another workflow is about its machine; ``not-found`` for a
        machine that is none; ``conflict``, ``too-large``.
    """
    named("workflow", workflow.id)
    bounded("parameters", workflow.parameters, PARAMETERS)
    if len(steps) > MOST_STEPS:
        raise Rejected("too-large", f"more than {MOST_STEPS} steps")
    if workflow.machine is not None:
        locked = select(machines.c.name).where(machines.c.name == workflow.machine)
        name = connection.execute(locked.with_for_update()).scalar_one_or_none()
        there(name, "machine", workflow.machine)
        running = (workflows.c.machine == name) & workflows.c.finished_at.is_(None)
        if counted(connection, workflows, running):
            raise Rejected("in-use", f"another workflow is about machine {name}")
    added(connection, workflows, columns(workflow), f"workflow {workflow.id}")
    for each in steps:
        bounded("detail", each.detail, DETAIL)
        connection.execute(insert(workflow_steps).values(columns(each)))
    notify(connection, "workflows", workflow.id)


def get(connection: Connection, workflow: str) -> Workflow:
    """:raises Rejected: ``not-found``."""
    found = one(connection, Workflow, select(workflows).where(workflows.c.id == workflow))
    return there(found, "workflow", workflow)


def steps(connection: Connection, workflow: str) -> list[WorkflowStep]:
    """:returns: in their order."""
    statement = select(workflow_steps).where(workflow_steps.c.workflow == workflow)
    order = statement.order_by(workflow_steps.c.number).limit(MOST_STEPS)
    return every(connection, WorkflowStep, order)


def listing(
    connection: Connection,
    site: str | None = None,
    machine: str | None = None,
    state: WorkflowState | None = None,
    after: str = "",
    limit: int = LIMIT,
) -> Page[Workflow]:
    """:returns: the newest first."""
    statement = select(workflows)
    for column, value in (
        (workflows.c.site, site),
        (workflows.c.machine, machine),
        (workflows.c.state, None if state is None else state.value),
    ):
        if value is not None:
            statement = statement.where(column == value)
    at, key = workflows.c.created_at, workflows.c.id
    return newest(connection, Workflow, statement, at, key, after, limit)


def update_step(connection: Connection, process: str, step: WorkflowStep) -> bool:
    """
    Write ``step``, which is the one that is under way.

    :returns: whether ``process`` still carries the workflow on, at this step; else nothing changed.
    :raises Rejected: ``too-large``.
    """
    bounded("detail", step.detail, DETAIL)
    # The comparison is an update, so that it holds until this transaction ends.
    if not _moved(connection, step.workflow, process, step.number, {"step": step.number}):
        return False
    here = (workflow_steps.c.workflow == step.workflow) & (workflow_steps.c.number == step.number)
    connection.execute(update(workflow_steps).where(here).values(columns(step)))
    return True


def revise_step(connection: Connection, process: str, step: WorkflowStep) -> bool:
    """
    Write ``step``, which is under way or was done before.

    :returns: whether ``process`` still carries the workflow on; else nothing changed.
    """
    bounded("detail", step.detail, DETAIL)
    mine = (workflows.c.id == step.workflow) & (workflows.c.process == process)
    begun = mine & (workflows.c.step >= step.number)
    if not _changed(connection, begun, {"process": process}):
        return False
    here = (workflow_steps.c.workflow == step.workflow) & (workflow_steps.c.number == step.number)
    connection.execute(update(workflow_steps).where(here).values(columns(step)))
    notify(connection, "workflows", step.workflow)
    return True


def advance(connection: Connection, workflow: str, process: str, step: int) -> bool:
    """:param step: that is done. :returns: whether the next one is under way now, by this."""
    return _moved(connection, workflow, process, step, {"step": step + 1})


def finish(
    connection: Connection,
    workflow: str,
    process: str,
    step: int,
    state: WorkflowState,
    reason: str,
    now: int,
) -> bool:
    """:param step: that is under way. :returns: whether the workflow ended by this."""
    values = {"state": state.value, "reason": reason, "finished_at": now}
    return _moved(connection, workflow, process, step, values)


def cancel(connection: Connection, workflow: str, reason: str, now: int) -> bool:
    """
    End it, whoever carries it on: that process sees it with its next step.

    :returns: whether it ended by this. :raises Rejected: ``not-found``.
    """
    get(connection, workflow)
    values = {"state": WorkflowState.CANCELLED.value, "reason": reason, "finished_at": now}
    ended = _changed(connection, workflows.c.id == workflow, values)
    if ended:
        running = workflow_steps.c.state.in_([StepState.WAITING.value, StepState.RUNNING.value])
        mine = (workflow_steps.c.workflow == workflow) & running
        skipped = {"state": StepState.SKIPPED.value, "finished_at": now}
        connection.execute(update(workflow_steps).where(mine).values(skipped))
        notify(connection, "workflows", workflow)
    return ended


def claim(
    connection: Connection, process: str, alive: Collection[str] | None, limit: int = LIMIT
) -> list[Workflow]:
    """
    Take over what nobody carries on.

    :param alive: processes whose workflows stay theirs; None: whoever has one keeps it.
    :returns: what is ``process``'s from now on.
    """
    orphaned: ColumnElement[bool] = workflows.c.process.is_(None)
    if alive is not None:
        orphaned |= workflows.c.process.not_in(sorted(alive))
    running = workflows.c.finished_at.is_(None)
    statement = select(workflows).where(running & orphaned).order_by(workflows.c.created_at)
    claimed = []
    for each in every(connection, Workflow, statement.limit(limit)):
        same = (workflows.c.id == each.id) & workflows.c.process.is_not_distinct_from(each.process)
        if each.process != process and _changed(connection, same, {"process": process}):
            claimed.append(get(connection, each.id))
            notify(connection, "workflows", each.id)
    return claimed


def carried(connection: Connection, process: str) -> list[str]:
    """:returns: ids of what ``process`` carries on, the oldest first."""
    mine = (workflows.c.process == process) & workflows.c.finished_at.is_(None)
    order = select(workflows.c.id).where(mine).order_by(workflows.c.created_at, workflows.c.id)
    return list(connection.execute(order).scalars())


def _moved(
    connection: Connection, workflow: str, process: str, step: int, values: Mapping[str, object]
) -> bool:
    mine = (
        (workflows.c.id == workflow) & (workflows.c.process == process) & (workflows.c.step == step)
    )
    moved = _changed(connection, mine, values)
    if moved:
        notify(connection, "workflows", workflow)
    return moved


def _changed(
    connection: Connection, where: ColumnElement[bool], values: Mapping[str, object]
) -> bool:
    running = workflows.c.finished_at.is_(None)
    statement = update(workflows).where(where & running).values(values)
    return connection.execute(statement).rowcount == 1
