"""Files on their way without being copied: sendfile(2), driven by the socket."""

import errno
import os
from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.main import CONNECTION_LOST
from twisted.python.failure import Failure

from ..errors import RescriptumError, Unavailable
from ..interfaces import Workers
from ..values import Extent
from .files import OpenFile
from .pages import AHEAD, fetch, read_ahead, resident
from .transport import SendfileServer

#: One call's worth, for many transfers and for a few; what all of them send in one turn of the
#: reactor is bounded, since TFTP's turn comes after it.
CHUNK = 256 * 1024
_LARGEST = 1 << 20
_TURN = 16 << 20
#: What the file did, not the socket.
_OF_THE_FILE = (errno.EIO, errno.EINVAL, errno.EOVERFLOW, errno.ESTALE, errno.EBADF, errno.ENOMEM)
#: Seconds between two looks whether the disk has delivered, and how many before a thread waits
#: for it: threads are for disks that sleep, each hand-over to one costs more than a look.
_LOOK = 0.002
_LOOKS = 100


def chunk_for(transfers: int) -> int:
    """:returns: bytes that each of so many transfers sends in a turn: 200 us for the largest."""
    return max(CHUNK, min(_LARGEST, _TURN // max(1, transfers)))


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
        self._ahead = Extent(0, 0)  # what the disk was asked for already
        self._looks = 0
        self._warm = False
        self._in_thread = False
        self._look: IDelayedCall | None = None
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
            if self._look is not None:
                self._look.cancel()
                self._look = None
            if not self._in_thread:  # else by the thread's end: never under one that reads
                self._file.release()

    def pump(self) -> BaseException | None:
        """Send one chunk."""
        if self._in_thread or self._look is not None:
            self._transport.stopWriting()
            return None
        if not self._left:
            span = self._spans.pop()
            self._at, self._left = span.offset, span.length
        count = min(self._left, self._chunk)
        if self._warm:
            self._warm = False  # it was just read; asking again could go on for ever
        elif not resident(self._file.fd, self._at, count):
            self._transport.stopWriting()
            self._ask_disk(count)
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

    def _ask_disk(self, count: int) -> None:
        """Go on when the next ``count`` bytes are in memory."""
        at, fd = self._at, self._file.fd
        ahead = self._ahead
        asked = ahead.offset <= at and at + count <= ahead.offset + ahead.length
        if asked and self._looks < _LOOKS:
            self._looks += 1
            clock = IReactorTime(self._transport.reactor)
            self._look = clock.callLater(_LOOK, self._go_on)
            return
        self._looks = 0
        if asked or self._left == count:
            self._run(partial(fetch, fd, at, count), warm=True)
        else:
            # No more than what will be sent: image readers ask for small pieces, all over it. The
            # disk is asked again at the half, so that it never runs out of work.
            length = min(self._left, AHEAD)
            self._ahead = Extent(at, length if length == self._left else length // 2)
            self._run(partial(read_ahead, fd, at, length), warm=False)

    def _run(self, work: Callable[[], None], warm: bool) -> None:
        self._in_thread = True
        done = Deferred.fromCoroutine(self._workers.run(work))
        done.addCallbacks(lambda _: self._back(warm), lambda failure: self._back(False, failure))

    def _back(self, warm: bool, failure: Failure | None = None) -> None:
        self._in_thread = False
        if self._over:
            self._file.release()
        elif failure is None or failure.check(Unavailable):  # threads are busy: looks will do
            self._warm = warm
            self._go_on()
        else:
            self._end(f"reading failed: {failure.getErrorMessage()}")
            failure.trap(OSError, RescriptumError)

    def _go_on(self) -> None:
        self._look = None
        self._transport.startWriting()
