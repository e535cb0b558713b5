"""A TFTP client, for checking servers: it asks exactly what firmware asks."""

from ipaddress import ip_address

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime, IReactorUDP, IUDPTransport
from twisted.internet.protocol import DatagramProtocol
from zope.interface import Interface

from ..errors import Unavailable
from .download import Download, Turn, Wanted
from .wire import MAX_BLKSIZE, Options

#: Seconds until a request or an acknowledgement is repeated.
REPEAT = 1.0


@frozen
class Fetched:
    """
    A whole file.

    :ivar options: what the server granted, as it wrote them; empty without an OACK.
    """

    data: bytes
    options: Options


@frozen
class Probe:
    """
    What a server says of a file before it sends it.

    :ivar size: in bytes; None where it does not say, or the file takes more than a block.
    :ivar blksize: granted, or 512.
    :ivar windowsize: granted, or 1.
    :ivar options: as the server wrote them; empty without an OACK.
    """

    size: int | None
    blksize: int
    windowsize: int
    options: Options


class DownloadProtocol(DatagramProtocol):
    """One read on a port of its own: ``Download`` decides, this performs."""

    noisy = False
    transport: IUDPTransport
    _timer: IDelayedCall | None = None

    def __init__(
        self, clock: IReactorTime, server: tuple[str, int], download: Download, timeout: float
    ) -> None:
        self._clock = clock
        self._server = server
        self._download = download
        self._timeout = timeout
        self._deadline = 0.0
        self._peer: tuple[str, int] | None = None
        self._over: Turn | None = None
        self.finished: Deferred[Download] = Deferred(lambda _: self._finish(Turn()))

    def startProtocol(self) -> None:
        self._postpone()
        self._send(self._download.last, self._server)

    def datagramReceived(self, datagram: bytes, addr: tuple[str, int]) -> None:
        # An IPv6 address comes with flow and scope behind.
        peer = (addr[0], addr[1])
        if self._over is not None or not self._is_server(peer):
            return
        self._peer = peer
        turn = self._download.received(datagram)
        if turn.send is not None:
            self._send(turn.send, peer)
        if turn.done or turn.failure is not None:
            self._finish(turn)
        elif turn.send is not None:
            self._postpone()

    def _is_server(self, peer: tuple[str, int]) -> bool:
        if self._peer is not None:
            return peer == self._peer
        return ip_address(peer[0]) == ip_address(self._server[0].partition("%")[0])

    def _send(self, datagram: bytes, peer: tuple[str, int]) -> None:
        try:
            self.transport.write(datagram, peer)
        except OSError as e:  # no route: silence would say less
            self._finish(Turn(failure=Unavailable(f"cannot send to {peer[0]}: {e.strerror}")))

    def _postpone(self) -> None:
        self._deadline = self._clock.seconds() + self._timeout
        self._repeat_later()

    def _repeat_later(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        left = self._deadline - self._clock.seconds()
        self._timer = self._clock.callLater(min(REPEAT, left), self._silence)

    def _silence(self) -> None:
        if self._clock.seconds() < self._deadline:
            self._send(self._download.silent(), self._peer or self._server)
            if self._over is None:
                self._repeat_later()
            return
        host, port = self._server
        reason = f"nothing answers at {host} port {port}"
        if self._download.started:
            reason = f"{host} fell silent"
        self._finish(Turn(failure=Unavailable(reason)))

    def _finish(self, turn: Turn) -> None:
        if self._over is None:
            self._over = turn
            self.transport.stopListening()

    def stopProtocol(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self._over is None or self.finished.called:
            return  # cancelled
        if self._over.failure is not None:
            self.finished.errback(self._over.failure)
        else:
            self.finished.callback(self._download)


async def fetch(
    reactor: Interface,
    host: str,
    port: int,
    name: bytes,
    *,
    blksize: int | None = None,
    windowsize: int | None = None,
    tsize: bool = False,
    limit_bytes: int,
    timeout: float,
) -> Fetched:
    """
    A file, whole.

    :param reactor: an ``IReactorUDP`` and ``IReactorTime``.
    :param host: an IP address.
    :param blksize: None asks without the option, as the oldest ROMs do; so does ``windowsize``.
    :param timeout: seconds of silence that end it.
    :raises RefusedByServer: with the server's own code and text.
    :raises TooLarge: past ``limit_bytes``.
    :raises Malformed: when it breaks the protocol.
    :raises Unavailable: on silence.
    """
    wanted = Wanted(name, blksize, windowsize, tsize, limit_bytes)
    download = await _run(reactor, host, port, Download(wanted), timeout)
    return Fetched(download.data, download.options or ())


async def probe(
    reactor: Interface,
    host: str,
    port: int,
    name: bytes,
    *,
    blksize: int | None = None,
    windowsize: int | None = None,
    tsize: bool = False,
    timeout: float,
) -> Probe:
    """
    Whether a file is there, and how it would come; it is ended politely, by an error.

    Raises what :func:`fetch` does.
    """
    wanted = Wanted(name, blksize, windowsize, tsize)
    found = await _run(reactor, host, port, Download(wanted, probing=True), timeout)
    return Probe(found.size, found.blksize, found.windowsize, found.options or ())


async def _run(
    reactor: Interface, host: str, port: int, download: Download, timeout: float
) -> Download:
    protocol = DownloadProtocol(IReactorTime(reactor), (host, port), download, timeout)
    any_address = "::" if ip_address(host.partition("%")[0]).version == 6 else ""
    longest = max(download.wanted.blksize or 0, MAX_BLKSIZE) + 4
    IReactorUDP(reactor).listenUDP(0, protocol, any_address, longest)
    return await protocol.finished
