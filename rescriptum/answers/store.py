"""Keeps the answer set of a running server fresh, and lets it be changed."""

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import Unavailable
from ..interfaces import Workers
from ..values import Problem
from .answerset import AnswerSet
from .stores.store import Store

#: Seconds for which a set is believed; a change in the store is served at most this much later.
MAX_AGE = 1.0
#: Seconds after which a set is compared with the whole store although nothing was told.
VERIFY = 30.0
#: How many times as long as a comparison takes it is until the next one: a large set takes a thread
#: more than a second, in which requests share the interpreter with it.
REST = 100
#: Changes that may wait for their turn.
MAX_CHANGES = 64
#: Problems that are logged one by one; a thousand at once say no more than their number.
_SHOWN = 50

_T = TypeVar("_T")


class Watcher(Protocol):
    """What tells that a store has changed, so that nobody has to look each second."""

    @property
    def complete(self) -> bool:
        """Whether nothing can change that is not told."""

    def start(self, changed: Callable[[], None]) -> None:
        """:param changed: called once each time, until :meth:`resume`."""

    def doubt(self) -> None:
        """In a thread, before the store is read: what was told is not to be relied on."""

    def resume(self) -> None:
        """The store has been read."""

    def stop(self) -> None:
        """Nobody reads the store any more."""


class AnswerStore:
    """
    The answer set of a running server: read in a thread, and again when a request finds it older
    than ``MAX_AGE``. Requests that find that together wait for one reading. With a watcher that
    tells of every change the set does not age: it is read when there is something new.

    The store itself is only touched in a thread, by one call at a time.
    """

    _log = Logger()

    def __init__(
        self,
        store: Store,
        workers: Workers,
        clock: IReactorTime,
        watcher: Watcher | None = None,
    ) -> None:
        self._store = store
        self._workers = workers
        self._clock = clock
        self._watcher = watcher
        # Of the store, and of the set as the thread last made it.
        self._lock = DeferredLock()
        self._made: AnswerSet | None = None
        self._answers: AnswerSet | None = None
        self._since, self._until = 0.0, -inf
        self._verify_every = VERIFY
        self._verify_at = inf if watcher is None else -inf
        self._problems: frozenset[Problem] = frozenset()
        self._reading = False
        self._waiting: dict[Deferred[AnswerSet], None] = {}
        self._changes = 0

    def start(self) -> None:
        """Be told of changes from the first reading on."""
        if self._watcher is not None:
            self._watcher.start(self._told)

    async def stop(self) -> None:
        """Be told no more, and let go of the store, as soon as nobody touches it."""
        async with self._lock:
            if self._watcher is not None:
                self._watcher.stop()
            await self._workers.run(self._store.close)

    def fresh(self) -> AnswerSet | None:
        """:returns: the set, or None when it has to be read first: :meth:`latest` does."""
        now = self._clock.seconds()
        # A clock that was set back leaves an age below zero, not a set that never ages.
        if not self._since <= now <= self._until:
            return None
        if now > self._verify_at and not self._reading:
            self._read()
        return self._answers

    @property
    def waiting(self) -> int:
        """How many requests wait for the set to be read."""
        return len(self._waiting)

    async def latest(self) -> AnswerSet:
        """:raises Unavailable: when the store cannot be read, or too much is waiting."""
        waiter: Deferred[AnswerSet] = Deferred(lambda left: self._waiting.pop(left, None))
        self._waiting[waiter] = None
        if not self._reading:
            self._read()
        return await waiter

    async def change(self, work: Callable[[Store], _T]) -> _T:
        """
        Have the store changed, in a thread, one change after the other. Whoever asks after this
        has returned is answered from the set as it is then.

        :param work: is done even if whoever wants it leaves.
        :returns: what it returned; its exception is raised here.
        :raises Unavailable: when too many changes are waiting.
        """
        if self._changes >= MAX_CHANGES:
            raise Unavailable(f"{self._changes} changes to the answer set are waiting")
        self._changes += 1
        done: Deferred[_T] = Deferred()

        def conclude(result: _T | Failure) -> None:
            self._changes -= 1
            done.errback(result) if isinstance(result, Failure) else done.callback(result)

        Deferred.fromCoroutine(self._change(work)).addBoth(conclude)
        return await done

    async def _change(self, work: Callable[[Store], _T]) -> _T:
        def changed() -> tuple[_T, AnswerSet | None]:
            result = work(self._store)
            try:
                return result, self._current()
            except Unavailable:
                return result, None  # the change was made all the same

        async with self._lock:
            started = self._clock.seconds()
            try:
                result, answers = await self._workers.run(changed)
            finally:
                self._resume()
            if answers is None:
                self._until = -inf
            else:
                self._adopt(answers, started)
        return result

    def _read(self) -> None:
        self._reading = True
        Deferred.fromCoroutine(self._refresh()).addBoth(self._conclude)

    async def _refresh(self) -> AnswerSet:
        async with self._lock:
            started = self._clock.seconds()
            verify = self._watcher is not None and not (
                self._verify_at - self._verify_every <= started <= self._verify_at
            )
            try:
                answers = await self._workers.run(lambda: self._current(verify))
            finally:
                self._resume()
            if verify:
                took = self._clock.seconds() - started
                self._verify_every = max(VERIFY, REST * took)
                self._verify_at = started + self._verify_every
            self._adopt(answers, started)
        return answers

    def _current(self, verify: bool = False) -> AnswerSet:
        """In a thread: the set as it is now, the same object while nothing has changed."""
        if verify and self._watcher is not None:
            self._watcher.doubt()
        listing = self._store.listing()
        if self._made is None or listing is not self._made.listing:
            self._made = AnswerSet.of(listing, self._made)
        return self._made

    def _adopt(self, answers: AnswerSet, started: float) -> None:
        told = self._watcher is not None and self._watcher.complete
        self._since, self._until = started, inf if told else started + MAX_AGE
        if answers is not self._answers:
            self._answers = answers
            self._report(answers.problems)

    def _resume(self) -> None:
        if self._watcher is not None:
            self._watcher.resume()

    def _told(self) -> None:
        """Something has changed, and it was not just now that it did."""
        self._until = min(self._until, self._clock.seconds() + MAX_AGE / 2)
        if not self._reading:
            self._read()

    def _conclude(self, result: AnswerSet | Failure) -> None:
        self._reading = False
        waiting, self._waiting = self._waiting, {}
        if isinstance(result, Failure):
            self._until = -inf
            if not waiting:
                self._say_why(result)
        for each in waiting:
            if not each.called:  # else one of the others sent it away
                each.errback(result) if isinstance(result, Failure) else each.callback(result)

    def _say_why(self, failure: Failure) -> None:
        """A reading that no request waits for: the next one will be told the same."""
        if failure.check(Unavailable):
            self._log.warn("answers: {reason}", reason=failure.getErrorMessage())
        else:
            self._log.failure("The answer set was not read", failure)

    def _report(self, problems: tuple[Problem, ...]) -> None:
        """Say what is new and what is mended; what stays was said already."""
        before, self._problems = self._problems, frozenset(problems)
        appeared = [each for each in problems if each not in before]
        mended = before - self._problems
        for each in appeared[:_SHOWN]:
            self._log.warn("answers: {source}: {reason}", source=each.source, reason=each.text)
        if len(appeared) > _SHOWN:
            self._log.warn("answers: {count} more problems", count=len(appeared) - _SHOWN)
        for each in sorted(mended, key=str)[:_SHOWN]:
            self._log.info(
                "answers: mended: {source}: {reason}", source=each.source, reason=each.text
            )
