"""The well-known port: a read request becomes a transfer, or is refused, or meets silence."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from attrs import define, frozen
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..boot.events import LoaderAsked, record
from ..errors import MalformedDatagram, RescriptumError, Unavailable
from ..interfaces import Admission, Fence, Loaders, Workers
from ..net.udp import Arrival, Received
from ..values import Content, Generated, Listen
from .endings import ended
from .offload import Offload
from .options import Caps, described, negotiate
from .packets import Source
from .refusals import Busy, RefusalLog, refusal
from .sending import Channel, Sending
from .store import PacketStore
from .transfer import Outcome, Transfer
from .wire import Error, ErrorCode, ReadRequest, WriteRequest, decode, printable

#: Seconds between looks at what did not move.
TICK = 0.25
#: With more transfers than these, what one of them takes of our time is missing to another.
FEW = 2


@frozen
class Limits:
    """
    What strangers can make grow.

    :ivar transfers: at once; more are not answered, so that the ROM asks again.
    :ivar per_peer: of them for one address.
    :ivar cache: bytes of datagrams in memory.
    """

    transfers: int = 64
    per_peer: int = 4
    cache: int = 64 << 20


class Listening(Protocol):
    """A bound socket."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...

    def close(self) -> None:
        """Nothing is called after this."""


class Network(Protocol):
    """Where sockets come from: :class:`rescriptum.net.udp.UDP`, or a test."""

    def listen(self, at: Listen, received: Received) -> Listening:
        """:raises OSError: when it cannot be bound."""

    def connect(self, arrival: Arrival, ports: tuple[int, int] | None) -> Channel:
        """
        :param ports: the first and the last that may be used; None: any.
        :raises Unavailable: when none is free.
        """

    def flush(self) -> None:
        """Deal with everything that channels can receive already."""


_Key = tuple[str, int, str]


@define(eq=False)
class _Running:
    """
    One transfer, from its request to its end.

    :ivar opening: reading its file; ``sending`` is None until that is done.
    """

    key: _Key
    request: ReadRequest
    loader: str
    transfer: Transfer
    began: float
    opening: Deferred[None] | None = None
    sending: Sending | None = None

    @property
    def host(self) -> str:
        return self.key[0]

    @property
    def peer(self) -> tuple[str, int]:
        return self.key[0], self.key[1]


class TFTPServer:
    """
    Sends loaders: read-only, bounded, silent to whom it must not answer.

    It listens wherever :meth:`listen` says; nothing is opened before.
    """

    _log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        network: Network,
        loaders: Loaders,
        *,
        admission: Admission,
        workers: Workers,
        monotonic: Callable[[], float],
        blksize: int = 1468,
        ports: tuple[int, int] | None = None,
        limits: Limits | None = None,
        write_refusal: ErrorCode = ErrorCode.ACCESS_VIOLATION,
        offload: bool = True,
        fast: bool = True,
        fence: Fence | None = None,
    ) -> None:
        """
        :param blksize: bytes a block has at most.
        :param ports: the first and the last that data may leave from; None: any (W135).
        :param write_refusal: what a write request is told.
        :param offload: False never lets the kernel cut windows into datagrams.
        :param fast: False decides each acknowledgement the long way.
        :param fence: of a site's boot lease: nobody is answered while it is closed, and a transfer
            that has begun goes on; None: there is none.
        """
        self._network = network
        self._loaders = loaders
        self._admission = admission
        self._monotonic = monotonic
        self._caps = Caps(blksize)
        self._ports = ports
        self._limits = Limits() if limits is None else limits
        self._write_refusal = write_refusal
        self._offload = Offload(offload)
        self._fast = fast
        self._fence = fence
        self._store = PacketStore(workers, self._limits.cache)
        self._refusals = RefusalLog(self._log)
        self._running: dict[_Key, _Running] = {}
        self._peers: Counter[str] = Counter()
        self._found: dict[bytes, Content | Generated] = {}
        self._idle: list[Deferred[None]] = []
        self._ticking = LoopingCall(self._tick)
        self._ticking.clock = clock

    def listen(self, at: Listen) -> Listening:
        """
        Take requests there too.

        :raises OSError: when it cannot be bound.
        """
        return self._network.listen(at, self.received)

    @property
    def transfers(self) -> int:
        """How many are under way."""
        return len(self._running)

    @property
    def peers(self) -> int:
        """How many addresses they go to."""
        return len(self._peers)

    def idle(self) -> Deferred[None]:
        """:returns: fires when no transfer is under way."""
        done: Deferred[None] = Deferred()
        if self._running:
            self._idle.append(done)
        else:
            done.callback(None)
        return done

    def abort(self) -> None:
        """End what is under way."""
        for running in list(self._running.values()):
            if running.sending is not None:
                running.sending.abort("the server is stopping")
            elif running.opening is not None:
                running.opening.cancel()

    def received(self, arrival: Arrival) -> None:
        """A datagram came to the well-known port."""
        host, port = arrival.peer[:2]
        many = not arrival.unicast or port == 0 or not _answerable(host)
        admitted = not many and self._barred(host) is None
        try:
            message = decode(arrival.datagram)
        except MalformedDatagram as e:
            # Without even an opcode it is not TFTP: draw nobody into a conversation.
            plausible = admitted and arrival.datagram[:1] == b"\0"
            self._refuse(arrival, e.code if plausible else "noise", str(e))
            return
        if many:
            request = message if isinstance(message, ReadRequest) else None
            self._refuse(arrival, "broadcast", "sent to or from an address of many", request)
        elif isinstance(message, ReadRequest):
            self._asked(message, arrival)
        elif isinstance(message, WriteRequest):
            self._write(message, arrival)
        elif not isinstance(message, Error) and admitted:
            self._refuse(arrival, MalformedDatagram.code, f"opcode {message.opcode}")

    def _barred(self, host: str) -> tuple[str, str] | None:
        """:returns: a code, and why ``host`` gets no answer; None: it gets one."""
        if not self._admission.admits(host):
            return "stranger", "not in the allow-list"
        if self._fence is not None and not self._fence.is_open():
            return "standby", "this agent does not hold the boot lease"
        return None

    def _asked(self, request: ReadRequest, arrival: Arrival) -> None:
        host, port = arrival.peer[:2]
        key = (host, port, arrival.local)
        barred = self._barred(host)
        if barred is not None:
            self._refuse(arrival, *barred, request)
        elif request.mode != b"octet":
            self._refuse(arrival, "mode", f"mode {printable(request.mode, 32)}", request)
        elif not self._joins(key, request):
            try:
                self._make_room(host)
                self._start(key, request, arrival, self._find(request.filename))
            except RescriptumError as e:
                self._refuse(arrival, e.code, str(e), request)

    def _find(self, name: bytes) -> Content | Generated:
        """What a storm asks for is looked for once between two ticks."""
        found = self._found.get(name)
        if found is None:
            found = self._loaders.find(name)
            if self._ticking.running and len(self._found) < self._limits.transfers:
                self._found[name] = found
        return found

    def _joins(self, key: _Key, request: ReadRequest) -> bool:
        """Whether this is a request again that is being answered (W124); another one ends it."""
        running = self._running.get(key)
        if running is None:
            return False
        same = running.request == request
        if running.sending is None:
            if not same and running.opening is not None:
                running.opening.cancel()
            return same
        return running.sending.repeated(same)

    def _make_room(self, host: str) -> None:
        """
        :raises Busy: when there is none.
        """
        if self._full(host):
            self._network.flush()  # the end of one may be waiting to be read
            if self._full(host):
                raise Busy("too many transfers, of all or of this peer")

    def _full(self, host: str) -> bool:
        most = self._limits
        return len(self._running) >= most.transfers or self._peers[host] >= most.per_peer

    def _start(
        self, key: _Key, request: ReadRequest, arrival: Arrival, found: Content | Generated
    ) -> None:
        channel = self._network.connect(arrival, self._ports)
        terms = negotiate(request.options, found.size, self._caps, channel.mtu, arrival.version)
        now = self._monotonic()
        running = _Running(
            key, request, printable(request.filename), Transfer(found.size, terms, now), now
        )
        self._running[key] = running
        self._offload.crowded = len(self._running) > FEW
        self._peers[running.host] += 1
        if not self._ticking.running:
            self._ticking.start(TICK, now=False)
        asked = LoaderAsked(
            peer=running.peer, loader=running.loader, options=described(request.options)
        )
        record(self._log, asked)
        source = self._store.held(found, terms.blksize)
        if source is not None:
            self._begin(running, arrival, channel, source)
            return
        running.opening = Deferred.fromCoroutine(self._open(running, arrival, channel, found))
        running.opening.addErrback(self._not_opened, running)

    async def _open(
        self, running: _Running, arrival: Arrival, channel: Channel, found: Content | Generated
    ) -> None:
        try:
            source = await self._store.open(found, running.transfer.terms.blksize)
        except BaseException as e:
            channel.close()
            self._forget(running)
            if not isinstance(e, RescriptumError):
                raise
            self._refuse(arrival, e.code, str(e), running.request)
            return
        barred = self._barred(running.host)
        if barred is not None:  # by now
            source.close()
            channel.close()
            self._forget(running)
            self._refuse(arrival, *barred, running.request)
            return
        self._begin(running, arrival, channel, source)

    def _begin(self, running: _Running, arrival: Arrival, channel: Channel, source: Source) -> None:
        running.sending = Sending(
            channel,
            running.transfer,
            source,
            lambda outcome: self._ended(running, outcome),
            monotonic=self._monotonic,
            offload=self._offload,
            interface=arrival.interface,
            fast=self._fast,
        )
        running.sending.begin()
        self._sent()

    def _sent(self) -> None:
        if self._fence is not None:
            self._fence.sent()

    def _not_opened(self, failure: Failure, running: _Running) -> None:
        if not failure.check(CancelledError):
            self._log.failure("Reading {loader}", failure, loader=running.loader)

    def _tick(self) -> None:
        self._found.clear()
        now = self._monotonic()
        for running in list(self._running.values()):
            if running.sending is not None:
                try:
                    running.sending.ticked(now)
                except Exception:  # noqa: BLE001 - the others go on
                    self._log.failure("Sending {loader}", loader=running.loader)
                    running.sending.abort("internal error")

    def _ended(self, running: _Running, outcome: Outcome) -> None:
        self._forget(running)
        seconds = self._monotonic() - running.began
        event = ended(
            running.peer, running.loader, running.request, running.transfer, outcome, seconds
        )
        record(self._log, event)

    def _forget(self, running: _Running) -> None:
        if self._running.get(running.key) is running:
            del self._running[running.key]
            self._offload.crowded = len(self._running) > FEW
        self._peers[running.host] -= 1
        if not self._peers[running.host]:
            del self._peers[running.host]
        if not self._running:
            self._found.clear()
            if self._ticking.running:
                self._ticking.stop()
            waiting, self._idle = self._idle, []
            for each in waiting:
                each.callback(None)

    def _write(self, request: WriteRequest, arrival: Arrival) -> None:
        barred = self._barred(arrival.peer[0])
        if barred is None:
            self._answer(arrival, Error(self._write_refusal, b"read-only"))
        code, _ = barred or ("read-only", "")
        self._say(arrival, code, "a write request", request)

    def _refuse(
        self, arrival: Arrival, code: str, reason: str, request: ReadRequest | None = None
    ) -> None:
        error = refusal(code)
        if error is not None:
            self._answer(arrival, error)
        self._say(arrival, code, reason, request)

    def _answer(self, arrival: Arrival, error: Error) -> None:
        """Say it from a port of its own, as any answer."""
        try:
            channel = self._network.connect(arrival, self._ports)
        except Unavailable:
            return
        try:
            channel.send(error.encode())
            self._sent()
        except OSError as e:
            self._log.debug("Nothing was sent: {reason}", reason=e)
        finally:
            channel.close()

    def _say(
        self,
        arrival: Arrival,
        code: str,
        reason: str,
        request: ReadRequest | WriteRequest | None = None,
    ) -> None:
        peer = arrival.peer[0], arrival.peer[1]
        self._refusals.say(peer, code, reason, request, self._monotonic())


def _answerable(host: str) -> bool:
    """Whether ``host``, as a socket wrote it, can be one machine's address."""
    if ":" in host:
        return not host.startswith("ff") and host != "::"
    return 0 < int(host.partition(".")[0]) < 224
