"""Looking at something when one is told to, and now and then in any case."""

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import RescriptumError

Look = Callable[[frozenset[str] | None], Awaitable[float | None]]


class Watch:
    """
    Looks at something: at what it is told of at once, at everything now and then.

    One look at a time; whatever it is told of meanwhile is the next one's.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, what: str, every: float, look: Look) -> None:
        """
        :param what: is looked at, for the log.
        :param every: seconds between two looks at everything.
        :param look: is given the keys, or None for everything; it returns the seconds until it
            wants to look again, where that is sooner.
        """
        self._clock = clock
        self._what = what
        self._every = every
        self._look = look
        self._keys: set[str] = set()
        self._everything = False
        self._soon: IDelayedCall | None = None
        self._poll: IDelayedCall | None = None
        self._running: Deferred[None] | None = None
        self._on = False
        self._well = True
        #: When the last look succeeded, by the clock.
        self.seen_at = clock.seconds()

    def start(self) -> None:
        self._on = True
        self._all()

    async def stop(self) -> None:
        """No look begins any more; the one that is under way ends first."""
        self._on = False
        for each in (self._soon, self._poll):
            if each is not None and each.active():
                each.cancel()
        if self._running is not None:
            ended: Deferred[None] = Deferred()
            self._running.addBoth(lambda _: ended.callback(None))
            await ended

    def wake(self, key: str) -> None:
        """Something about ``key`` has changed."""
        self._keys.add(key)
        self._begin_soon()

    def _all(self) -> None:
        self._everything = True
        self._begin_soon()

    def _begin_soon(self) -> None:
        idle = self._running is None and (self._soon is None or not self._soon.active())
        if self._on and idle:
            self._soon = self._clock.callLater(0, self._begin)

    def _begin(self) -> None:
        keys = None if self._everything else frozenset(self._keys)
        self._keys, self._everything = set(), False
        if keys is None:
            self._again_in(self._every)
        running = Deferred.fromCoroutine(self._looked(keys))
        self._running = running
        running.addErrback(self._failed)
        running.addBoth(lambda _: self._ended())

    async def _looked(self, keys: frozenset[str] | None) -> None:
        again = await self._look(keys)
        self.seen_at = self._clock.seconds()
        if not self._well:
            self._well = True
            self._log.info("{what}: looked at again", what=self._what)
        poll = self._poll
        if again is not None and poll is not None and poll.active():
            left = poll.getTime() - self._clock.seconds()
            self._again_in(max(0.0, min(again, left)))  # a reactor that is late has not called it

    def _failed(self, failure: Failure) -> None:
        self._everything = True  # what was asked for is not forgotten: it is looked at by the poll
        if not failure.check(RescriptumError):
            self._log.failure("{what}: a look went wrong", failure, what=self._what)
        elif self._well:
            self._log.warn("{what}: {reason}", what=self._what, reason=str(failure.value))
        self._well = False

    def _ended(self) -> None:
        self._running = None
        if self._well and (self._keys or self._everything):
            self._begin_soon()

    def _again_in(self, seconds: float) -> None:
        if self._poll is not None and self._poll.active():
            self._poll.cancel()
        if self._on:
            self._poll = self._clock.callLater(seconds, self._all)
