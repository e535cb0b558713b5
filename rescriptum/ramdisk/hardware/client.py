"""Listens for the neighbours of network interfaces: a socket on each, for a while."""

import socket
import struct
from collections.abc import Callable, Sequence
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFDSet, IReactorTime, IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

from ...errors import Malformed
from .lldp import ETHERTYPE, GROUPS, LONGEST, Neighbour, parsed

#: Frames of one interface that are looked at: what is no LLDP may come without end.
FRAMES: Final = 64
#: linux/if_packet.h.
_SOL_PACKET, _ADD_MEMBERSHIP, _MULTICAST = 263, 1, 0


def opened(interface: str) -> socket.socket:
    """:returns: LLDP frames of one interface. :raises OSError: without leave, or without it."""
    # Nothing comes before it is bound: of no other interface, that is.
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        sock.bind((interface, ETHERTYPE))
        index = socket.if_nametoindex(interface)
        for group in GROUPS:
            wanted = struct.pack("iHH8s", index, _MULTICAST, len(group), group)
            sock.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, wanted)
    except BaseException:
        sock.close()
        raise
    return sock


class Listening:
    """
    What is heard of neighbours. They speak every 30 seconds: it ends as soon as each interface has
    one, or its time is over.
    """

    def __init__(
        self,
        reactor: IReactorFDSet,
        clock: IReactorTime,
        open: Callable[[str], socket.socket] = opened,
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._open = open

    async def heard(
        self, interfaces: Sequence[str], seconds: float
    ) -> tuple[dict[str, Neighbour], list[str]]:
        """
        :returns: by interface; and why one could not be listened to. Cancelled, it listens no more.
        """
        found: dict[str, Neighbour] = {}
        warnings: list[str] = []
        ears: dict[str, _Ear] = {}
        done: Deferred[None] = Deferred()

        def ended(name: str, neighbour: Neighbour | None) -> None:
            if neighbour is not None:
                found[name] = neighbour
            ears.pop(name).close()
            if not ears and not done.called:
                done.callback(None)

        try:
            for name in interfaces:
                try:
                    sock = self._open(name)
                except OSError as e:
                    warnings.append(f"{name}: no neighbours: {e.strerror}")
                else:
                    ears[name] = _Ear(self._reactor, name, sock, ended)
            if ears:
                timer = self._clock.callLater(seconds, done.callback, None)
                try:
                    await done
                finally:
                    if timer.active():
                        timer.cancel()
        finally:
            for ear in ears.values():
                ear.close()
        return found, warnings


@implementer(IReadDescriptor)
class _Ear:
    def __init__(
        self,
        reactor: IReactorFDSet,
        name: str,
        sock: socket.socket,
        ended: Callable[[str, Neighbour | None], None],
    ) -> None:
        self._reactor = reactor
        self._name = name
        self._sock = sock
        self._ended = ended
        self._frames = 0
        reactor.addReader(self)

    def fileno(self) -> int:
        return self._sock.fileno()

    def logPrefix(self) -> str:
        return self._name

    def doRead(self) -> None:
        """One frame in each turn of the reactor."""
        neighbour = None
        try:
            frame = self._sock.recv(LONGEST + 1)
        except BlockingIOError:
            return
        except OSError:  # the interface is gone, or down
            self._ended(self._name, None)
            return
        self._frames += 1
        try:
            neighbour = parsed(frame)
        except Malformed:
            if self._frames < FRAMES:
                return
        self._ended(self._name, neighbour)

    def connectionLost(self, reason: Failure) -> None:
        """The reactor ends."""
        self.close()

    def close(self) -> None:
        if self._sock.fileno() >= 0:
            self._reactor.removeReader(self)
            self._sock.close()
