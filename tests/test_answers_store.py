"""Tests for ``rescriptum.answers.store``."""

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.documents import Document, Folder, Key, Kind, Listing, Place
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.store import MAX_AGE, MAX_CHANGES, REST, VERIFY, AnswerStore
from rescriptum.answers.stores.store import Store
from rescriptum.errors import NotFound, Refused, Unavailable
from rescriptum.testing import MemoryWorkers
from rescriptum.values import Problem

_T = TypeVar("_T")

KEY = Key(Place(Kind.MACHINE, "machine-1"), "ks")


class MemoryStore:
    """
    A store of one machine's documents.

    :ivar broken: what reading it raises.
    :ivar problems: of the store itself.
    :ivar listed: how often it was read.
    :ivar closed: whether it was let go of.
    """

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {"ks": b"1"}
        self.broken: Exception | None = None
        self.problems: tuple[Problem, ...] = ()
        self.listed = 0
        self.closed = False
        self._listing: Listing | None = None
        self._of: object = None

    def describe(self) -> str:
        return "memory:"

    def close(self) -> None:
        self.closed = True

    def listing(self) -> Listing:
        self.listed += 1
        if self.broken is not None:
            raise self.broken
        state = (dict(self.held), self.problems)
        if self._listing is None or state != self._of:
            documents = tuple(
                Document.of(f"machine-1/x.{each}", BY_EXTENSION[each], data)
                for each, data in self.held.items()
            )
            folders = {KEY.place: Folder(KEY.place, documents)} if documents else {}
            self._listing, self._of = Listing(folders, self.problems), state
        return self._listing

    def keys(self) -> list[Key]:
        return [Key(KEY.place, each) for each in self.held]

    def get(self, key: Key) -> bytes:
        return self.held[key.extension]

    def put(self, key: Key, data: bytes) -> None:
        self.held[key.extension] = data

    def delete(self, key: Key) -> None:
        if self.held.pop(key.extension, None) is None:
            raise NotFound(str(key))

    def move(self, key: Key, to: Key) -> None:
        raise NotImplementedError


class MemoryWatcher:
    """
    Satisfies ``Watcher``.

    :ivar complete: whether it sees everything.
    :ivar calls: what it was asked, in order.
    """

    def __init__(self) -> None:
        self.complete = True
        self.calls: list[str] = []
        self.changed: Callable[[], None] = lambda: None

    def start(self, changed: Callable[[], None]) -> None:
        self.calls.append("start")
        self.changed = changed

    def doubt(self) -> None:
        self.calls.append("doubt")

    def resume(self) -> None:
        self.calls.append("resume")

    def stop(self) -> None:
        self.calls.append("stop")

    def taken(self) -> list[str]:
        """:returns: the calls since this was last asked."""
        calls, self.calls = self.calls, []
        return calls


def body(answers: AnswerSet | None, extension: str = "ks") -> bytes:
    assert answers is not None
    return answers.machines["machine-1"].documents[extension].data


class StoreCase(SynchronousTestCase):
    watcher: MemoryWatcher | None = None

    def setUp(self) -> None:
        self.clock, self.workers, self.memory = Clock(), MemoryWorkers(), MemoryStore()
        self.clock.advance(1e9)
        self.store = AnswerStore(self.memory, self.workers, self.clock, self.watcher)

    def latest(self) -> Deferred[AnswerSet]:
        return Deferred.fromCoroutine(self.store.latest())

    def change(self, work: Callable[[Store], _T]) -> Deferred[_T]:
        return Deferred.fromCoroutine(self.store.change(work))

    def read(self) -> AnswerSet:
        return self.successResultOf(self.latest())


class AnswerStoreTests(StoreCase):
    """Without a watcher."""

    def test_nothing_is_read_before_somebody_asks(self) -> None:
        self.store.start()
        self.assertIsNone(self.store.fresh())
        self.assertEqual(self.memory.listed, 0)

    def test_a_set_is_fresh_for_a_second(self) -> None:
        """From when its reading began: a change during it may be in it or not."""
        self.workers.held = True
        waiting = self.latest()
        self.clock.advance(0.75)
        self.workers.proceed()
        answers = self.successResultOf(waiting)
        self.assertIs(self.store.fresh(), answers)
        self.clock.advance(MAX_AGE - 0.75)
        self.assertIs(self.store.fresh(), answers)
        self.clock.advance(0.01)
        self.assertIsNone(self.store.fresh())
        self.assertEqual(self.memory.listed, 1)

    def test_a_clock_that_was_set_back_makes_it_old(self) -> None:
        self.read()
        self.clock.rightNow -= 3600
        self.assertIsNone(self.store.fresh())

    def test_the_set_is_made_anew_where_something_changed(self) -> None:
        """Of what it was made of before; else it is the same object."""
        first = self.read()
        self.clock.advance(10)
        self.assertIs(self.read(), first)
        self.memory.held["ipxe"] = b"2"
        self.clock.advance(10)
        second = self.read()
        self.assertEqual((body(second), body(second, "ipxe")), (b"1", b"2"))

    def test_those_that_wait_together_wait_for_one_reading(self) -> None:
        self.workers.held = True
        waiting = [self.latest() for _ in range(5)]
        self.workers.proceed()
        [answers] = {id(self.successResultOf(each)) for each in waiting}
        self.assertEqual((self.memory.listed, answers), (1, id(self.store.fresh())))

    def test_one_that_leaves_takes_nobody_with_it(self) -> None:
        """A machine that hangs up cancels its own waiting, not the reading."""
        self.workers.held = True
        first, second = self.latest(), self.latest()
        first.cancel()
        self.failureResultOf(first)
        self.workers.proceed()
        self.assertIs(self.successResultOf(second), self.store.fresh())

    def test_those_that_leave_are_forgotten(self) -> None:
        """A disk that answers nobody for hours: machines come, and give up, and come again."""
        self.workers.held = True
        patient = self.latest()
        for _ in range(3):
            leaving = [self.latest() for _ in range(100)]
            self.assertEqual(self.store.waiting, 101)
            for each in leaving:
                each.cancel()
                self.failureResultOf(each, CancelledError)
            self.assertEqual(self.store.waiting, 1)
        self.workers.proceed()
        self.assertIsNotNone(self.successResultOf(patient))
        self.assertEqual(self.store.waiting, 0)

    def test_one_that_sends_another_away(self) -> None:
        """As they are told: whoever is gone by then is not told."""
        self.workers.held = True
        first, second = (self.latest() for _ in range(2))
        first.addCallback(lambda _: second.cancel())
        self.workers.proceed()
        self.successResultOf(first)
        self.failureResultOf(second, CancelledError)

    def test_a_failed_reading_is_told_to_all_and_tried_again(self) -> None:
        self.read()
        self.clock.advance(10)
        self.memory.broken = Unavailable("gone")
        self.workers.held = True
        waiting = [self.latest(), self.latest()]
        self.workers.proceed()
        for each in waiting:
            self.failureResultOf(each, Unavailable)
        self.assertIsNone(self.store.fresh())
        self.memory.broken = None
        self.assertEqual(body(self.read()), b"1")

    def test_problems_are_said_when_they_appear_and_when_they_clear(self) -> None:
        """Not each second in between."""

        def said() -> list[tuple[str, str, str]]:
            with capturedLogs() as events:
                self.read()
            return [(each["log_level"].name, each["source"], each["reason"]) for each in events]

        self.assertEqual(said(), [])
        self.memory.problems = (Problem("m2.ks", "loose"),)
        self.memory.held["cfg"] = b"{{"
        first, second = said()
        self.assertEqual(first, ("warn", "m2.ks", "loose"))
        self.assertEqual(second[:2], ("warn", "machine-1/x.cfg"))
        self.assertEqual(said(), [])
        del self.memory.held["cfg"]
        self.assertEqual(said(), [("info", *second[1:])])

    def test_a_thousand_problems_are_a_few_lines(self) -> None:
        """When they appear, and when they clear."""
        for problems, wanted in ((200, (51, 150)), (0, (50, None))):
            self.memory.problems = tuple(Problem(f"m{at}", "wrong") for at in range(problems))
            with capturedLogs() as events:
                self.read()
            self.assertEqual((len(events), events[-1].get("count")), wanted)

    def test_stops(self) -> None:
        """The store is closed, in a thread, when nobody is reading any more."""
        self.workers.held = True
        waiting = self.latest()
        stopped = Deferred.fromCoroutine(self.store.stop())
        self.assertNoResult(stopped)
        self.assertFalse(self.memory.closed)
        self.workers.proceed()
        self.successResultOf(waiting)
        self.successResultOf(stopped)
        self.assertTrue(self.memory.closed)
        self.assertEqual(self.workers.done, 2)


class ChangeTests(StoreCase):
    def put(self, data: bytes) -> Deferred[None]:
        return self.change(lambda store: store.put(KEY, data))

    def test_a_change_is_seen_at_once(self) -> None:
        """By who asks after it, however fresh the set was; nothing is read for it."""
        self.read()
        self.successResultOf(self.put(b"2"))
        self.assertEqual(body(self.store.fresh()), b"2")
        self.assertEqual(self.memory.listed, 2)
        self.assertEqual(self.successResultOf(self.change(lambda store: store.get(KEY))), b"2")

    def test_one_after_the_other(self) -> None:
        """In the order in which they were asked for; a reading waits for its turn too."""
        self.workers.held = True
        first, reading, second = self.put(b"2"), self.latest(), self.put(b"3")
        self.workers.proceed()
        for each in (first, second):
            self.successResultOf(each)
        self.assertEqual(body(self.successResultOf(reading)), b"2")
        self.assertEqual(body(self.store.fresh()), b"3")

    def test_nobody_touches_the_store_meanwhile(self) -> None:
        """There may be many threads: no two of them have the store."""

        class Counting(MemoryWorkers):
            running = most = 0

            async def run(self, work: Callable[[], _T]) -> _T:
                self.running += 1
                self.most = max(self.most, self.running)
                try:
                    return await super().run(work)
                finally:
                    self.running -= 1

        workers = Counting(held=True)
        self.store = AnswerStore(self.memory, workers, self.clock)
        waiting: list[Deferred[object]] = [self.put(b"2"), self.latest(), self.put(b"3")]  # type: ignore[list-item]
        workers.proceed()
        for each in waiting:
            self.successResultOf(each)
        self.assertEqual((workers.most, workers.done), (1, 3))

    def test_a_change_that_fails(self) -> None:
        """Tells who wanted it, and nobody else; the next one is made."""
        first = self.read()

        def refuse(store: Store) -> None:
            raise Refused("no")

        self.failureResultOf(self.change(refuse), Refused)
        self.assertIs(self.store.fresh(), first)
        self.successResultOf(self.put(b"2"))
        self.assertEqual(body(self.store.fresh()), b"2")

    def test_a_change_after_which_nothing_can_be_read(self) -> None:
        """It was made, and that is what its caller is told; who asks then is told the rest."""
        self.read()

        def last(store: Store) -> str:
            store.put(KEY, b"2")
            self.memory.broken = Unavailable("gone")
            return "made"

        self.assertEqual(self.successResultOf(self.change(last)), "made")
        self.assertIsNone(self.store.fresh())
        self.failureResultOf(self.latest(), Unavailable)

    def test_who_leaves_does_not_undo_it(self) -> None:
        """Nor is another one let in before it is done."""
        self.workers.held = True
        first, second = self.put(b"2"), self.put(b"3")
        first.cancel()
        self.failureResultOf(first)
        failing = self.change(lambda store: store.delete(Key(KEY.place, "cfg")))
        failing.cancel()
        self.failureResultOf(failing)
        self.assertEqual(self.workers.done, 0)
        self.workers.proceed()
        self.successResultOf(second)
        self.assertEqual(self.memory.held, {"ks": b"3"})

    def test_a_queue_has_an_end(self) -> None:
        """Whoever comes then is told to come back; afterwards there is room again."""
        self.workers.held = True
        waiting = [self.put(b"%d" % at) for at in range(MAX_CHANGES)]
        self.failureResultOf(self.put(b"x"), Unavailable)
        self.workers.proceed()
        for each in waiting:
            self.successResultOf(each)
        self.assertEqual(body(self.store.fresh()), b"%d" % (MAX_CHANGES - 1))
        self.successResultOf(self.put(b"x"))


class WatchedStoreTests(StoreCase):
    """With a watcher."""

    def setUp(self) -> None:
        self.watcher = self.watching = MemoryWatcher()
        super().setUp()
        self.store.start()
        self.first = self.read()

    def test_started(self) -> None:
        """The first reading relies on nothing that was told before it."""
        self.assertEqual(self.watching.taken(), ["start", "doubt", "resume"])

    def test_a_set_that_is_watched_does_not_age(self) -> None:
        self.clock.advance(VERIFY)
        self.assertIs(self.store.fresh(), self.first)
        self.assertEqual(self.memory.listed, 1)

    def test_what_is_told_is_read(self) -> None:
        """Without anybody asking; who asks meanwhile gets what there was, but not for long."""
        self.memory.held["ks"] = b"2"
        self.workers.held = True
        self.watching.taken()
        self.watching.changed()
        self.assertIs(self.store.fresh(), self.first)
        self.clock.advance(MAX_AGE / 2)
        self.assertIs(self.store.fresh(), self.first)
        self.clock.advance(0.01)
        self.assertIsNone(self.store.fresh())
        waiting = self.latest()
        self.assertEqual(self.watching.taken(), [])
        self.workers.proceed()
        self.assertEqual(body(self.successResultOf(waiting)), b"2")
        self.assertIs(self.store.fresh(), self.successResultOf(self.latest()))
        self.assertEqual(self.watching.taken(), ["resume"] * 2)

    def test_told_while_it_is_read(self) -> None:
        """The reading that is under way is followed by no other: its watcher tells again."""
        self.workers.held = True
        waiting = self.latest()
        self.watching.changed()
        self.workers.proceed()
        self.successResultOf(waiting)
        self.assertEqual(self.memory.listed, 2)

    def test_what_is_not_all_watched_ages(self) -> None:
        self.watching.complete = False
        self.read()
        self.clock.advance(MAX_AGE)
        self.assertIsNotNone(self.store.fresh())
        self.clock.advance(0.01)
        self.assertIsNone(self.store.fresh())
        self.watching.complete = True
        self.read()
        self.clock.advance(VERIFY / 2)
        self.assertIsNotNone(self.store.fresh())

    def test_verified_while_requests_come(self) -> None:
        """Who comes does not wait for it; each half minute, and never when nobody comes."""
        self.watching.taken()
        self.clock.advance(VERIFY * 10)
        self.assertEqual(self.watching.taken(), [])
        self.memory.held["ks"] = b"2"
        self.workers.held = True
        for _ in range(3):
            self.assertIs(self.store.fresh(), self.first)
        self.workers.proceed()
        self.assertEqual(self.watching.taken(), ["doubt", "resume"])
        self.assertEqual(body(self.store.fresh()), b"2")
        self.clock.advance(VERIFY - 0.01)
        self.store.fresh()
        self.assertEqual(self.watching.taken(), [])
        self.read()
        self.assertEqual(self.watching.taken(), ["resume"])
        self.clock.advance(0.02)
        self.store.fresh()
        self.assertEqual(self.watching.taken(), ["doubt", "resume"])

    def test_a_set_that_takes_long_to_verify(self) -> None:
        """Rests for longer: what it takes is shared with the requests of that second."""
        took = VERIFY / REST * 2
        self.clock.advance(VERIFY + 0.01)
        self.watching.taken()
        self.workers.held = True
        self.store.fresh()
        self.clock.advance(took)
        self.workers.proceed()
        self.assertEqual(self.watching.taken(), ["doubt", "resume"])
        self.clock.advance(REST * took - took - 0.01)
        self.store.fresh()
        self.assertEqual(self.watching.taken(), [])
        self.clock.advance(0.02)
        self.store.fresh()
        self.workers.proceed()
        self.assertEqual(self.watching.taken(), ["doubt", "resume"])

    def test_a_clock_that_was_set_back(self) -> None:
        """Does not put off the next verification for as long as it was set back."""
        self.watching.taken()
        self.clock.rightNow -= 3600
        self.assertIsNone(self.store.fresh())
        self.read()
        self.assertEqual(self.watching.taken(), ["doubt", "resume"])
        self.assertIsNotNone(self.store.fresh())

    def test_a_change(self) -> None:
        """Reads what it made, relying on what is told of it."""
        self.watching.taken()
        self.successResultOf(self.change(lambda store: store.put(KEY, b"2")))
        self.assertEqual(body(self.store.fresh()), b"2")
        self.assertEqual(self.watching.taken(), ["resume"])

    def test_a_change_that_fails_lets_the_watcher_go_on(self) -> None:
        self.watching.taken()

        def refuse(store: Store) -> None:
            raise Refused("no")

        self.failureResultOf(self.change(refuse), Refused)
        self.assertEqual(self.watching.taken(), ["resume"])

    def test_a_reading_that_fails_while_nobody_waits(self) -> None:
        """Is said; from then on requests ask again, and are told."""
        self.memory.broken = Unavailable("/srv/answers: Input/output error")
        with capturedLogs() as events:
            self.watching.changed()
        [event] = events
        self.assertEqual(event["reason"], "/srv/answers: Input/output error")
        self.assertIsNone(self.store.fresh())
        self.failureResultOf(self.latest(), Unavailable)
        self.memory.broken = ZeroDivisionError()
        self.watching.changed()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertIsNone(self.store.fresh())

    def test_stops_when_nobody_reads(self) -> None:
        """A directory must not be closed under who reads it."""
        self.workers.held = True
        waiting, changing = self.latest(), self.change(lambda store: store.put(KEY, b"2"))
        self.watching.taken()
        stopped = Deferred.fromCoroutine(self.store.stop())
        self.assertEqual(self.watching.taken(), [])
        self.workers.proceed()
        self.successResultOf(stopped)
        self.successResultOf(waiting)
        self.successResultOf(changing)
        self.assertEqual(self.watching.taken(), ["resume", "resume", "stop"])
