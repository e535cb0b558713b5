"""Tests for ``rescriptum.cache.backoff``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.backoff import LONGEST, pause


class PauseTests(SynchronousTestCase):
    def test_it_doubles(self) -> None:
        self.assertEqual([pause(each, 0.0) for each in range(1, 5)], [0.5, 1.0, 2.0, 4.0])
        self.assertEqual(pause(3, 0.5), 3.0)

    @given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
    def test_it_ends(self, failures: int, jitter: float) -> None:
        self.assertTrue(0.5 <= pause(failures, jitter) <= LONGEST)
