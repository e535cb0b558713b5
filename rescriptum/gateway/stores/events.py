"""What happened, in one order for everybody who follows."""

from typing import Final

from sqlalchemy import Connection, delete, func, insert, select

from ...contract.refusals import Rejected
from ...contract.structure import JSON
from ..records import Event
from .rows import LIMIT, MOST, bounded, every, named
from .tables import events
from .telling import notify

#: Seconds for which an event is remembered, how many of them at the most; bytes of its data.
KEPT, MOST_KEPT, DATA = 7 * 86_400, 200_000, 16 * 1024
#: Of the advisory lock that puts events into their order: ``resd``.
_LOCK: Final = 0x72657364
# Put together once: that takes longer than to execute it.
_ORDERED: Final = select(func.pg_advisory_xact_lock(_LOCK))
_APPEND: Final = insert(events).returning(events.c.seq)


def append(
    connection: Connection, kind: str, site: str | None, subject: str, data: JSON, now: int
) -> int:
    """
    To be called last in a transaction: until it ends, no other appends.

    :param kind: hyphenated, by what happened; ``subject``: whom it happened to.
    :returns: its number. Whoever has seen this one has seen all with lower numbers.
    :raises Rejected: ``too-large``, ``invalid-message``.
    """
    bounded("data", data, DATA)
    if connection.dialect.name == "postgresql":
        # Numbers are given when a row is written, and seen when it is committed: without this a
        # reader could pass over a number that is seen later.
        connection.execute(_ORDERED)
    row = {"at": now, "kind": named("kind", kind), "site": site, "data": data}
    seq = connection.execute(_APPEND, {**row, "subject": named("subject", subject)}).scalar_one()
    notify(connection, "events")
    return int(seq)


def after(
    connection: Connection,
    seq: int,
    site: str | None = None,
    subject: str | None = None,
    kind: str | None = None,
    limit: int = LIMIT,
) -> list[Event]:
    """:returns: with numbers above ``seq``, in their order, of that site, subject and kind."""
    if not 0 < limit <= MOST:
        raise Rejected("invalid-message", f"limit: not between 1 and {MOST}")
    statement = select(events).where(events.c.seq > seq)
    for column, value in (
        (events.c.site, site),
        (events.c.subject, subject),
        (events.c.kind, kind),
    ):
        if value is not None:
            statement = statement.where(column == value)
    return every(connection, Event, statement.order_by(events.c.seq).limit(limit))


def newest(connection: Connection) -> int:
    """:returns: the number of the last event; 0: none yet."""
    return int(connection.execute(select(func.coalesce(func.max(events.c.seq), 0))).scalar_one())


def oldest(connection: Connection) -> int:
    """:returns: the number of the first event that is remembered; 0: none is."""
    return int(connection.execute(select(func.coalesce(func.min(events.c.seq), 0))).scalar_one())


def prune(connection: Connection, now: int, kept: int = KEPT) -> int:
    """
    :param kept: seconds for which an event is remembered.
    :returns: how many were forgotten: the old ones, and those that are too many.
    """
    # The newest stays, so that numbers go on where they were.
    last = newest(connection)
    old = (events.c.at < now - kept) | (events.c.seq <= last - MOST_KEPT)
    return connection.execute(delete(events).where(old & (events.c.seq < last))).rowcount
