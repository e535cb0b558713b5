"""How a workflow stands, read from what is recorded of it: what decisions are made of."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, select

from ..contract.joining import Role
from .records import CommandRow, CommandState, Workflow, WorkflowStep
from .signing import Draft
from .stores import commands, leases, machines, tables
from .workflows import Facts, Order, SiteAgent, Standing

#: Seconds: an agent that was silent for longer is not asked to do anything. Its session goes on
#: until it says Hello again, which it may never do.
_HEARD: Final = 60
#: What an agent says of a command that was cut off: nobody knows how far it came.
_UNKNOWN: Final = frozenset(("timeout", "interrupted"))


def standings(connection: Connection, steps: list[WorkflowStep]) -> list[Standing]:
    """:returns: of each step, with what became of its command."""
    sent = {each.command for each in steps if each.command is not None}
    rows = {name: commands.get(connection, name) for name in sorted(sent)}
    return [_standing(each, rows) for each in steps]


def _standing(step: WorkflowStep, rows: Mapping[str, CommandRow]) -> Standing:
    epoch = step.detail.get("epoch", 0)
    made = Standing(
        step.state,
        step.reason,
        step.started_at,
        epoch=epoch if isinstance(epoch, int) else 0,
    )
    if step.command is None:
        return made
    row = rows[step.command]
    ok, code, detail = _outcome(row)
    return Standing(
        step.state,
        step.reason,
        step.started_at,
        True,
        made.epoch,
        ok,
        code,
        detail,
        row.state is CommandState.WAITING,
    )


def _outcome(row: CommandRow) -> tuple[bool | None, str, str]:
    """:returns: whether it ended well, None while it has not ended; a code, and why."""
    if not row.state.finished:
        return None, "", ""
    if row.result is None:
        return False, row.state.value, ""
    result = row.result
    if result.ok and result.data.get("ok") is False:
        # A BMC that says no does not fail the command: it is what the command was to find out.
        code, detail = (str(result.data.get(name, "")) for name in ("code", "detail"))
        return False, code or "failed", detail
    return result.ok, result.code, result.detail


def left(connection: Connection, steps: list[WorkflowStep]) -> list[Order | None]:
    """
    :returns: of each step the command that did it, or may have; None: there is none, or it is
        known to have done nothing.
    """
    return [_left(connection, each) for each in steps]


def _left(connection: Connection, step: WorkflowStep) -> Order | None:
    if step.command is None:
        return None
    row = commands.get(connection, step.command)
    if _did_nothing(row):
        return None
    epoch = step.detail.get("epoch", 0)
    payload = Draft.stored(row.claims).command.payload
    return Order(row.node, row.kind, payload, epoch=epoch if isinstance(epoch, int) else 0)


def _did_nothing(row: CommandRow) -> bool:
    if row.finished_at is None:
        return False
    if row.result is None:  # taken back, or late: whoever had it may have run it
        return row.delivered_at is None and row.journalled_at is None
    return not row.result.ok and row.result.code not in _UNKNOWN


def facts(connection: Connection, workflow: Workflow, now: int) -> Facts:
    """
    :returns: what is known of its machine, of who boots it, and of its ramdisk.
    :raises Rejected: ``not-found`` when the machine is none any more.
    """
    assert workflow.machine is not None
    machine = machines.get(connection, workflow.machine)
    row = leases.read(connection, workflow.site)
    holder = row.holder_node or ""
    return Facts(
        workflow.id,
        machine,
        workflow.parameters,
        now,
        row.epoch if holder else 0,
        holder,
        _agents(connection, workflow.site, holder, now),
        _ramdisk(connection, workflow.id),
        _installed(connection, workflow),
    )


def _agents(connection: Connection, site: str, holder: str, now: int) -> tuple[SiteAgent, ...]:
    """
    :returns: first the one that holds the boot lease, then those that have a session and were
        heard of late, the one of the oldest session first; then those that are not there.
    """
    sessions, nodes = tables.sessions, tables.nodes
    live = (
        (sessions.c.node == nodes.c.id)
        & sessions.c.ended_at.is_(None)
        & (sessions.c.heard_at >= now - _HEARD)
    )
    statement = (
        select(nodes.c.id, nodes.c.drivers, sessions.c.id.is_not(None))
        .select_from(nodes.outerjoin(sessions, live))
        .where(
            (nodes.c.site == site)
            & (nodes.c.role == Role.SITE.value)
            & nodes.c.removed_at.is_(None)
        )
        .order_by(sessions.c.opened_at, nodes.c.id)
    )
    found = [
        SiteAgent(node, bool(there) or node == holder, tuple(drivers))
        for node, drivers, there in connection.execute(statement)
    ]
    return tuple(sorted(found, key=lambda each: (each.node != holder, not each.there)))


def _ramdisk(connection: Connection, workflow: str) -> str:
    """:returns: whom the workflow's join token has made."""
    tokens = tables.join_tokens
    made = (tokens.c.workflow == workflow) & tokens.c.node.is_not(None)
    statement = select(tokens.c.node).where(made).order_by(tokens.c.used_at.desc()).limit(1)
    return connection.execute(statement).scalar_one_or_none() or ""


def _installed(connection: Connection, workflow: Workflow) -> bool:
    nodes = tables.nodes
    there = (
        (nodes.c.machine == workflow.machine)
        & (nodes.c.role == Role.NODE.value)
        & (nodes.c.joined_at >= workflow.created_at)
    )
    return connection.execute(select(nodes.c.id).where(there).limit(1)).first() is not None
