"""A body that goes to the disk: hashed and written in a thread, at the pace of the slower one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss

from ..errors import Unavailable
from ..interfaces import Workers

#: Bytes that the writer is given at least, that may wait for it, and that are few enough to go on.
BATCH, MOST, LEAST = 1 << 20, 16 << 20, 4 << 20
#: Seconds, and the bytes in them that a server is not to fall short of.
SILENCE, PACE = 30.0, 16 * 1024

Write = Callable[[Sequence[bytes]], None]


class Body(Protocol):
    """
    One answer's body. What has come is written also where it breaks off.

    :ivar ended: fires once, when nothing more is being written: with None for a whole body, and
        else with why it is none.
    """

    def __init__(
        self, write: Write, writer: Workers, clock: IReactorTime, abort: Callable[[], None]
    ) -> None:
        """
        :param write: blocks; once it has raised, it is to raise until the body has ended.
        :param writer: one thread, so that pieces are written in order, and one right after the
            other.
        :param abort: ends the connection for good.
        """
        self._write = write
        self._writer = writer
        self._clock = clock
        self._abort = abort
        self._chunks: list[bytes] = []
        self._gathered = 0  # bytes of them
        self._waiting = 0  # and of those that the writer has
        self._came = 0
        self._paused = False
        self._over = False
        self._trouble: Exception | None = None
        self._timer: IDelayedCall | None = None
        self.ended: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        self._timer = self._clock.callLater(SILENCE, self._look)

    def dataReceived(self, data: bytes) -> None:
        if self._trouble is not None:
            return
        self._chunks.append(data)
        self._gathered += len(data)
        self._came += len(data)
        if self._gathered >= BATCH:
            self._hand_over()
        if self._waiting >= MOST and not self._paused:
            self._paused = True
            self._producer.pauseProducing()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._over = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        # Without a length only the digest knows whether that was all.
        if self._trouble is None and not reason.check(ResponseDone, PotentialDataLoss):
            self._trouble = Unavailable("the connection broke off")
        if self._chunks:
            self._hand_over()
        self._look_whether_over()

    @property
    def _producer(self) -> IPushProducer:
        return cast(IPushProducer, self.transport)  # of a response it is one, and little else

    def _hand_over(self) -> None:
        chunks, self._chunks = self._chunks, []
        size, self._gathered = self._gathered, 0
        self._waiting += size
        work = self._writer.run(partial(self._write, chunks))
        writing = Deferred.fromCoroutine(work)
        writing.addErrback(self._failed).addCallback(self._written, size)

    def _written(self, _: None, size: int) -> None:
        self._waiting -= size
        if self._paused and self._waiting <= LEAST and not self._over:
            self._paused = False
            self._came += PACE  # it was we who held it up
            self._producer.resumeProducing()
        self._look_whether_over()

    def _failed(self, failure: Failure) -> None:
        self._chunks, self._gathered = [], 0
        self._end(failure.value if isinstance(failure.value, Exception) else Unavailable("stopped"))

    def _look_whether_over(self) -> None:
        if not self._over or self._waiting or self.ended.called:
            return
        if self._trouble is None:
            self.ended.callback(None)
        else:
            self.ended.errback(self._trouble)

    def _look(self) -> None:
        if not self._paused and self._came < PACE:
            self._end(Unavailable(f"less than {PACE // 1024} KiB in {SILENCE:g} seconds"))
            return
        self._came = 0
        self._timer = self._clock.callLater(SILENCE, self._look)

    def stop(self) -> None:
        """Take no more."""
        self._end(Unavailable("given up"))

    def _end(self, trouble: Exception) -> None:
        """Why it ends is what came first; :meth:`connectionLost` follows."""
        if self._trouble is None:
            self._trouble = trouble
        if not self._over:
            self._abort()
