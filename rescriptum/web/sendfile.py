"""A TCP transport that sends files without copying them: sendfile(2), driven by the socket."""

import errno
import fcntl
import os
import socket
import sys
import termios
from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet import tcp
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.main import CONNECTION_LOST

from ..errors import RescriptumError, Unavailable
from ..interfaces import Workers
from ..values import Extent
from .files import OpenFile
from .pages import fetch, resident

#: One call's worth, for many transfers and for a few; what all of them send in one turn of the
#: reactor is bounded, since TFTP's turn comes after it.
CHUNK = 256 * 1024
_LARGEST = 1 << 20
_TURN = 8 << 20
_MORE: int = getattr(socket, "MSG_MORE", 0)
#: What the file did, not the socket.
_OF_THE_FILE = (errno.EIO, errno.EINVAL, errno.EOVERFLOW, errno.ESTALE, errno.EBADF, errno.ENOMEM)
_BUSY_RETRY = 0.02


def chunk_for(transfers: int) -> int:
    """:returns: bytes that each of so many transfers sends in a turn: 200 us for the largest."""
    return max(CHUNK, min(_LARGEST, _TURN // max(1, transfers)))


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
    """Listens for such connections."""

    transport = SendfileServer


class Sendfile:
    """
    One file, or pieces of it, on its way out of a :class:`SendfileServer`.

    What holds it back is the socket's buffer alone: nothing of the file is in this process.

    :ivar sent: bytes that the kernel has taken.
    """

    def __init__(
        self,
        transport: SendfileServer,
        file: OpenFile,
        spans: Sequence[Extent],
        workers: Workers,
        done: Callable[[str], None],
        chunk: int = CHUNK,
        sent: int = 0,
    ) -> None:
        """
        :param file: released when the transfer is over.
        :param done: called once, unless the connection is lost first: with nothing, or with why
            the file could not be sent.
        :param sent: bytes that left before it.
        """
        self.sent = sent
        self._transport = transport
        self._file = file
        self._workers = workers
        self._done = done
        self._chunk = chunk
        self._spans = [span for span in reversed(spans) if span.length]
        self._at = self._left = 0
        self._warm = False
        self._fetching = False
        self._retry: IDelayedCall | None = None
        self._over = False

    def start(self) -> None:
        """Send the first of it in this turn, if nothing is before it."""
        transport = self._transport
        transport.pump = self.pump
        if not transport.kept and self.pump() is not None:
            transport.startWriting()  # the reactor meets the error again, and acts on it

    def stop(self) -> None:
        """The connection has gone."""
        if not self._over:
            self._over = True
            self._transport.pump = None
            if self._retry is not None:
                self._retry.cancel()
                self._fetching = False
            if not self._fetching:  # else by the thread's end: never under a thread that reads
                self._file.release()

    def pump(self) -> BaseException | None:
        """Send one chunk."""
        if not self._left:
            span = self._spans.pop()
            self._at, self._left = span.offset, span.length
        count = min(self._left, self._chunk)
        if self._warm:
            self._warm = False  # it was just read; asking again could go on for ever
        elif not resident(self._file.fd, self._at, count):
            self._fetch(count)
            return None
        try:
            sent = os.sendfile(self._transport.socket.fileno(), self._file.fd, self._at, count)
        except (BlockingIOError, InterruptedError):
            self._transport.startWriting()
            return None
        except OSError as e:
            if e.errno not in _OF_THE_FILE:
                return CONNECTION_LOST
            self._end(f"reading failed: {e.strerror}")
            return None
        if not sent:
            self._end("the file is shorter than it was")
            return None
        self.sent += sent
        self._at += sent
        self._left -= sent
        if self._left or self._spans:
            self._transport.startWriting()
        else:
            self._end("")
        return None

    def _end(self, reason: str) -> None:
        self.stop()
        self._done(reason)

    def _fetch(self, count: int) -> None:
        self._fetching = True
        self._transport.stopWriting()
        work = partial(fetch, self._file.fd, self._at, count)
        fetched = Deferred.fromCoroutine(self._workers.run(work))
        fetched.addCallbacks(lambda _: self._fetched(""), lambda f: self._unfetched(f.value))

    def _unfetched(self, error: BaseException) -> None:
        if isinstance(error, Unavailable):  # all threads are busy: soon
            clock = IReactorTime(self._transport.reactor)
            self._retry = clock.callLater(_BUSY_RETRY, self._fetched, "", False)
        elif isinstance(error, OSError | RescriptumError):
            self._fetched(f"reading failed: {error}")
        else:
            raise error

    def _fetched(self, reason: str, warm: bool = True) -> None:
        self._fetching = False
        self._retry = None
        if self._over:
            self._file.release()
        elif reason:
            self._end(reason)
        else:
            self._warm = warm
            self._transport.startWriting()
