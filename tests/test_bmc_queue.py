"""Tests for ``rescriptum.bmc.queue``."""

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.queue import GAP, WAITING, Queues
from rescriptum.contract.bmc import BmcRefusal


class QueuesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.queues = Queues(self.clock)
        self.begun: list[str] = []
        self.ends: dict[str, Deferred[str]] = {}

    def ask(self, name: str, address: str = "bmc1") -> Deferred[str]:
        async def work() -> str:
            self.begun.append(name)
            self.ends[name] = Deferred()
            return await self.ends[name]

        made = Deferred.fromCoroutine(self.queues.run(address, work))
        self.addCleanup(self.end, made)
        return made

    @staticmethod
    def end(asked: Deferred[str]) -> None:
        """Whoever still waits is not left for the garbage collector to wake."""
        asked.addErrback(lambda _: "")
        asked.cancel()

    def test_one_at_a_time_and_a_rest_between(self) -> None:
        """In the order asked, whatever case the address is written in (W249)."""
        first, second, third = self.ask("a"), self.ask("b", "BMC1"), self.ask("c")
        self.assertEqual(self.begun, ["a"])
        self.ends["a"].callback("A")
        self.assertEqual(self.successResultOf(first), "A")
        self.clock.advance(GAP - 0.1)
        self.assertEqual(self.begun, ["a"])
        self.clock.advance(0.1)
        self.assertEqual(self.begun, ["a", "b"])
        self.clock.advance(100)
        self.assertEqual(self.begun, ["a", "b"])
        self.ends["b"].errback(BmcRefusal("refused"))
        self.failureResultOf(second, BmcRefusal)
        self.clock.advance(GAP)
        self.ends["c"].callback("C")
        self.assertEqual(self.successResultOf(third), "C")

    def test_one_bmc_in_other_words(self) -> None:
        """Two machines of one chassis may have its address spelt in two ways (W249)."""
        self.ask("a", "192.0.2.9")
        self.ask("b", "[::ffff:192.0.2.9]:443")
        self.ask("c", "192.0.2.9:8443")
        self.assertEqual(self.begun, ["a", "c"])

    def test_another_bmc_waits_for_nobody(self) -> None:
        self.ask("hangs")
        other = self.ask("b", "bmc2")
        self.ends["b"].callback("B")
        self.assertEqual(self.successResultOf(other), "B")

    def test_nothing_waits_after_the_rest(self) -> None:
        first = self.ask("a")
        self.ends["a"].callback("A")
        self.successResultOf(first)
        self.clock.advance(GAP)
        self.ask("b")
        self.assertEqual(self.begun, ["a", "b"])

    def test_cancelled_before_its_turn(self) -> None:
        """It is never begun, and takes nobody's turn; waiting for the lock or for the rest."""
        first, second, third = self.ask("a"), self.ask("b"), self.ask("c")
        second.cancel()
        self.failureResultOf(second, CancelledError)
        self.ends["a"].callback("A")
        self.successResultOf(first)
        third.cancel()
        self.failureResultOf(third, CancelledError)
        self.ask("d")
        self.clock.advance(GAP)
        self.assertEqual(self.begun, ["a", "d"])

    def test_cancelled_in_its_turn(self) -> None:
        """The work ends, and the next one has its rest all the same."""
        first = self.ask("a")
        self.ask("b")
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.clock.advance(GAP)
        self.assertEqual(self.begun, ["a", "b"])

    def test_who_waits_is_bounded(self) -> None:
        self.ask("a")
        for each in range(WAITING):
            self.ask(str(each))
        error = self.failureResultOf(self.ask("one too many"), BmcRefusal).value
        self.assertEqual(error.code, "conflict")
        self.ask("x", "bmc2")
        self.assertEqual(self.begun, ["a", "x"])

    def test_a_clock_that_is_set_back(self) -> None:
        """The rest is never longer than it is."""
        first = self.ask("a")
        self.clock.rightNow = 5000.0
        self.ends["a"].callback("A")
        self.successResultOf(first)
        self.clock.rightNow = 0.0
        self.ask("b")
        self.clock.advance(GAP)
        self.assertEqual(self.begun, ["a", "b"])

    def test_idle_bmcs_are_forgotten(self) -> None:
        """A thousand that were asked once leave nothing, and no timer."""
        for each in range(1000):
            done = self.ask("a", f"bmc{each}")
            self.ends["a"].callback("A")
            self.successResultOf(done)
        self.assertEqual(len(self.queues), 1000)
        self.clock.advance(GAP)
        self.ask("b", "another")
        self.assertEqual(len(self.queues), 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])
