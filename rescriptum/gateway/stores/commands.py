"""Commands: what was sent to whom, how far it has come, and its one result."""

from collections.abc import Collection, Mapping
from typing import Final

from sqlalchemy import ColumnElement, Connection, Update, bindparam, null, select, update

from ...contract.commands import LONGEST_RESULT, Envelope, Result
from ...contract.refusals import Rejected
from ...contract.structure import JSON, plain
from ..records import UNFINISHED, CommandRow, CommandState, Page
from .rows import LIMIT, added, bounded, columns, counted, every, named, newest, one, there
from .tables import commands, nodes
from .telling import notify

#: Commands of one node that are not finished; bytes of JSON that progress may have.
MOST, PROGRESS = 1000, 16 * 1024
_OPEN: Final = sorted(each.value for each in UNFINISHED)
_ON_ITS_WAY: Final = (CommandState.QUEUED.value, CommandState.DELIVERED.value)
_EXPIRING: Final = (CommandState.WAITING.value, *_ON_ITS_WAY)
#: With these an agent says that it never ran a command, and why.
_NOT_RUN: Final = {"revoked": CommandState.REVOKED, "expired": CommandState.EXPIRED}
# Of every command: to put a statement together takes longer than to execute it.
_GET: Final = select(commands).where(commands.c.id == bindparam("name"))
_PENDING: Final = (
    select(commands)
    .where(
        (commands.c.node == bindparam("of"))
        & commands.c.state.in_(_ON_ITS_WAY)
        & (commands.c.not_after > bindparam("now"))
    )
    .order_by(commands.c.issued_at, commands.c.id)
    .limit(bindparam("most"))
)
_REVOKED: Final = (
    select(commands.c.id)
    .where(
        (commands.c.node == bindparam("of"))
        & (commands.c.state == CommandState.REVOKED.value)
        & commands.c.finished_at.is_(None)
    )
    .order_by(commands.c.issued_at, commands.c.id)
    .limit(bindparam("most"))
)


def _if(where: ColumnElement[bool]) -> Update:
    """:returns: what changes one command, by its columns, if ``where`` holds of it."""
    changing = update(commands).where((commands.c.id == bindparam("name")) & where)
    return changing.returning(commands.c.node, commands.c.workflow)


_UNFINISHED: Final = commands.c.state.in_(_OPEN)
_UNSENT: Final = commands.c.delivered_at.is_(None) & commands.c.journalled_at.is_(None)
# A command that the gateway ended by itself has no result yet.
_OWN: Final = commands.c.state.in_([each.value for each in _NOT_RUN.values()])
_IF_WAITING: Final = _if(commands.c.state == CommandState.WAITING.value)
_IF_ON_ITS_WAY: Final = _if(commands.c.state.in_(_ON_ITS_WAY))
_IF_UNFINISHED: Final = _if(_UNFINISHED)
_IF_UNSENT: Final = _if(_UNFINISHED & _UNSENT)
_IF_UNANSWERED: Final = _if((_UNFINISHED | _OWN) & commands.c.result.is_(null()))
_IF_LATE: Final = _if(commands.c.state.in_(_EXPIRING) & (commands.c.not_after <= bindparam("by")))
_IF_OF_NODE: Final = _if(_UNFINISHED & (commands.c.node == bindparam("of")))


def add(connection: Connection, command: CommandRow) -> None:
    """:raises Rejected: ``unknown-node``; ``busy``; ``conflict``, where its id is there already."""
    for what, value in (
        ("command", command.id),
        ("kind", command.kind),
        ("workflow", command.workflow),
        ("step", command.step),
    ):
        named(what, value)
    alive = (nodes.c.id == command.node) & nodes.c.removed_at.is_(None)
    locked = select(nodes.c.id).where(alive).with_for_update()
    if connection.execute(locked).scalar_one_or_none() is None:
        raise Rejected("unknown-node")
    if counted(connection, commands, commands.c.node == command.node, _UNFINISHED) >= MOST:
        raise Rejected("busy", f"{MOST} commands of this node are not finished")
    added(connection, commands, columns(command), f"command {command.id}")
    notify(connection, "workflows", command.workflow)
    notify(connection, "commands", command.node)


def get(connection: Connection, command: str) -> CommandRow:
    """:raises Rejected: ``not-found``."""
    found = one(connection, CommandRow, _GET, {"name": command})
    return there(found, "command", command)


def listing(
    connection: Connection,
    node: str | None = None,
    workflow: str | None = None,
    batch: str | None = None,
    state: CommandState | None = None,
    after: str = "",
    limit: int = LIMIT,
) -> Page[CommandRow]:
    """:returns: the newest first."""
    statement = select(commands)
    for column, value in (
        (commands.c.node, node),
        (commands.c.workflow, workflow),
        (commands.c.batch, batch),
        (commands.c.state, None if state is None else state.value),
    ):
        if value is not None:
            statement = statement.where(column == value)
    at, key = commands.c.issued_at, commands.c.id
    return newest(connection, CommandRow, statement, at, key, after, limit)


def pending_for(
    connection: Connection, node: str, now: int, limit: int = LIMIT
) -> list[CommandRow]:
    """
    :returns: what is not known to be in the agent's journal: delivered or not, it is to be
        delivered to a session that begins. The oldest first.
    """
    return every(connection, CommandRow, _PENDING, {"of": node, "now": now, "most": limit})


def revocations_for(connection: Connection, node: str, limit: int = LIMIT) -> list[str]:
    """:returns: ids of what was taken back, and the agent may have and has not answered for."""
    return list(connection.execute(_REVOKED, {"of": node, "most": limit}).scalars())


def approved(connection: Connection, command: str, envelope: Envelope) -> bool:
    """
    :param envelope: with its approvals.
    :returns: whether it is on its way now; False: it was not waiting.
    """
    values = {"state": CommandState.QUEUED.value, "envelope": plain(envelope)}
    return _moved(connection, command, _IF_WAITING, values, agent=True)


def delivered(connection: Connection, ids: Collection[str], now: int) -> None:
    """They are about to be written to the agent's stream, or were."""
    mine = commands.c.id.in_(sorted(ids)) & (commands.c.state == CommandState.QUEUED.value)
    values = {"state": CommandState.DELIVERED.value, "delivered_at": now}
    told = update(commands).where(mine).values(values)
    rows = connection.execute(told.returning(commands.c.node, commands.c.workflow)).all()
    for workflow in sorted({workflow for _, workflow in rows}):
        notify(connection, "workflows", workflow)


def journalled(connection: Connection, command: str, node: str, now: int) -> None:
    """
    It is in its agent's journal; said twice, it changes nothing.

    :raises Rejected: ``wrong-node``, ``not-found``.
    """
    _of(connection, command, node)
    values = {"state": CommandState.JOURNALLED.value, "journalled_at": now}
    _moved(connection, command, _IF_ON_ITS_WAY, values)


def finished(
    connection: Connection,
    command: str,
    node: str,
    result: Result,
    now: int,
    attestation: str | None = None,
) -> bool:
    """
    The first result counts, also of a command that was revoked or has expired meanwhile.

    :returns: whether this is the first; False: an equal one is recorded already.
    :raises Rejected: ``conflicting-result``, ``wrong-node``, ``not-found``, ``too-large``.
    """
    state = CommandState.DONE if result.ok else CommandState.FAILED
    return _ended(connection, command, node, result, state, now, attestation)


def refused(
    connection: Connection, command: str, node: str, code: str, detail: str, now: int
) -> bool:
    """
    Its agent did not take it: it never was in the journal.

    :returns: and raises: as :func:`finished`.
    """
    result = Result(False, code, detail)
    return _ended(connection, command, node, result, CommandState.REFUSED, now, None)


def revoke(connection: Connection, command: str, now: int) -> bool:
    """
    :returns: whether its agent may have it, and is to be told.
    :raises Rejected: ``conflict`` for one that is finished, ``not-found``.
    """
    values = {"state": CommandState.REVOKED.value}
    if _moved(connection, command, _IF_UNSENT, {**values, "finished_at": now}):
        return False
    if _moved(connection, command, _IF_UNFINISHED, values, agent=True):
        return True
    row = get(connection, command)
    if row.state is CommandState.REVOKED:
        return row.finished_at is None
    raise Rejected("conflict", f"command {command} is {row.state.value}")


def expire(connection: Connection, now: int, limit: int = LIMIT) -> list[str]:
    """
    End what no agent has taken in its time.

    :returns: ids; ask again where they are as many as ``limit``.
    """
    late = commands.c.state.in_(_EXPIRING) & (commands.c.not_after <= now)
    order = select(commands.c.id).where(late).order_by(commands.c.not_after).limit(limit)
    values = {"state": CommandState.EXPIRED.value, "finished_at": now, "by": now}
    ids = connection.execute(order).scalars().all()
    return [each for each in ids if _moved(connection, each, _IF_LATE, values)]


def progress(connection: Connection, command: str, node: str, data: JSON) -> None:
    """Keep how far it has come, while it is not finished. :raises Rejected: ``too-large``."""
    bounded("progress", data, PROGRESS)
    _moved(connection, command, _IF_OF_NODE, {"progress": data, "of": node})


def _of(connection: Connection, command: str, node: str) -> CommandRow:
    row = get(connection, command)
    if row.node != node:
        raise Rejected("wrong-node", f"command {command} is another node's")
    return row


def _ended(
    connection: Connection,
    command: str,
    node: str,
    result: Result,
    state: CommandState,
    now: int,
    attestation: str | None,
) -> bool:
    bounded("result", result, LONGEST_RESULT)
    _of(connection, command, node)
    values = {
        "state": _NOT_RUN.get(result.code, state).value,
        "result": plain(result),
        "attestation": attestation,
        "finished_at": now,
    }
    if _moved(connection, command, _IF_UNANSWERED, values):
        return True
    if _of(connection, command, node).result == result:
        return False
    raise Rejected("conflicting-result", f"command {command} has another result")


def _moved(
    connection: Connection,
    command: str,
    moving: Update,
    values: Mapping[str, object],
    agent: bool = False,
) -> bool:
    """
    :param values: of columns, and of what ``moving`` leaves open.
    :param agent: whether there is something to tell its agent then.
    """
    row = connection.execute(moving, {"name": command, **values}).one_or_none()
    if row is None:
        return False
    node, workflow = row
    notify(connection, "workflows", workflow)
    if agent:
        notify(connection, "commands", node)
    return True
