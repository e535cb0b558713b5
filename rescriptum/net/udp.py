"""
UDP sockets that know where a datagram arrived, and answer from there.

A wildcard socket's answer leaves from whatever address the kernel prefers, and clients drop what
comes from elsewhere (W131): so the address that was asked is read with each datagram, by
``IP_PKTINFO`` or ``IPV6_RECVPKTINFO``, and whoever answers binds to it.
"""

import errno
import select
import socket
import struct
import sys
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from itertools import chain

from attrs import define, frozen
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..errors import Unavailable
from ..values import Listen
from .readiness import Readiness, Ready, readiness

#: Linux's numbers; Python learnt their names late or never.
IP_PKTINFO, IP_MTU, IPV6_MTU, UDP_SEGMENT, SO_RCVBUFFORCE = 8, 14, 24, 103, 33
SO_ATTACH_FILTER = 26
LINUX = sys.platform == "linux"

#: Index of the interface, address of ours, address that it was sent to.
_PKTINFO = struct.Struct("=I4s4s")

#: Of classic BPF: "ld [k]", "jeq #k", "ret #k", and where it finds the IP header.
_LOAD_WORD, _IF_EQUAL, _TAKE, _FROM_IP_HEADER = 0x20, 0x15, 0x06, 0xFFF00000

#: Datagrams that are taken before the rest of the reactor gets its turn.
BATCH = 64
RECEIVE_BUFFER, SEND_BUFFER = 4 << 20, 1 << 20
#: Bytes a packet may have where the system does not tell.
ETHERNET_MTU = 1500

#: As the socket module has it: two parts for IPv4, four for IPv6.
SocketAddress = tuple[str, int] | tuple[str, int, int, int]
Buffer = bytes | memoryview


# Not frozen, which takes thrice the time: there are tens of thousands a second.
@define
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
#: What ``recvmsg`` returns.
_Message = tuple[bytes, list[tuple[int, int, bytes]], int, SocketAddress]


@frozen
class Way:
    """
    What a listener's socket may do beside listening.

    :ivar device: the only interface that it hears and is heard on; None: all.
    :ivar everybody: whether it sends to broadcast addresses.
    :ivar shared: whether others may be bound there too.
    :ivar deaf_to: an IPv4 address whose datagrams the kernel keeps away: what we send to everybody
        comes back to us.
    :ivar drained: called when there is nothing more to receive for now.
    :ivar nested: whether it is in the private epoll: to be had again at once, where the next
        datagram is near.
    """

    device: str | None = None
    everybody: bool = False
    shared: bool = False
    deaf_to: str = ""
    drained: Callable[[], None] = lambda: None
    nested: bool = False


ANYWHERE = Way()


@implementer(IReadDescriptor)
class UDPListener:
    """
    A bound socket that takes datagrams from anyone.

    :ivar host: where it is bound; ``port`` likewise.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: IReactorFDSet,
        at: Listen,
        received: Received,
        size: int,
        way: Way,
        watcher: Readiness,
    ) -> None:
        """:param watcher: what a nested one is read by."""
        self._reactor = reactor
        self._watcher = watcher if way.nested else None
        self._received = received
        self._drained = way.drained
        self._size = size
        self._socket = _bound(at, way)
        self._sendmsg = self._socket.sendmsg
        self._more = select.poll()
        self._more.register(self._socket, select.POLLIN)
        self.host, self.port = self._socket.getsockname()[:2]
        self._closed = False
        self._stormy = False
        # Where the system does not tell.
        self._unknown = "" if ip_address(self.host).is_unspecified else self.host, 0, True
        if self._watcher is None:
            reactor.addReader(self)
        else:
            self._watcher.watch(self.fileno(), self.doRead, self.close)

    def fileno(self) -> int:
        return self._socket.fileno()

    def logPrefix(self) -> str:
        return "udp"

    def connectionLost(self, reason: Failure) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is called after this."""
        if not self._closed:
            self._closed = True
            if self._watcher is None:
                self._reactor.removeReader(self)
            else:
                self._watcher.unwatch(self.fileno())
            self._socket.close()

    def send(
        self, datagram: Buffer, to: tuple[str, int], local: str = "", interface: int = 0
    ) -> None:
        """
        Answer somebody, over IPv4.

        :param local: the address of ours that it comes from; empty: the system's choice.
        :param interface: the index of the one that it leaves by; 0: the system's choice. Who sends
            to everybody has to say: a host without a default route has none to choose (W052).
        :raises OSError: when it does not leave.
        """
        self._sendmsg((datagram,), _ancillary(local, interface), 0, to)

    def doRead(self) -> None:
        # One that comes alone is answered at once. Of a storm, all that are there are taken before
        # the next is dealt with: to go back and forth between the kernel and our own work with
        # each of them takes half as much time again.
        taken = self._take(BATCH if self._stormy else 1)
        self._deal(taken)
        # To ask takes a fifth of what it takes to be refused.
        if not self._stormy and not self._closed and self._more.poll(0):
            taken = self._take(BATCH - 1)
            self._deal(taken)
        self._stormy = len(taken) > 1

    def _take(self, most: int) -> list[_Message]:
        recvmsg, size = self._socket.recvmsg, self._size
        taken: list[_Message] = []
        try:
            for _ in range(most):
                taken.append(recvmsg(size, 128))
        except OSError:
            pass  # nothing left, or an error that an earlier answer met
        return taken

    def _deal(self, taken: list[_Message]) -> None:
        received = self._received
        came, (local, interface, unicast) = None, self._unknown
        for datagram, ancillary, _, peer in taken:
            try:
                # Nothing but its destination is ever asked of the system beside a datagram; of a
                # storm they all have the same.
                if ancillary and ancillary[0][2] != came:
                    came = ancillary[0][2]
                    local, interface, unicast = _came(came)
                received(Arrival(datagram, peer, local, interface, unicast))
            except Exception:  # noqa: BLE001 - the next datagram is somebody else's
                self._log.failure("Taking a datagram")
            if self._closed:
                return
        if taken:
            try:
                self._drained()
            except Exception:  # noqa: BLE001 - as above
                self._log.failure("Answering datagrams")


@lru_cache(maxsize=256)
def _came(data: bytes) -> tuple[str, int, bool]:
    """:returns: of ``IP_PKTINFO`` or ``IPV6_PKTINFO``: address, interface, whether to us alone."""
    if len(data) == _PKTINFO.size:
        index, local, asked = _PKTINFO.unpack(data)
        # They differ where it was sent to more than this host.
        return socket.inet_ntoa(local), index, local == asked
    asked, index = struct.unpack_from("=16sI", data)
    return socket.inet_ntop(socket.AF_INET6, asked), index, asked[0] != 0xFF


@lru_cache(maxsize=64)
def _ancillary(local: str, interface: int) -> tuple[tuple[int, int, bytes], ...]:
    if not LINUX or not (local or interface):
        return ()
    source = socket.inet_aton(local or "0.0.0.0")
    return ((int(socket.IPPROTO_IP), IP_PKTINFO, _PKTINFO.pack(interface, source, bytes(4))),)


def _deafen(sock: socket.socket, source: bytes) -> None:
    """A filter of four instructions: load the sender's address; if it is that one, take 0 bytes."""
    steps = (
        (_LOAD_WORD, 0, 0, _FROM_IP_HEADER + 12),
        (_IF_EQUAL, 0, 1, int.from_bytes(source, "big")),
        (_TAKE, 0, 0, 0),
        (_TAKE, 0, 0, 0xFFFFFFFF),
    )
    program = array("B", b"".join(struct.pack("=HBBI", *each) for each in steps))
    address, _ = program.buffer_info()
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", len(steps), address))


def _bound(at: Listen, way: Way) -> socket.socket:
    v6 = ":" in at.host
    sock = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if v6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        elif LINUX:
            sock.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        if way.everybody:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if way.shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if way.deaf_to and LINUX:
            _deafen(sock, socket.inet_aton(way.deaf_to))
        if way.device is not None and LINUX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, way.device.encode() + b"\0")
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

    def listen(self, at: Listen, received: Received, way: Way = ANYWHERE) -> UDPListener:
        """:raises OSError: when it cannot be bound."""
        return UDPListener(self._reactor, at, received, self._longest, way, self._readiness)

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
