"""
Doubles for what touches the world, public so that tests of other programs can use them too.

None of them stands in for the loopback tests of a shell.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeVar

from attrs import define, field, frozen
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from .errors import NotFound, Unavailable
from .fakebmc.service import FakeBMC as FakeBMC
from .fakebmc.switches import Switch as Switch
from .net.udp import ANYWHERE, Arrival, Received, SocketAddress, Way
from .values import Content, Generated, Listen
from .web.stream import CLOSED, LOST, SLOW_READER, STOPPING, Stream

_T = TypeVar("_T")


class MemoryLoaders:
    """Satisfies :class:`rescriptum.interfaces.Loaders` with what it was given."""

    def __init__(self, files: Mapping[bytes, Content | Generated | bytes]) -> None:
        self._files = files

    def find(self, name: bytes) -> Content | Generated:
        found = self._files.get(name)
        if found is None:
            raise NotFound(name.decode("ascii", "replace"))
        return Generated(found) if isinstance(found, bytes) else found


class Everybody:
    """Satisfies :class:`rescriptum.interfaces.Admission`; all but ``strangers`` are admitted."""

    def __init__(self, *strangers: str) -> None:
        self._strangers = strangers

    def admits(self, host: str) -> bool:
        return host not in self._strangers


class MemoryWorkers:
    """
    Satisfies :class:`rescriptum.interfaces.Workers` without threads.

    :ivar held: while True, work waits until :meth:`proceed`.
    :ivar done: how many pieces of work were done.
    """

    def __init__(self, held: bool = False) -> None:
        self.held = held
        self.done = 0
        self._waiting: list[Deferred[None]] = []

    async def run(self, work: Callable[[], _T]) -> _T:
        if self.held:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting
        self.done += 1
        return work()

    def proceed(self) -> None:
        """Let what waits be done, and what comes after it."""
        self.held = False
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.called:  # else whoever asked has gone
                each.callback(None)


class MemoryStream(Stream):
    """
    Satisfies :class:`rescriptum.web.stream.Stream`: a client that takes everything at once.

    As with a real one, nobody is called back from within a call: ``ended`` is told by the clock's
    next turn, ``clock.advance(0)``.

    :ivar sent: what the client has, one item for each write.
    :ivar end: why it ended; None while it has not.
    :ivar slow: whether the client takes nothing for now; set it to False, and it catches up.
    """

    def __init__(self, clock: IReactorTime, room: int = Stream.ROOM) -> None:
        self.ended: Callable[[str], None] | None = None
        self.sent: list[bytes] = []
        self.end: str | None = None
        self._clock = clock
        self._room = room
        self._slow = False
        self._kept: list[bytes] = []

    @property
    def slow(self) -> bool:
        return self._slow

    @slow.setter
    def slow(self, value: bool) -> None:
        self._slow = value
        if not value:
            self.sent += self._kept
            self._kept = []

    @property
    def waiting(self) -> int:
        return sum(len(each) for each in self._kept)

    def write(self, data: bytes) -> None:
        if self.end is None and data:
            (self._kept if self._slow else self.sent).append(data)
            if self.waiting > self._room:
                self.abort(SLOW_READER)

    def finish(self, last: bytes = b"") -> None:
        self.write(last)
        self._end(CLOSED)

    def abort(self, reason: str) -> None:
        if self.end is None:
            self._kept = []
        self._end(reason)

    def lose(self) -> None:
        """The client leaves."""
        self.abort(LOST)

    def stop(self) -> None:
        """The server stops."""
        self._end(STOPPING)

    def _end(self, reason: str) -> None:
        if self.end is None:
            self.end = reason
            self._clock.callLater(0, self._tell)

    def _tell(self) -> None:
        if self.ended is not None and self.end is not None:
            self.ended(self.end)


@define(eq=False)
class MemoryChannel:
    """
    A connected socket.

    :ivar sent: the datagrams that left, one by one, also where one call sent several.
    :ivar calls: how many calls sent them.
    :ivar closed: whether it is.
    :ivar unable: what a send raises while :meth:`segment` has set a size.
    :ivar failures: what the next sends raise, in order.
    """

    arrival: Arrival
    mtu: int = 1500
    sent: list[bytes] = field(factory=list, init=False)
    calls: int = field(default=0, init=False)
    closed: bool = field(default=False, init=False)
    unable: OSError | None = None
    failures: deque[OSError] = field(factory=deque, init=False)
    _segment: int = field(default=0, init=False)
    _incoming: deque[bytes | Exception] = field(factory=deque, init=False)
    _ready: Callable[[], None] | None = field(default=None, init=False)
    _broken: Callable[[], None] | None = field(default=None, init=False)

    def recv(self, size: int) -> bytes:
        if not self._incoming:
            raise BlockingIOError
        item = self._incoming.popleft()
        if isinstance(item, Exception):
            raise item
        return item[:size]

    def send(self, data: bytes | memoryview) -> int:
        if self.failures:
            raise self.failures.popleft()
        datagrams = bytes(data)
        step = self._segment or len(datagrams)
        if self.unable is not None and self._segment:
            raise self.unable
        self.calls += 1
        self.sent += [datagrams[at : at + step] for at in range(0, len(datagrams), step)]
        return len(datagrams)

    def watch(self, ready: Callable[[], None], broken: Callable[[], None]) -> None:
        self._ready, self._broken = ready, broken

    def segment(self, size: int) -> None:
        self._segment = size

    def close(self) -> None:
        self.closed = True
        self._ready = self._broken = None

    def deliver(self, *items: bytes | Exception) -> None:
        """What the client sends; an ``OSError`` is what the kernel would say, another our fault."""
        self._incoming += items
        while self._incoming and self._ready is not None and self._broken is not None:
            broken = self._broken
            try:
                self._ready()
            except Exception:  # noqa: BLE001 - as who watches real sockets does
                broken()

    def taken(self) -> list[bytes]:
        """:returns: what was sent since this was last asked."""
        sent, self.sent = self.sent, []
        return sent


@frozen
class Sent:
    """An answer that left a listening socket. :ivar local: and ``interface``: that it left by."""

    datagram: bytes
    to: tuple[str, int]
    local: str
    interface: int


@define(eq=False)
class MemoryListening:
    """
    A bound socket.

    :ivar way: what it may do. :ivar sent: what it was told to send.
    :ivar failures: what the next sends raise, in order.
    """

    host: str
    port: int
    received: Received
    way: Way = ANYWHERE
    closed: bool = field(default=False, init=False)
    sent: list[Sent] = field(factory=list, init=False)
    failures: deque[OSError] = field(factory=deque, init=False)

    def send(
        self, datagram: bytes, to: tuple[str, int], local: str = "", interface: int = 0
    ) -> None:
        if self.failures:
            raise self.failures.popleft()
        self.sent.append(Sent(datagram, to, local, interface))

    def deliver(self, *arrivals: Arrival) -> list[Sent]:
        """
        What has come while nobody looked.

        :returns: what was answered.
        """
        before = len(self.sent)
        for each in arrivals:
            self.received(each)
        self.way.drained()
        return self.sent[before:]

    def close(self) -> None:
        self.closed = True


class MemoryUDP:
    """
    A network in memory, as :class:`rescriptum.net.udp.UDP` is one.

    :ivar channels: all that were ever connected.
    :ivar taken: addresses that cannot be bound, or addresses with their ports.
    :ivar mtu: of channels that will be connected; ``unable`` likewise.
    :ivar flushed: called by :meth:`flush`.
    """

    def __init__(self) -> None:
        self.channels: list[MemoryChannel] = []
        self.listening: list[MemoryListening] = []
        self.taken: dict[str, OSError] = {}
        self.mtu = 1500
        self.unable: OSError | None = None
        self.exhausted = False
        self.flushed: Callable[[], None] = lambda: None

    def listen(self, at: Listen, received: Received, way: Way = ANYWHERE) -> MemoryListening:
        for taken in (at.host, str(at)):
            if taken in self.taken:
                raise self.taken[taken]
        self.listening.append(MemoryListening(at.host, at.port or 49152, received, way))
        return self.listening[-1]

    def connect(self, arrival: Arrival, ports: tuple[int, int] | None) -> MemoryChannel:
        if self.exhausted:
            raise Unavailable(f"no port is free in {ports}")
        self.channels.append(MemoryChannel(arrival, self.mtu, unable=self.unable))
        return self.channels[-1]

    def flush(self) -> None:
        self.flushed()

    def deliver(
        self, datagram: bytes, peer: SocketAddress, local: str = "192.0.2.1", unicast: bool = True
    ) -> list[MemoryChannel]:
        """
        Somebody sends to every listening socket.

        :returns: the channels that were connected because of it.
        """
        before = len(self.channels)
        for each in self.listening:
            if not each.closed:
                each.received(Arrival(datagram, peer, local, 2, unicast))
        return self.channels[before:]
