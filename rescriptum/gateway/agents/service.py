"""What a gateway process does for its agents without being asked: it looks, and it says."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from sqlalchemy import Connection
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ...contract.refusals import REFUSALS
from ...contract.structure import JSON
from ...net.watch import Watch
from ..arbitration import Arbitration
from ..delivery import Delivery, Spokesman
from ..hub import Hub, Live
from ..lease import POLL
from ..records import SessionRow
from ..silence import Silence
from ..stores import events, sessions
from ..stores.database import Database
from ..stores.notices import Notices

#: Seconds between two looks that nobody asked for: notices can be lost.
DELIVERY, SPECS, SESSIONS = 5.0, 30.0, 10.0
#: Seconds between two looks for sessions that are not heard any more.
QUIET: Final = 60.0
#: Seconds without a successful look, after which the process is not well.
UNWELL: Final = 10.0
#: Seconds between two looks for who has to be pinged: a site's own ttl may be the shortest.
TICK: Final = 0.2


class AgentsService(Service):
    """The watches of one gateway process, for as long as it runs."""

    name = "agents"

    def __init__(
        self,
        clock: IReactorTime,
        database: Database,
        notices: Notices,
        hub: Hub,
        process: str,
        boottime: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        """
        :param process: its name, unlike any other's.
        :param boottime: seconds of a clock that goes on while the machine sleeps.
        :param now: Unix time.
        """
        self._clock = clock
        self._database = database
        self._notices = notices
        self._hub = hub
        self._process = process
        self._now = now
        arbitration = Arbitration(database, boottime, now, self._lease_changed)
        delivery = Delivery(database, hub, now)
        spokesman = Spokesman(database, hub, arbitration.section)
        self._arbitration = arbitration
        self._leases = Watch(clock, "boot leases", POLL, arbitration.look)
        self._commands = Watch(clock, "commands", DELIVERY, delivery.look)
        self._specs = Watch(clock, "desired state", SPECS, spokesman.look)
        self._sessions = Watch(clock, "sessions", SESSIONS, self._sweep)
        self._silence = Silence()
        self._quiet = Watch(clock, "silent sessions", QUIET, lambda _: self._end_silent())
        self._tick = LoopingCall(hub.tick)
        self._tick.clock = clock
        self._unsubscribe: list[Callable[[], None]] = []
        self._watches = (
            self._leases,
            self._commands,
            self._specs,
            self._sessions,
            self._quiet,
        )

    def healthy(self) -> bool:
        """:returns: whether the leases were looked at of late: all else depends on the same."""
        return self.running == 1 and self._clock.seconds() - self._leases.seen_at < UNWELL

    def opened(self, live: Live) -> None:
        """A stream is there to be spoken to."""
        self._specs.wake(live.node)
        self._commands.wake(live.node)

    def startService(self) -> None:
        super().startService()
        subscribe = self._notices.subscribe
        self._unsubscribe = [
            self._database.when_lost(self._arbitration.forget),
            subscribe("lease", self._leases.wake),
            subscribe("sessions", self._leases.wake),
            subscribe("sessions", self._sessions.wake),
            subscribe("commands", self._commanded),
            subscribe("spec", self._specs.wake),
        ]
        for watch in self._watches:
            watch.start()
        self._tick.start(TICK, now=False)

    def stopService(self) -> Deferred[None]:
        """:returns: fires when nothing looks any more."""
        super().stopService()
        for each in self._unsubscribe:
            each()
        if self._tick.running:
            self._tick.stop()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        for watch in self._watches:
            await watch.stop()

    def _lease_changed(self, site: str) -> None:
        self._specs.wake(site)

    def _commanded(self, node: str) -> None:
        if self._hub.of_node(node) is not None:
            self._commands.wake(node)

    async def _sweep(self, names: frozenset[str] | None) -> None:
        """Sessions that are over elsewhere are over here; those that moved are left alone."""
        here = [live for live in self._hub if names is None or live.site in names]
        if not here:
            return
        ids = [live.session for live in here]
        gone = await self._database.run(partial(_gone, ids=ids, process=self._process))
        for live in here:
            if live.session not in gone:
                continue
            row = gone[live.session]
            if row is not None and row.ended_at is None:
                self._hub.leave(live)
            else:
                reason = row.reason if row is not None else None
                told = reason if reason in REFUSALS else None
                self._hub.close(live.session, told or "unknown-session")

    async def _end_silent(self) -> None:
        """Whoever comes back says Hello again."""
        heard = await self._database.run(sessions.last_heard)
        silent = self._silence.observed(heard, self._clock.seconds())
        if silent:
            await self._database.run(partial(_ended, silent=silent, now=int(self._now())))


def _gone(connection: Connection, ids: list[str], process: str) -> dict[str, SessionRow | None]:
    """:returns: of those that are not this process's any more, what has become of them."""
    mine = sessions.of_process(connection, process, ids)
    return {each: sessions.get(connection, each) for each in ids if each not in mine}


def _ended(connection: Connection, silent: Mapping[str, int], now: int) -> None:
    over = [
        each
        for each, heard_at in sorted(silent.items())
        if sessions.end(connection, each, "silent", now, heard_at)
    ]
    for each in over:
        row = sessions.get(connection, each)
        assert row is not None
        data: JSON = {"session": row.id, "heard_at": row.heard_at}
        events.append(connection, "session.silent", row.site, row.node, data, now)
