"""A named, bounded pool of threads: how blocking work leaves the reactor."""

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from ..errors import Unavailable

_T = TypeVar("_T")


class WorkerPool:
    """
    Satisfies :class:`rescriptum.interfaces.Workers`.

    :ivar waiting: how much work may be queued beside what is running; more is refused, since a
        queue without a bound only hides a disk that does not answer.
    """

    def __init__(
        self, reactor: IReactorFromThreads, name: str, threads: int, waiting: int = 1024
    ) -> None:
        self._reactor = reactor
        self._pool = ThreadPool(threads, threads, name)
        self._most = threads + waiting
        self._held = 0

    def start(self) -> None:
        self._pool.start()

    def stop(self) -> None:
        """Let running work end and its threads go; blocks for as long as that takes."""
        self._pool.stop()

    async def run(self, work: Callable[[], _T]) -> _T:
        """
        :returns: what ``work`` returned in a thread; its exception is raised here.
        :raises Unavailable: when too much is waiting already.
        """
        if self._held >= self._most:
            raise Unavailable(f"{self._pool.name}: {self._held} pieces of work are waiting")
        done: Deferred[_T] = Deferred()

        def finished(success: bool, result: _T | Failure) -> None:
            self._reactor.callFromThread(conclude, result)

        def conclude(result: _T | Failure) -> None:
            self._held -= 1
            if not done.called:  # else whoever asked has gone
                done.callback(result) if not isinstance(result, Failure) else done.errback(result)

        self._held += 1
        self._pool.callInThreadWithCallback(finished, work)
        return await done
