"""Tests for ``rescriptum.agent.backoff``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.backoff import GOOD, LONGEST, Backoff


class BackoffTests(SynchronousTestCase):
    def test_ceilings_double_up_to_a_minute(self) -> None:
        backoff, ceilings = Backoff(), []
        for _ in range(9):
            backoff = backoff.ended(1.0)
            ceilings.append(backoff.ceiling)
        self.assertEqual(ceilings, [1, 2, 4, 8, 16, 32, 60, 60, 60])

    def test_a_good_session_begins_anew(self) -> None:
        backoff = Backoff()
        for _ in range(5):
            backoff = backoff.ended(0.0)
        self.assertEqual(backoff.ended(GOOD - 0.1).ceiling, 32)
        self.assertEqual(backoff.ended(GOOD).ceiling, 1)

    def test_jitter_is_full(self) -> None:
        backoff = Backoff().ended(0).ended(0).ended(0)
        self.assertEqual([backoff.wait(x) for x in (0.0, 0.25, 0.5)], [0.0, 1.0, 2.0])

    @given(st.lists(st.floats(0, 1e6)), st.floats(0, 1, exclude_max=True))
    def test_no_wait_is_longer_than_its_ceiling(self, sessions: list[float], x: float) -> None:
        backoff = Backoff()
        for lasted in sessions:
            backoff = backoff.ended(lasted)
            self.assertLess(backoff.wait(x), backoff.ceiling)
            self.assertLessEqual(backoff.ceiling, LONGEST)
