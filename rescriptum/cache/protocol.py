"""A body that goes to the disk: hashed and written by a worker, at the pace of the slower one."""

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

#: Bytes that a worker is given at least, that may wait for it, and that are few enough to go on.
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
        self, write: Write, workers: Workers, clock: IReactorTime, abort: Callable[[], None]
    ) -> None:
        """
        :param write: blocks; called in a worker, never twice at once.
        :param abort: ends the connection for good.
        """
        self._write = write
        self._workers = workers
        self._clock = clock
        self._abort = abort
        self._chunks: list[bytes] = []
        self._waiting = 0
        self._came = 0
        self._paused = False
        self._writing = False
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
        self._waiting += len(data)
        self._came += len(data)
        if self._waiting >= MOST and not self._paused:
            self._paused = True
            self._producer.pauseProducing()
        if self._waiting >= BATCH and not self._writing:
            self._hand_over()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._over = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        # Without a length only the digest knows whether that was all.
        if self._trouble is None and not reason.check(ResponseDone, PotentialDataLoss):
            self._trouble = Unavailable("the connection broke off")
        if not self._writing:
            self._go_on()

    @property
    def _producer(self) -> IPushProducer:
        return cast(IPushProducer, self.transport)  # of a response it is one, and little else

    def _hand_over(self) -> None:
        chunks, self._chunks = self._chunks, []
        self._writing = True
        work = self._workers.run(partial(self._write, chunks))
        size = sum(map(len, chunks))
        Deferred.fromCoroutine(work).addCallbacks(self._written, self._failed, (size,))

    def _written(self, _: None, size: int) -> None:
        self._writing = False
        self._waiting -= size
        if self._paused and self._waiting <= LEAST and not self._over:
            self._paused = False
            self._came += PACE  # it was we who held it up
            self._producer.resumeProducing()
        if not self._writing:  # resuming may have brought more
            self._go_on()

    def _failed(self, failure: Failure) -> None:
        self._writing = False
        self._chunks.clear()
        self._end(failure.value if isinstance(failure.value, Exception) else Unavailable("stopped"))
        if self._over:
            self._go_on()

    def _go_on(self) -> None:
        if self._chunks and (self._over or self._waiting >= BATCH):
            self._hand_over()
        elif self._over and not self.ended.called:
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
