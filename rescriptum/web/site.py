"""A listener's connections: how many, for how long, and what they share."""

from collections.abc import Callable
from time import time
from typing import Final, Self

from attrs import frozen
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import Factory
from twisted.internet.task import LoopingCall
from twisted.logger import Logger, LogLevel

from ..errors import Unavailable
from ..interfaces import Admission, Workers
from .bursts import Burst
from .connection import HTTPConnection
from .decision import Blocks
from .files import FileTable
from .head import MAX_HEAD
from .patience import TICK, Schedule
from .reply import Finished
from .routing import Application, Mounted, Router

#: Connections that are told that there is no room, at once; more are closed without a word.
TURNED_AWAY: Final = 64
#: Connections without a request that a media listener has room for beside its transfers.
WAITING: Final = 1024


@frozen(kw_only=True)
class Limits:
    """
    What strangers may take of a listener.

    :ivar connections: open at once. A new one makes the one leave that has waited longest for
        its next request; if there is none, it is answered 503 at once.
    :ivar transfers: files of more than 256 KiB on their way at once; more are answered 503 with
        ``Retry-After``.
    :ivar streams: long answers at once; more are answered 503 with ``Retry-After``. No other limit
        of time holds for them.
    :ivar header_seconds: from the first byte of a request to the end of its head.
    :ivar total_seconds: from the first byte of a request to the last of its reply; None where
        a reply may take as long as it makes progress.
    :ivar stall_seconds: without any progress of a reply.
    :ivar keepalive_seconds: between two requests: firmware loses the race against a server that
        is quick to close (W154).
    :ivar head_bytes: of one request, 16 KiB at most: its line and all its headers.
    :ivar body_bytes: of one request; ``all_bodies_bytes`` of those being received together, small
        ones apart: they are always received.
    """

    connections: int = 2048
    transfers: int = 2048
    streams: int = 1024
    header_seconds: float = 10
    total_seconds: float | None = None
    body_seconds: float = 60
    stall_seconds: float = 600
    keepalive_seconds: float = 75
    head_bytes: int = MAX_HEAD
    body_bytes: int = 1 << 20
    all_bodies_bytes: int = 64 << 20

    @classmethod
    def answers(cls, connections: int = 2048, seconds: float = 10) -> Self:
        """For small replies: ``seconds`` is all that a request and its reply may take."""
        return cls(
            connections=connections,
            transfers=connections,
            header_seconds=seconds,
            total_seconds=seconds,
            stall_seconds=seconds,
        )

    @classmethod
    def media(cls, transfers: int = 16, seconds: float = 600) -> Self:
        """For images: ``seconds`` is how long a transfer may stand still, not how long it takes."""
        return cls(connections=transfers + WAITING, transfers=transfers, stall_seconds=seconds)


class Site(Factory):
    """
    Makes the connections of one listener, and keeps count of them.

    :ivar tick: goes up by one every :data:`TICK` seconds while there are connections.
    :ivar idle: connections without a complete request, the longest waiting first.
    """

    noisy = False
    _log = Logger()

    def __init__(
        self,
        application: Application | Mounted,
        *,
        reactor: IReactorTime,
        limits: Limits,
        admission: Admission | None = None,
        workers: Workers,
        now: Callable[[], float] = time,
    ) -> None:
        """:param now: Unix time: the reactor's need not be."""
        self.clock = reactor
        self.now = now
        self.limits = limits
        self.workers = workers
        self.blocks = Blocks()
        self.files = FileTable(workers, lambda: self.tick * TICK)
        self.tick = 0
        self.transfers = 0
        self.streams = 0
        self.bodies = 0
        self.closing = False
        self.idle: dict[HTTPConnection, None] = {}
        self.schedule = Schedule.of(limits)
        self.router = Router(application)
        self._admission = admission
        self._connections: set[HTTPConnection] = set()
        self._turned_away: set[HTTPConnection] = set()
        self._timer = LoopingCall(self._look)
        self._timer.clock = reactor
        self._full = Burst("Over capacity, turned away", LogLevel.warn)
        self._noise = Burst("Connections without a request that could be read", LogLevel.info)
        self._gone: Deferred[None] | None = None

    def __len__(self) -> int:
        return len(self._connections)

    # What the port calls.

    def buildProtocol(self, addr: IAddress | None) -> HTTPConnection | None:
        if self.closing or len(self._turned_away) >= TURNED_AWAY:
            return None
        return HTTPConnection(self, _peer(addr))

    # What connections call.

    def made(self, connection: HTTPConnection) -> None:
        if not self._timer.running:
            self._timer.start(TICK, now=False)
        self._connections.add(connection)
        if len(self._connections) - len(self._turned_away) <= self.limits.connections:
            self.idle[connection] = None
            return
        longest = next(iter(self.idle), None)
        if longest is not None and longest.patience.since < self.tick:
            self.idle[connection] = None
            longest.leave()
        else:
            self._turned_away.add(connection)
            self.over_capacity(connection.peer, "connections")
            connection.turn_away()

    def lost(self, connection: HTTPConnection) -> None:
        self._connections.discard(connection)
        self._turned_away.discard(connection)
        self.idle.pop(connection, None)
        if not self._connections and self._gone is not None:
            gone, self._gone = self._gone, None
            gone.callback(None)

    def admits(self, peer: tuple[str, int]) -> bool:
        return self._admission is None or self._admission.admits(peer[0])

    def over_capacity(self, peer: tuple[str, int], of: str) -> None:
        if self._full.add(self._seconds()):
            self._log.warn("Over capacity: no more {of}, {peer} is turned away", of=of, peer=peer)

    def no_stream(self, peer: tuple[str, int]) -> Unavailable | None:
        """:returns: why no stream can be opened; None where one can."""
        if self.closing:
            return Unavailable("the server is stopping")
        if self.streams < self.limits.streams:
            return None
        self.over_capacity(peer, "streams")
        return Unavailable("all streams are taken")

    def unreadable(self, done: Finished) -> None:
        """What was no request: the first of a burst is reported, the others are counted."""
        if self._noise.add(self._seconds()):
            self.finished(self.router.default, done)

    def finished(self, application: Application, done: Finished) -> None:
        try:
            application.finished(done)
        except Exception:  # noqa: BLE001 - an access log does not end a connection
            self._log.failure("An exchange could not be recorded")

    def closed(self, application: Application, peer: tuple[str, int]) -> None:
        try:
            application.closed(peer)
        except Exception:  # noqa: BLE001
            self._log.failure("The end of a connection could not be recorded")

    # Time.

    def _seconds(self) -> float:
        return self.tick * TICK

    def _look(self) -> None:
        self.tick += 1
        for connection in [each for each in self._connections if each.patience.due <= self.tick]:
            try:
                connection.expired()
            except Exception:  # noqa: BLE001 - else no deadline would be kept any more
                self._log.failure("A deadline could not be kept")
        now = self._seconds()
        self._full.look(now)
        self._noise.look(now)
        if not self._connections:
            self.files.sweep(0)
            if not self._full.running and not self._noise.running:
                self._timer.stop()
        elif not self.tick % 4:
            self.files.sweep()

    def stop(self, grace: float) -> Deferred[None]:
        """
        Close idle connections now, the others after their reply or ``grace`` seconds.

        :returns: fires when all are gone, and nothing is left behind.
        """
        self.closing = True
        for connection in list(self._connections):
            connection.leave()
        gone: Deferred[None] = Deferred()
        if self._connections:
            self._gone = gone
            ending = self.clock.callLater(grace, self._drop_all)
            gone.addBoth(lambda _: ending.cancel() if ending.active() else None)
        else:
            gone.callback(None)
        return gone.addCallback(lambda _: self._stopped())

    def _drop_all(self) -> None:
        for connection in list(self._connections):
            connection.drop()

    def _stopped(self) -> None:
        self.files.close()
        if self._timer.running:
            self._timer.stop()


def _peer(addr: IAddress | None) -> tuple[str, int]:
    """An address that allow-lists and people can read: no scope, and IPv4 as IPv4."""
    if not isinstance(addr, (IPv4Address, IPv6Address)):
        return "-", 0
    host = addr.host.partition("%")[0]
    if host.startswith("::ffff:") and "." in host:
        host = host.removeprefix("::ffff:")
    return host, addr.port
