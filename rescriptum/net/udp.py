"""
UDP sockets that know where a datagram arrived, and answer from there.

A wildcard socket's answer leaves from whatever address the kernel prefers, and clients drop what
comes from elsewhere (W131): so the address that was asked is read with each datagram, by
``IP_PKTINFO`` or ``IPV6_RECVPKTINFO``, and whoever answers binds to it.
"""

import errno
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from itertools import chain

from attrs import frozen
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..errors import Unavailable
from ..values import Listen
from .readiness import Readiness, Ready, readiness

#: Linux's numbers; Python learnt their names late or never.
IP_PKTINFO, IP_MTU, IPV6_MTU, UDP_SEGMENT, SO_RCVBUFFORCE = 8, 14, 24, 103, 33
LINUX = sys.platform == "linux"

#: Datagrams that are taken before the rest of the reactor gets its turn.
BATCH = 64
RECEIVE_BUFFER, SEND_BUFFER = 4 << 20, 1 << 20
#: Bytes a packet may have where the system does not tell.
ETHERNET_MTU = 1500

#: As the socket module has it: two parts for IPv4, four for IPv6.
SocketAddress = tuple[str, int] | tuple[str, int, int, int]
Buffer = bytes | memoryview


@frozen
class Arrival:
    """
    A datagram and the way it came.

    :ivar peer: who sent it.
    :ivar local: the address that was asked; empty where the system does not tell.
    :ivar interface: its index, or 0.
    :ivar unicast: whether it was sent to this host alone (W131b).
    """

    datagram: bytes
    peer: SocketAddress
    local: str
    interface: int = 0
    unicast: bool = True

    @property
    def version(self) -> int:
        """Of IP: 4 or 6."""
        return 4 if len(self.peer) == 2 else 6


Received = Callable[[Arrival], None]


@implementer(IReadDescriptor)
class UDPListener:
    """
    A bound socket that takes datagrams from anyone.

    :ivar host: where it is bound; ``port`` likewise.
    """

    _log = Logger()

    def __init__(self, reactor: IReactorFDSet, at: Listen, received: Received, size: int) -> None:
        self._reactor = reactor
        self._received = received
        self._size = size
        self._socket = _bound(at)
        self.host, self.port = self._socket.getsockname()[:2]
        self._wildcard = ip_address(self.host).is_unspecified
        reactor.addReader(self)

    def fileno(self) -> int:
        return self._socket.fileno()

    def logPrefix(self) -> str:
        return "udp"

    def connectionLost(self, reason: Failure) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is called after this."""
        if self._socket.fileno() != -1:
            self._reactor.removeReader(self)
            self._socket.close()

    def doRead(self) -> None:
        for _ in range(BATCH):
            try:
                datagram, ancillary, _, peer = self._socket.recvmsg(self._size, 128)
            except OSError:
                return  # nothing left, or an error that an earlier answer met
            try:
                self._received(self._arrival(datagram, ancillary, peer))
            except Exception:  # noqa: BLE001 - the next datagram is somebody else's
                self._log.failure("Taking a datagram")
            if self._socket.fileno() == -1:
                return

    def _arrival(
        self, datagram: bytes, ancillary: list[tuple[int, int, bytes]], peer: SocketAddress
    ) -> Arrival:
        for level, kind, data in ancillary:
            if level == socket.IPPROTO_IP and kind == IP_PKTINFO:
                index, local, asked = struct.unpack_from("=I4s4s", data)
                # They differ where it was sent to more than this host.
                return Arrival(datagram, peer, socket.inet_ntoa(local), index, local == asked)
            if level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO:
                asked, index = struct.unpack_from("=16sI", data)
                address = socket.inet_ntop(socket.AF_INET6, asked)
                return Arrival(datagram, peer, address, index, asked[0] != 0xFF)
        return Arrival(datagram, peer, "" if self._wildcard else self.host)


def _bound(at: Listen) -> socket.socket:
    v6 = ":" in at.host
    sock = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if v6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        elif LINUX:
            sock.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        if LINUX:
            with suppress(OSError):  # past the system's limit, where we may
                sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        sock.bind((at.host, at.port))
    except BaseException:
        sock.close()
        raise
    return sock


class UDPChannel:
    """
    A socket that is connected to one peer: the kernel drops what others send to it, and tells
    when the peer's port is closed.

    :ivar recv: as of a socket that does not block; ``send`` likewise.
    :ivar mtu: bytes a packet to the peer may have.
    """

    __slots__ = ("_readiness", "_socket", "mtu", "recv", "send")

    def __init__(self, sock: socket.socket, version: int, watcher: Readiness) -> None:
        self._socket = sock
        self._readiness = watcher
        self.recv: Callable[[int], bytes] = sock.recv
        self.send: Callable[[Buffer], int] = sock.send
        self.mtu = _mtu(sock, version)

    def watch(self, ready: Ready, broken: Ready) -> None:
        """:param ready: called while there is something to receive."""
        self._readiness.watch(self._socket.fileno(), ready, broken)

    def segment(self, size: int) -> None:
        """
        Have the kernel cut what is sent into datagrams of ``size`` bytes; 0: no more.

        :raises OSError: where it cannot.
        """
        if not LINUX:
            raise OSError(errno.ENOPROTOOPT, "no segmentation offload")
        self._socket.setsockopt(socket.SOL_UDP, UDP_SEGMENT, size)

    def close(self) -> None:
        """Nothing is called after this."""
        if self._socket.fileno() != -1:
            self._readiness.unwatch(self._socket.fileno())
            self._socket.close()


def _mtu(sock: socket.socket, version: int) -> int:
    if not LINUX:
        return ETHERNET_MTU
    if version == 6:
        return sock.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)
    return sock.getsockopt(socket.IPPROTO_IP, IP_MTU)


class UDP:
    """The system's sockets."""

    def __init__(
        self,
        reactor: IReactorFDSet,
        monotonic: Callable[[], float],
        *,
        nested: bool = True,
        longest: int = 1024,
    ) -> None:
        """
        :param nested: False keeps channels out of a private epoll.
        :param longest: bytes of a datagram that a listener takes; the rest is cut off. RFC 2347
            allows a request of 512.
        """
        self._reactor = reactor
        self._readiness = readiness(reactor, monotonic, nested=nested)
        self._longest = longest
        self._turn = 0

    def listen(self, at: Listen, received: Received) -> UDPListener:
        """:raises OSError: when it cannot be bound."""
        return UDPListener(self._reactor, at, received, self._longest)

    def connect(self, arrival: Arrival, ports: tuple[int, int] | None) -> UDPChannel:
        """
        A socket bound to the address that was asked, connected to the one that asked.

        :param ports: the first and the last that may be used; None: any.
        :raises Unavailable: when none is free, or the system has no socket left.
        """
        family = socket.AF_INET if arrival.version == 4 else socket.AF_INET6
        try:
            sock = socket.socket(family, socket.SOCK_DGRAM)
        except OSError as e:  # no more descriptors: some are given back soon
            raise Unavailable(f"no socket: {e.strerror}") from e
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            self._bind(sock, arrival, ports)
            sock.connect(arrival.peer)
            with suppress(BlockingIOError):
                for _ in range(BATCH):  # what strangers sent before it was connected
                    sock.recv(1)
            return UDPChannel(sock, arrival.version, self._readiness)
        except OSError as e:
            sock.close()
            raise Unavailable(f"no socket: {e.strerror}") from e
        except BaseException:
            sock.close()
            raise

    def flush(self) -> None:
        """Deal with everything that channels can receive already."""
        self._readiness.flush()

    def _bind(self, sock: socket.socket, arrival: Arrival, ports: tuple[int, int] | None) -> None:
        for port in self._candidates(ports):
            try:
                sock.bind(self._address(arrival, port))
            except OSError as e:
                if e.errno != errno.EADDRINUSE:
                    raise
            else:
                return
        raise Unavailable(f"no port is free in {ports}")

    def _candidates(self, ports: tuple[int, int] | None) -> Iterable[int]:
        """Each port in turn, so that one is not used again at once: late datagrams find nobody."""
        if ports is None:
            return (0,)
        first, last = ports
        start = first + self._turn % (last - first + 1)
        self._turn += 1
        return chain(range(start, last + 1), range(first, start))

    def _address(self, arrival: Arrival, port: int) -> SocketAddress:
        if arrival.version == 4:
            return (arrival.local, port)
        scope = arrival.peer[3] if len(arrival.peer) == 4 else 0  # a link-local one has no route
        return (arrival.local, port, 0, scope)
