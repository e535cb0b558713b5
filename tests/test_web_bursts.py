"""Tests for ``rescriptum.web.bursts``."""

from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.bursts import Burst


class BurstTests(SynchronousTestCase):
    def play(self, *events: float, until: float) -> tuple[list[bool], list[int]]:
        """:returns: which events were told, and the counts that were logged."""
        burst = Burst("noise", LogLevel.info, quiet=10, long=60)
        told = []
        with capturedLogs() as lines:
            for second in range(int(until)):
                told += [burst.add(at) for at in events if second <= at < second + 1]
                burst.look(second + 1)
        self.assertFalse(burst.running)
        return told, [each["count"] for each in lines]

    def test_one_event_is_one_line(self) -> None:
        self.assertEqual(self.play(5, until=20), ([True], []))

    def test_the_rest_of_a_burst_is_counted(self) -> None:
        self.assertEqual(self.play(5, 6, 7, 8, until=30), ([True, False, False, False], [3]))

    def test_the_next_burst_is_told_again(self) -> None:
        self.assertEqual(self.play(5, 6, 40, until=60), ([True, False, True], [1]))

    def test_a_burst_that_does_not_end_is_reported_now_and_then(self) -> None:
        _, counts = self.play(*range(150), until=200)
        self.assertEqual((len(counts), sum(counts)), (3, 149))
