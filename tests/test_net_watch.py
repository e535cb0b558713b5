"""Tests for ``rescriptum.net.watch``."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import Unavailable
from rescriptum.net.watch import Watch


class WatchTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.looks: list[frozenset[str] | None] = []
        self.again: float | None = None
        self.error: Exception | None = None
        self.held: Deferred[None] | None = None
        self.watch = Watch(self.clock, "things", 10, self.look)

    async def look(self, keys: frozenset[str] | None) -> float | None:
        self.looks.append(keys)
        if self.held is not None:
            await self.held
        if self.error is not None:
            raise self.error
        return self.again

    def turn(self, seconds: float = 0) -> list[frozenset[str] | None]:
        """:returns: the looks since this was last asked."""
        self.clock.advance(seconds)
        looks, self.looks = self.looks, []
        return looks

    def test_everything_is_looked_at_now_and_then(self) -> None:
        self.watch.start()
        self.assertEqual(self.turn(), [None])
        self.assertEqual(self.turn(9.9), [])
        self.assertEqual(self.turn(0.1), [None])

    def test_what_is_told_is_looked_at_together(self) -> None:
        self.watch.start()
        self.turn()
        for key in ("a", "b", "a"):
            self.watch.wake(key)
        self.assertEqual(self.turn(), [frozenset({"a", "b"})])
        self.assertEqual(self.turn(), [])

    def test_one_look_at_a_time(self) -> None:
        self.watch.start()
        self.turn()
        self.held = Deferred()
        self.watch.wake("a")
        self.assertEqual(self.turn(), [frozenset({"a"})])
        self.watch.wake("b")
        self.watch.wake("c")
        self.assertEqual(self.turn(1), [])
        held, self.held = self.held, None
        held.callback(None)
        self.assertEqual(self.turn(), [frozenset({"b", "c"})])

    def test_a_look_may_ask_for_another_one_sooner(self) -> None:
        self.again = 3.0
        self.watch.start()
        self.turn()
        self.assertEqual(self.turn(2.9), [])
        self.assertEqual(self.turn(0.1), [None])
        self.again = 60.0
        self.assertEqual(self.turn(3), [None])
        self.assertEqual(self.turn(9.9), [])
        self.assertEqual(self.turn(0.1), [None])

    def test_a_look_that_ends_when_the_next_one_is_overdue(self) -> None:
        """A reactor under load hears of the end first, and calls nothing in the past."""
        self.again, self.held = 3.0, Deferred()
        self.watch.start()
        self.turn()
        self.clock.rightNow += 10.5
        self.held.callback(None)
        [due] = [each.getTime() for each in self.clock.getDelayedCalls()]
        self.assertGreaterEqual(due, self.clock.seconds())
        self.assertEqual(self.turn(), [None])

    def test_what_went_wrong_is_looked_at_again_and_told_once(self) -> None:
        self.watch.start()
        self.turn()
        seen_at = self.watch.seen_at
        self.error = Unavailable("no database")
        self.watch.wake("a")
        with capturedLogs() as events:
            self.assertEqual(self.turn(1), [frozenset({"a"})])
            self.assertEqual(self.turn(8), [])  # not at once: whoever fails is asked by and by
            self.assertEqual(self.turn(1), [None])
            self.assertEqual(self.watch.seen_at, seen_at)
            self.error = None
            self.assertEqual(self.turn(10), [None])
        told = [event["log_format"].format_map(event) for event in events]
        self.assertEqual(told, ["things: no database", "things: looked at again"])
        self.assertEqual(self.watch.seen_at, self.clock.seconds())

    def test_a_fault_of_ours_is_logged_and_ends_nothing(self) -> None:
        self.error = KeyError("oops")
        self.watch.start()
        self.turn()
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)
        self.error = None
        self.assertEqual(self.turn(10), [None])

    def test_nothing_is_left_behind(self) -> None:
        self.watch.start()
        self.turn()
        self.held = Deferred()
        self.watch.wake("a")
        self.turn()
        self.watch.wake("b")
        stopped = Deferred.fromCoroutine(self.watch.stop())
        self.assertNoResult(stopped)
        self.held.callback(None)
        self.successResultOf(stopped)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.watch.wake("c")
        self.assertEqual(self.turn(20), [])

    def test_nothing_happens_before_it_starts(self) -> None:
        self.watch.wake("a")
        self.assertEqual(self.turn(20), [])
        self.watch.start()
        self.assertEqual(self.turn(), [None])
