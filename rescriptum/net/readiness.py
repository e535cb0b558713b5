"""
Many short-lived sockets as one reader of the reactor.

An epoll descriptor is itself readable when one of its own is, so a private epoll with all
sockets in it takes the reactor's own machinery out of each datagram. Where there is no epoll,
each socket is a reader by itself.
"""

import select
from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

#: Seconds after which the rest of the reactor gets its turn.
SLICE = 0.002
#: Empty polls, a few microseconds in all, before the reactor gets to sleep: what makes lockstep
#: fast where the next datagram is near. It is near when of the last wake-ups, so many, one came
#: within so many seconds of the last datagram; on a network it is not, and polling is in vain.
SPINS, WAKEUPS, NEAR = 20, 64, 40e-6

Ready = Callable[[], None]


class Readiness(Protocol):
    """Calls back when a descriptor can be read."""

    def watch(self, fd: int, ready: Ready, broken: Ready) -> None:
        """:param broken: called when ``ready`` raised, after the failure was logged."""

    def unwatch(self, fd: int) -> None:
        """No call of ``ready`` comes after this."""

    def flush(self) -> None:
        """Deal with everything that can be read already."""


@implementer(IReadDescriptor)
class Nest:
    """A private epoll; level-triggered, so that whoever reads one datagram a call misses none."""

    _log = Logger()

    def __init__(self, reactor: IReactorFDSet, monotonic: Callable[[], float]) -> None:
        self._reactor = reactor
        self._monotonic = monotonic
        self._epoll: select.epoll | None = None
        self._ready: dict[int, Ready] = {}
        self._broken: dict[int, Ready] = {}
        self._near = True
        self._wakeups = 0
        self._shortest = NEAR
        self._last = 0.0

    def watch(self, fd: int, ready: Ready, broken: Ready) -> None:
        if self._epoll is None:
            self._epoll = select.epoll()
            self._reactor.addReader(self)
        self._ready[fd] = ready
        self._broken[fd] = broken
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        if self._ready.pop(fd, None) is None or self._epoll is None:
            return
        del self._broken[fd]
        self._epoll.unregister(fd)
        if not self._ready:
            self._reactor.removeReader(self)
            self._epoll.close()
            self._epoll = None

    def fileno(self) -> int:
        return -1 if self._epoll is None else self._epoll.fileno()

    def logPrefix(self) -> str:
        return "nest"

    def connectionLost(self, reason: Failure) -> None:
        """Nothing is connected: the reactor says this of all its readers when it ends."""

    def doRead(self) -> None:
        self._shortest = min(self._shortest, self._monotonic() - self._last)
        if self._turn(SPINS if self._near else 0):
            self._shortest = 0.0
        self._wakeups += 1
        if self._wakeups == WAKEUPS:
            self._near = self._shortest < NEAR
            self._wakeups, self._shortest = 0, NEAR

    def flush(self) -> None:
        self._turn(0)

    def _turn(self, spins: int) -> bool:
        """:returns: whether an empty poll was followed by one that was not."""
        gained = False
        left = spins
        known = self._ready
        deadline = self._monotonic() + SLICE
        while self._epoll is not None:
            events = self._epoll.poll(0, 256)
            if events:
                gained = gained or left < spins
                left = spins
                for fd, _ in events:
                    if fd not in known:
                        continue  # closed by one before it
                    try:
                        known[fd]()
                    except Exception:  # noqa: BLE001 - one socket's fault stays its own
                        self._log.failure("Reading a datagram")
                        self._give_up(fd)
                self._last = self._monotonic()
                if self._last > deadline:
                    break
            elif left:
                left -= 1
            else:
                break
        return gained

    def _give_up(self, fd: int) -> None:
        broken = self._broken.get(fd)
        if broken is not None:
            broken()


@implementer(IReadDescriptor)
class _Reader:
    """One descriptor as the reactor wants it."""

    _log = Logger()

    def __init__(self, fd: int, ready: Ready, broken: Ready) -> None:
        self._fd = fd
        self._ready = ready
        self._broken = broken

    def fileno(self) -> int:
        return self._fd

    def logPrefix(self) -> str:
        return "reader"

    def connectionLost(self, reason: Failure) -> None:
        """Nothing is connected: the reactor says this of all its readers when it ends."""

    def doRead(self) -> None:
        try:
            self._ready()
        except Exception:  # noqa: BLE001 - as above
            self._log.failure("Reading a datagram")
            self._broken()


class Readers:
    """The same without epoll: one reader a descriptor."""

    def __init__(self, reactor: IReactorFDSet) -> None:
        self._reactor = reactor
        self._readers: dict[int, _Reader] = {}

    def watch(self, fd: int, ready: Ready, broken: Ready) -> None:
        reader = self._readers[fd] = _Reader(fd, ready, broken)
        self._reactor.addReader(reader)

    def unwatch(self, fd: int) -> None:
        reader = self._readers.pop(fd, None)
        if reader is not None:
            self._reactor.removeReader(reader)

    def flush(self) -> None:
        if not self._readers:
            return
        readable, _, _ = select.select(list(self._readers), [], [], 0)
        for fd in readable:
            if fd in self._readers:
                self._readers[fd].doRead()


def readiness(
    reactor: IReactorFDSet, monotonic: Callable[[], float], *, nested: bool = True
) -> Readiness:
    """:param nested: False never uses epoll."""
    if nested and hasattr(select, "epoll"):
        return Nest(reactor, monotonic)
    return Readers(reactor)
