"""A TCP transport that writes straight to its socket, and sends files from there."""

import fcntl
import os
import select
import socket
import sys
import termios
from collections.abc import Callable

from twisted.internet import tcp
from twisted.internet.main import CONNECTION_LOST
from twisted.python.failure import Failure

from .pages import resident
from .poller import Poller

_MORE: int = getattr(socket, "MSG_MORE", 0)


class SendfileServer(tcp.Server):
    """
    A connection that writes at once what its socket takes, and keeps the rest itself.

    :ivar pump: called when the socket takes bytes and none are kept; it returns what
        ``doWrite`` does.
    :ivar drained: called when bytes that were kept have gone.
    """

    bufferSize = 16 * 1024
    pump: Callable[[], BaseException | None] | None = None
    drained: Callable[[], None] | None = None
    server: "SendfilePort"
    _kept = b""

    def send(self, data: bytes, more: bool = False) -> bool:
        """
        :param more: whether a file follows at once: its beginning goes out with ``data``.
        :returns: whether all of it is with the kernel.
        """
        if self._kept:
            self._kept += data
            return False
        try:
            count = self.socket.send(data, _MORE if more else 0)
        except BlockingIOError:
            count = 0
        except OSError:
            count = 0  # doWrite meets the error again, and tells the reactor
        if count == len(data):
            return True
        self._kept = data[count:]
        self.startWriting()
        return False

    def send_now(self, fd: int, offset: int, length: int) -> int:
        """:returns: how many bytes of a file went out at once, none where that has to wait."""
        if not resident(fd, offset, length):
            return 0
        try:
            return os.sendfile(self.socket.fileno(), fd, offset, length)
        except OSError:
            return 0  # a transfer meets the error again, and tells what it means

    @property
    def kept(self) -> int:
        """Bytes that the socket has not taken yet."""
        return len(self._kept)

    def unacknowledged(self) -> int:
        """Bytes that the kernel holds and the client has not confirmed; -1 if it cannot say."""
        try:
            answer = fcntl.ioctl(self.socket.fileno(), termios.TIOCOUTQ, b"\0\0\0\0")
        except OSError:
            return -1
        return int.from_bytes(answer, sys.byteorder)

    def startReading(self) -> None:
        poller = self.server.poller
        if poller is None:
            super().startReading()
        else:
            poller.want(self, select.EPOLLIN, True)

    def stopReading(self) -> None:
        poller = self.server.poller
        if poller is None:
            super().stopReading()
        else:
            poller.want(self, select.EPOLLIN, False)

    def startWriting(self) -> None:
        poller = self.server.poller
        if poller is None:
            super().startWriting()
        else:
            poller.want(self, select.EPOLLOUT, True)

    def stopWriting(self) -> None:
        poller = self.server.poller
        if poller is None:
            super().stopWriting()
        else:
            poller.want(self, select.EPOLLOUT, False)

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        if self.server.poller is not None:
            self.server.poller.gone(self)

    def doWrite(self) -> BaseException | None:  # type: ignore[override]
        if self._kept:
            try:
                count = self.socket.send(self._kept)
            except BlockingIOError:
                return None
            except OSError:
                return CONNECTION_LOST
            self._kept = self._kept[count:]
            if self._kept:
                return None
            if self.pump is None and self.drained is not None:
                self.drained()
        if self.pump is not None:
            result = self.pump()
            if result is not None:
                return result
        if self.pump is None and not self._kept:
            # Stops writing, and closes where that was asked for.
            return super().doWrite()  # type: ignore[no-any-return]
        return None


class SendfilePort(tcp.Port):
    """
    Listens for such connections.

    :ivar poller: who watches them; None where only the reactor can.
    """

    transport = SendfileServer
    poller: Poller | None = None

    def createInternetSocket(self) -> socket.socket:
        made: socket.socket = super().createInternetSocket()
        if made.family == socket.AF_INET6:
            # ``[::]`` is every address of this host, whatever the system's own default is.
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return made

    def startListening(self) -> None:
        if hasattr(select, "epoll"):
            self.poller = Poller(self.reactor)
        try:
            super().startListening()
        except BaseException:
            self._unwatched()
            raise

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        self._unwatched()

    def _unwatched(self) -> None:
        if self.poller is not None:
            self.poller.close()
