"""Workflows: how far each has come."""

from collections.abc import Mapping

from sqlalchemy import Connection

from ...contract.refusals import Rejected
from ...contract.structure import JSON
from ..records import Workflow, WorkflowState, WorkflowStep
from ..stores import commands, events, workflows
from ..stores.rows import MOST
from .call import Call, at, maybe_at
from .shapes.work import Step, Workflows, WorkflowStart
from .shapes.work import Workflow as Shown


def listed(connection: Connection, call: Call) -> Workflows:
    """Workflows, the newest first."""
    page = workflows.listing(
        connection,
        machine=call.filters.get("machine"),
        state=call.one_of("state", WorkflowState),
        after=call.after,
        limit=call.limit,
    )
    shown = tuple(_workflow(each, ()) for each in page.items)
    return Workflows(shown, events.newest(connection), at(call.now), page.next)


def start(connection: Connection, call: Call) -> Shown:
    """Start a workflow."""
    sent = call.sent(WorkflowStart)
    made = call.means.start(
        connection, sent.kind, sent.machine, sent.parameters, call.operator.name, call.now
    )
    call.changed(
        connection, "workflow.started", made.id, made.site, kind=made.kind, machine=made.machine
    )
    return _whole(connection, made)


def show(connection: Connection, call: Call) -> Shown:
    """One workflow, step by step."""
    return _whole(connection, workflows.get(connection, call.name))


def cancel(connection: Connection, call: Call) -> Shown:
    """End a workflow where it is."""
    reason = f"cancelled by {call.operator.name}"
    ended = call.means.cancel(connection, call.name, reason, call.now)
    row = workflows.get(connection, call.name)
    if not ended:
        raise Rejected("conflict", f"workflow {row.id} is {row.state.value}")
    call.changed(connection, "workflow.cancelled", row.id, row.site, machine=row.machine)
    return _whole(connection, row)


def _whole(connection: Connection, row: Workflow) -> Shown:
    sent = commands.listing(connection, workflow=row.id, limit=MOST).items
    progress = {each.id: each.progress for each in sent if each.progress is not None}
    steps = workflows.steps(connection, row.id)
    return _workflow(row, tuple(_step(each, progress) for each in steps))


def _workflow(row: Workflow, steps: tuple[Step, ...]) -> Shown:
    return Shown(
        row.id,
        row.kind,
        row.site,
        row.state,
        row.step,
        row.reason,
        row.operator,
        at(row.created_at),
        row.parameters,
        row.machine,
        maybe_at(row.finished_at),
        steps,
    )


def _step(row: WorkflowStep, progress: Mapping[str, JSON]) -> Step:
    return Step(
        row.number,
        row.name,
        row.state,
        row.reason,
        row.detail,
        row.command,
        maybe_at(row.started_at),
        maybe_at(row.finished_at),
        progress.get(row.command or ""),
    )
