"""What listings tell beside their rows, in one statement for all rows of a page."""

from collections.abc import Collection

from sqlalchemy import Connection, func, select

from ..records import Batch, CommandState, Page, SessionRow
from ..stores.rows import every, newest
from ..stores.tables import batches, commands, nodes, sessions


def nodes_of(connection: Connection, sites: Collection[str]) -> dict[str, int]:
    """:returns: by site: how many nodes it has, where it has any."""
    mine = nodes.c.site.in_(sorted(sites)) & nodes.c.removed_at.is_(None)
    statement = select(nodes.c.site, func.count()).where(mine).group_by(nodes.c.site)
    return {site: int(number) for site, number in connection.execute(statement)}


def live_of(connection: Connection, sites: Collection[str]) -> dict[str, int]:
    """:returns: by site: how many sessions go on, where any does."""
    mine = sessions.c.site.in_(sorted(sites)) & sessions.c.ended_at.is_(None)
    statement = select(sessions.c.site, func.count()).where(mine).group_by(sessions.c.site)
    return {site: int(number) for site, number in connection.execute(statement)}


def sessions_of(connection: Connection, ids: Collection[str]) -> dict[str, SessionRow]:
    """:returns: by node: the session that goes on, where one does."""
    mine = sessions.c.node.in_(sorted(ids)) & sessions.c.ended_at.is_(None)
    found = every(connection, SessionRow, select(sessions).where(mine))
    return {each.node: each for each in found}


def waiting_batches(connection: Connection, after: str, limit: int) -> Page[Batch]:
    """:returns: those with a command that waits for approvals, the newest first."""
    waiting = (commands.c.batch == batches.c.id) & (commands.c.state == CommandState.WAITING.value)
    statement = select(batches).where(select(commands.c.id).where(waiting).exists())
    return newest(connection, Batch, statement, batches.c.created_at, batches.c.id, after, limit)
