"""Which nodes have something waiting for them, asked for many at once."""

from collections.abc import Collection

from sqlalchemy import Connection, select

from ..records import CommandState
from .tables import commands

_ON_ITS_WAY = (CommandState.QUEUED.value, CommandState.DELIVERED.value)


def busy_nodes(connection: Connection, names: Collection[str]) -> list[str]:
    """:returns: those of ``names`` that have a command to get, or to be told not to run."""
    revoked = (commands.c.state == CommandState.REVOKED.value) & commands.c.finished_at.is_(None)
    waiting = commands.c.state.in_(_ON_ITS_WAY) | revoked
    theirs = commands.c.node.in_(sorted(names)) & waiting
    return sorted(connection.execute(select(commands.c.node).where(theirs).distinct()).scalars())
