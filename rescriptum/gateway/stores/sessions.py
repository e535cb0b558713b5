"""Sessions: at most one of a node goes on; it alone can hold a boot lease."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ...contract.refusals import Rejected
from ...contract.sessions import NONCES_KEPT, Hello
from ..records import SessionRow
from .rows import columns, named, one
from .tables import nodes, nonces, sessions
from .telling import notify

#: Seconds for which a session is remembered that is over, and how many of one node at the most.
KEPT, KEPT_OF_NODE = 86_400, 50

# Put together once: that takes longer than to execute them, and all agents may come at once.
_GOES_ON: Final = sessions.c.ended_at.is_(None)
_BY_TOKEN: Final = select(sessions).where(
    (sessions.c.id == bindparam("name")) & (sessions.c.token_digest == bindparam("token"))
)
_HEARD: Final = (
    update(sessions)
    .where(sessions.c.id.in_(bindparam("names", expanding=True)) & _GOES_ON)
    .values(heard_at=bindparam("now"))
)
_ATTACH: Final = update(sessions).where((sessions.c.id == bindparam("name")) & _GOES_ON)
_ALIVE: Final = (
    select(nodes.c.id)
    .where((nodes.c.id == bindparam("of")) & nodes.c.removed_at.is_(None))
    .with_for_update()
)
_OLD_NONCES: Final = delete(nonces).where(nonces.c.expires_at < bindparam("now"))
_SUPERSEDE: Final = (
    update(sessions)
    .where((sessions.c.node == bindparam("of")) & _GOES_ON)
    .values(ended_at=bindparam("now"), reason="superseded")
    .returning(sessions.c.id)
)
_SAYS: Final = update(nodes).where(nodes.c.id == bindparam("of"))
_OVER: Final = (sessions.c.node == bindparam("of")) & sessions.c.ended_at.is_not(None)
_FORGET: Final = delete(sessions).where(
    _OVER
    & sessions.c.id.not_in(
        select(sessions.c.id)
        .where(_OVER)
        .order_by(sessions.c.opened_at.desc(), sessions.c.id)
        .limit(KEPT_OF_NODE)
    )
)
_NONCE, _SESSION = insert(nonces), insert(sessions)


def open_session(
    connection: Connection, session: SessionRow, hello: Hello, now: int
) -> tuple[str, ...]:
    """
    Begin ``session``, in place of those that its node has.

    :param hello: is used up; what it says of the agent is kept.
    :returns: ids of the sessions that are over now: superseded.
    :raises Rejected: ``unknown-node`` for one that was removed; ``replayed``.
    """
    # Who says Hello twice at a time waits here: one of the two is superseded.
    mine = {"of": session.node}
    if connection.execute(_ALIVE, mine).scalar_one_or_none() is None:
        raise Rejected("unknown-node")
    connection.execute(_OLD_NONCES, {"now": now})
    _use(connection, session.node, hello.nonce, now)
    ended = connection.execute(_SUPERSEDE, {**mine, "now": now}).scalars().all()
    says = {
        "version": hello.version,
        "boot_id": hello.boot_id,
        "kinds": list(hello.kinds),
        "drivers": list(hello.drivers),
        "labels": hello.labels,
    }
    connection.execute(_SAYS, {**mine, **says})
    # Who says Hello all the time leaves no more behind than who says it now and then.
    connection.execute(_FORGET, mine)
    named("session", session.id)
    connection.execute(_SESSION, columns(session))
    notify(connection, "sessions", session.site)
    return tuple(ended)


def _use(connection: Connection, node: str, nonce: str, now: int) -> None:
    row = {"node": node, "nonce": nonce, "expires_at": now + NONCES_KEPT}
    try:
        connection.execute(_NONCE, row)
    except IntegrityError:
        raise Rejected("replayed", "this Hello has opened a session already") from None


def get(connection: Connection, session: str) -> SessionRow | None:
    """:returns: also one that is over."""
    return one(connection, SessionRow, select(sessions).where(sessions.c.id == session))


def by_token(connection: Connection, session: str, token_digest: str) -> SessionRow:
    """
    :returns: the session, which goes on, of whoever presents this token.
    :raises Rejected: ``unknown-session``; ``superseded``, ``unknown-node``: why it is over.
    """
    row = one(connection, SessionRow, _BY_TOKEN, {"name": session, "token": token_digest})
    if row is None:
        raise Rejected("unknown-session")
    if row.ended_at is not None:
        told = row.reason in ("superseded", "unknown-node")
        raise Rejected(row.reason if told and row.reason else "unknown-session")
    return row


def attach(connection: Connection, session: str, process: str, now: int) -> bool:
    """:param process: which has its stream from now on. :returns: whether the session goes on."""
    here = {"name": session, "process": process, "heard_at": now}
    return connection.execute(_ATTACH, here).rowcount == 1


def heard(connection: Connection, ids: Collection[str], now: int) -> None:
    """Of all of them in one statement: something came from these sessions."""
    connection.execute(_HEARD, {"names": sorted(ids), "now": now})


def last_heard(connection: Connection) -> dict[str, int]:
    """:returns: of every session that goes on, of which a node has one at most: when it was."""
    going_on = select(sessions.c.id, sessions.c.heard_at).where(sessions.c.ended_at.is_(None))
    return {str(session): int(at) for session, at in connection.execute(going_on)}


def end(
    connection: Connection, session: str, reason: str, now: int, heard_at: int | None = None
) -> bool:
    """
    :param heard_at: only if it has not been heard since; None: in any case.
    :returns: whether it went on until now.
    """
    live = (sessions.c.id == session) & sessions.c.ended_at.is_(None)
    if heard_at is not None:
        live &= sessions.c.heard_at == heard_at
    over = (
        update(sessions)
        .where(live)
        .values(ended_at=now, reason=named("reason", reason))
        .returning(sessions.c.site)
    )
    site = connection.execute(over).scalar_one_or_none()
    if site is None:
        return False
    notify(connection, "sessions", site)
    return True


def of_process(connection: Connection, process: str, ids: Collection[str]) -> set[str]:
    """:returns: which of ``ids`` go on and have their stream at this process."""
    mine = sessions.c.id.in_(sorted(ids)) & sessions.c.ended_at.is_(None)
    statement = select(sessions.c.id).where(mine & (sessions.c.process == process))
    return set(connection.execute(statement).scalars())


def prune(connection: Connection, now: int) -> int:
    """:returns: how many sessions that are over were forgotten."""
    connection.execute(delete(nonces).where(nonces.c.expires_at < now))
    over = sessions.c.ended_at < now - KEPT
    return connection.execute(delete(sessions).where(over)).rowcount
