"""What goes out to agents: commands until they are journalled, and the desired state as it is."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from attrs import frozen
from sqlalchemy import Connection
from twisted.logger import Logger

from ..contract.frames import CommandFrame, Desired, Revoke, ServerFrame
from ..contract.joining import Role
from ..contract.refusals import Rejected
from ..contract.specs import LeaseSection
from . import interlock
from .desired import Known, specs
from .hub import Hub, Live
from .records import CommandRow
from .stores import commands, events
from .stores.database import Database
from .stores.outgoing import busy_nodes

#: Commands that are ended at once because their time is over.
_EXPIRING: Final = 100

_log = Logger()


@frozen
class Outgoing:
    """For one node. :ivar revoked: ids of commands that it may have, and is not to run."""

    commands: tuple[CommandRow, ...]
    revoked: tuple[str, ...]


class Delivery:
    """
    Brings commands to the sessions that this process has.

    Each is sent once to a stream, and again to the next one until its agent has it in its journal.
    """

    def __init__(self, database: Database, hub: Hub, now: Callable[[], float]) -> None:
        self._database = database
        self._hub = hub
        self._now = now

    async def look(self, names: frozenset[str] | None) -> None:
        """:param names: of nodes that may have something new; None: all, and end what is late."""
        here = {live.node for live in self._hub}
        wanted = here if names is None else here & names
        now = int(self._now())
        if names is None:
            await self._database.run(partial(_expire, now=now))
        if wanted:
            found = await self._database.run(partial(_outgoing, names=wanted, now=now))
            for node, outgoing in found.items():
                live = self._hub.of_node(node)
                if live is not None:
                    self._send(live, outgoing)

    def _send(self, live: Live, outgoing: Outgoing) -> None:
        ids = {each.id for each in outgoing.commands}
        live.told &= ids  # of those that are over, none comes again
        live.revoked &= set(outgoing.revoked)
        for each in outgoing.commands:
            if each.id not in live.told:
                live.told.add(each.id)
                said(self._hub, live, CommandFrame(each.envelope))
        for each_id in outgoing.revoked:
            if each_id not in live.revoked:
                live.revoked.add(each_id)
                said(self._hub, live, Revoke(each_id))


class Spokesman:
    """Tells the sessions that this process has what they are to have, whenever it has changed."""

    def __init__(
        self, database: Database, hub: Hub, lease: Callable[[str, str], LeaseSection]
    ) -> None:
        """:param lease: of a site, as one of its sessions is to have it."""
        self._database = database
        self._hub = hub
        self._lease = lease

    async def look(self, names: frozenset[str] | None) -> None:
        """:param names: of sites and nodes; None: all."""
        lives = [
            live
            for live in self._hub
            if names is None or not names.isdisjoint((live.site, live.node))
        ]
        if not lives:
            return
        known = [
            Known(
                live.node,
                live.site,
                live.role is Role.SITE,
                self._lease(live.site, live.session),
                live.spec,
            )
            for live in lives
        ]
        changed = await self._database.run(partial(specs, sessions=known))
        for live in lives:
            spec = changed.get(live.node)
            if spec is not None:
                live.spec = spec
                said(self._hub, live, Desired(spec))


def said(hub: Hub, live: Live, frame: ServerFrame) -> None:
    """Say ``frame``; where that cannot be, it is logged, and the others are served."""
    try:
        hub.send(live, frame)
    except Rejected as e:
        _log.error(
            "{node}: {what} cannot be sent: {reason}",
            node=live.node,
            what=type(frame).__name__,
            reason=str(e),
        )


def _outgoing(connection: Connection, names: Collection[str], now: int) -> dict[str, Outgoing]:
    pending = {}
    for node in busy_nodes(connection, names):
        pending[node] = commands.pending_for(connection, node, now)
    held = interlock.held(connection, [row for rows in pending.values() for row in rows], now)
    found = {
        node: Outgoing(
            tuple(row for row in rows if row.id not in held),
            tuple(commands.revocations_for(connection, node)),
        )
        for node, rows in pending.items()
    }
    ids = [row.id for each in found.values() for row in each.commands]
    if ids:
        commands.delivered(connection, ids, now)
    return found


def _expire(connection: Connection, now: int) -> None:
    for command in commands.expire(connection, now, _EXPIRING):
        row = commands.get(connection, command)
        data = {"node": row.node, "kind": row.kind, "workflow": row.workflow}
        events.append(connection, "command.expired", None, command, dict(data), now)
