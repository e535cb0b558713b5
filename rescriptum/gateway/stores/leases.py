"""
The boot lease: four statements, each a comparison and a change in one.

They are what :mod:`rescriptum.gateway.lease` says that they mean, and all that ever changes a
row. Safety needs nothing else: neither who calls them, nor when, nor what they remember.
"""

from collections.abc import Collection
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Update,
    bindparam,
    func,
    insert,
    null,
    select,
    update,
)

from ..lease import LEAP, QUARANTINE, LeaseRow
from .rows import LIMIT, MOST, made, there
from .tables import lease, lease_history, sites
from .telling import notify

_ROW = (lease.c.epoch, lease.c.holder, lease.c.holder_node, lease.c.beat, lease.c.ttl_ms)

# Of every heartbeat: to put a statement together takes longer than to execute it.
_RECORD: Final = (
    update(lease)
    .where(
        (lease.c.site == bindparam("at"))
        & (lease.c.epoch == bindparam("under"))
        & (lease.c.holder == bindparam("by"))
    )
    .values(beat=lease.c.beat + 1)
)


def record(connection: Connection, site: str, epoch: int, session: str) -> bool:
    """
    A heartbeat of ``session`` under ``epoch``.

    :returns: whether it may be acknowledged, once this transaction is committed. Nothing else
        may be, and nobody is told: the others see it when they look.
    """
    mine = {"at": site, "under": epoch, "by": session}
    return connection.execute(_RECORD, mine).rowcount == 1


def release(connection: Connection, site: str, epoch: int, node: str) -> bool:
    """``node`` never serves ``epoch`` again. :returns: whether the lease became free by this."""
    mine = (lease.c.epoch == epoch) & (lease.c.holder_node == node)
    freed = _swapped(connection, site, mine, _changing(holder=null(), holder_node=null()))
    if freed:
        notify(connection, "lease", site)
    return freed


def grant(
    connection: Connection, site: str, epoch: int, session: str, node: str, ttl_ms: int, now: int
) -> bool:
    """:param epoch: as it was read: of the free lease. :returns: whether ``session`` has it."""
    free = (lease.c.epoch == epoch) & lease.c.holder.is_(None)
    return _given(connection, site, free, epoch, session, node, ttl_ms, now)


def take(
    connection: Connection,
    site: str,
    epoch: int,
    beat: int,
    session: str,
    node: str,
    ttl_ms: int,
    now: int,
) -> bool:
    """
    :param epoch: and ``beat``: as they were read, for patience, without a change.
    :returns: whether ``session`` has the lease in its holder's place.
    """
    unchanged = (lease.c.epoch == epoch) & lease.c.holder.is_not(None) & (lease.c.beat == beat)
    return _given(connection, site, unchanged, epoch, session, node, ttl_ms, now)


def quarantine(connection: Connection, site: str | None = None) -> list[str]:
    """
    After a restore, or a fail-over that lost commits: no proof of before counts, and the ordinary
    take-over follows after patience, of the longest ttl in use.

    :param site: None: every one.
    :returns: the sites.
    :raises Rejected: ``not-found``.
    """
    longest = select(func.max(lease.c.ttl_ms)).scalar_subquery()
    next_longest = select(func.max(sites.c.ttl_ms)).scalar_subquery()
    [[one, other]] = connection.execute(select(longest, next_longest)).all()
    statement = (
        update(lease)
        .values(
            epoch=lease.c.epoch + LEAP,
            beat=lease.c.beat + 1,
            holder=QUARANTINE,
            holder_node=null(),  # nobody can release what nobody was given
            ttl_ms=max(one or 0, other or 0),
        )
        .returning(lease.c.site)
    )
    if site is not None:
        statement = statement.where(lease.c.site == site)
    changed = sorted(connection.execute(statement).scalars())
    if site is not None:
        there(changed or None, "site", site)
    for each in changed:
        notify(connection, "lease", each)
    return changed


def read(connection: Connection, site: str) -> LeaseRow:
    """:raises Rejected: ``not-found``."""
    return there(rows(connection, [site]).get(site), "site", site)


def rows(connection: Connection, names: Collection[str] | None = None) -> dict[str, LeaseRow]:
    """
    :param names: of sites; None: every one.
    :returns: by site, in one query.
    """
    statement = select(lease.c.site, *_ROW)
    if names is not None:
        statement = statement.where(lease.c.site.in_(sorted(names)))
    found = {}
    for row in connection.execute(statement).mappings():
        columns = dict(row)
        site = columns.pop("site")
        found[str(site)] = made(LeaseRow, columns)
    return found


def holds(connection: Connection, site: str, epoch: int, session: str) -> bool:
    """
    :returns: whether ``session`` has ``epoch``; that stays so until this transaction ends.
    """
    mine = (lease.c.site == site) & (lease.c.epoch == epoch) & (lease.c.holder == session)
    locked = select(lease.c.site).where(mine).with_for_update(read=True)
    return connection.execute(locked).scalar_one_or_none() is not None


def holder_of(connection: Connection, site: str, epoch: int) -> str | None:
    """:returns: the node that ``epoch`` was given to, whoever has the lease now."""
    mine = (lease_history.c.site == site) & (lease_history.c.epoch == epoch)
    return connection.execute(select(lease_history.c.node).where(mine)).scalar_one_or_none()


def history(
    connection: Connection, site: str, before: int | None = None, limit: int = LIMIT
) -> list[tuple[int, str, int]]:
    """:returns: epoch, node, and when: the newest first, those below epoch ``before``."""
    statement = select(lease_history.c.epoch, lease_history.c.node, lease_history.c.granted_at)
    statement = statement.where(lease_history.c.site == site)
    if before is not None:
        statement = statement.where(lease_history.c.epoch < before)
    statement = statement.order_by(lease_history.c.epoch.desc()).limit(min(limit, MOST))
    return [(epoch, node, at) for epoch, node, at in connection.execute(statement)]


def _given(
    connection: Connection,
    site: str,
    where: ColumnElement[bool],
    epoch: int,
    session: str,
    node: str,
    ttl_ms: int,
    now: int,
) -> bool:
    statement = _changing(
        epoch=lease.c.epoch + 1, beat=0, holder=session, holder_node=node, ttl_ms=ttl_ms
    )
    if not _swapped(connection, site, where, statement):
        return False
    row = {"site": site, "epoch": epoch + 1, "node": node, "granted_at": now}
    connection.execute(insert(lease_history).values(row))
    notify(connection, "lease", site)
    return True


def _changing(**values: object) -> Update:
    return update(lease).values(values)


def _swapped(
    connection: Connection, site: str, where: ColumnElement[bool], statement: Update
) -> bool:
    return connection.execute(statement.where((lease.c.site == site) & where)).rowcount == 1
