"""The connections of one listener as a single reader of the reactor: epoll nests."""

import select

from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.internet.main import CONNECTION_DONE, CONNECTION_LOST
from twisted.internet.tcp import Server
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

#: Events of one turn: a few milliseconds. The reactor sees at once that there are more.
BATCH = 32
_GONE = Failure(CONNECTION_DONE)
_LOST = Failure(CONNECTION_LOST)


@implementer(IReadDescriptor)
class Poller:
    """
    Calls connections as the reactor would, at half the cost of an event.

    It is a reader of the reactor for as long as there is a connection.
    """

    _log = Logger()

    def __init__(self, reactor: IReactorFDSet) -> None:
        self._reactor = reactor
        self._epoll = select.epoll()
        self._connections: dict[int, Server] = {}
        self._wanted: dict[int, int] = {}
        # Beside those watched, those that want nothing for a while.
        self._alive: set[Server] = set()
        self._closing = False

    def want(self, connection: Server, event: int, wanted: bool) -> None:
        """
        :param event: ``EPOLLIN`` or ``EPOLLOUT``.
        :param wanted: whether ``connection`` is to be called for it from now on.
        """
        fd = connection.fileno()
        if fd < 0:
            return
        before = self._wanted.get(fd, 0)
        after = before | event if wanted else before & ~event
        if after == before:
            return
        if not before:
            self._alive.add(connection)
            if not self._connections:
                self._reactor.addReader(self)
            self._connections[fd] = connection
            self._epoll.register(fd, after)
        elif after:
            self._epoll.modify(fd, after)
        else:
            self._forget(fd)
            return
        self._wanted[fd] = after

    def _forget(self, fd: int) -> None:
        self._epoll.unregister(fd)
        del self._connections[fd], self._wanted[fd]
        if not self._connections:
            self._reactor.removeReader(self)

    def gone(self, connection: Server) -> None:
        """It is lost, and wants nothing any more."""
        self._alive.discard(connection)
        if self._closing:
            self.close()

    def close(self) -> None:
        """No new connections will come: the descriptor goes with the last of them."""
        self._closing = True
        if not self._alive:
            self._epoll.close()

    def fileno(self) -> int:
        return self._epoll.fileno()

    def doRead(self) -> None:
        """Call every connection that something happened to."""
        for fd, events in self._epoll.poll(0, BATCH):
            connection = self._connections.get(fd)
            if connection is None:
                continue  # an earlier one of this turn ended it
            try:
                why = self._call(connection, fd, events)
                if why is not None:
                    connection.connectionLost(_GONE if why is CONNECTION_DONE else _LOST)
            except Exception:  # noqa: BLE001 - it ends this connection, and no other
                self._log.failure("A connection failed")
                connection.abortConnection()

    def _call(self, connection: Server, fd: int, events: int) -> BaseException | None:
        why: BaseException | None = None
        if events & select.EPOLLIN:
            why = connection.doRead()
        if events & select.EPOLLOUT and why is None and fd in self._connections:
            why = connection.doWrite()
        if events & (select.EPOLLHUP | select.EPOLLERR) and not events & select.EPOLLIN:
            return CONNECTION_LOST
        return why

    def connectionLost(self, reason: Failure) -> None:
        """The reactor is going."""
        self._epoll.close()

    def logPrefix(self) -> str:
        return "web"
