"""Tests for machines whose clock nobody has set."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.bootclock import LATEST, corrected, said
from rescriptum.contract.jose import sign
from rescriptum.contract.keys import generate

MADE = 1_700_000_000


class SaidTests(SynchronousTestCase):
    def test_an_assertion(self) -> None:
        signed = sign("discovery", {"issued_at": MADE}, generate("Ed25519"))
        self.assertEqual(said(signed), MADE)
        self.assertEqual(
            said(sign("discovery", {"issued_at": LATEST}, generate("Ed25519"))), LATEST
        )

    def test_something_else(self) -> None:
        key = generate("Ed25519")
        for assertion in (
            "",
            "a.b.c",
            sign("discovery", {}, key),
            sign("discovery", {"issued_at": "soon"}, key),
            sign("discovery", {"issued_at": -1}, key),
            sign("discovery", {"issued_at": True}, key),
            sign("discovery", {"issued_at": LATEST + 1}, key),
            sign("discovery", {"issued_at": 10**400}, key),
        ):
            self.assertIsNone(said(assertion))


class CorrectedTests(SynchronousTestCase):
    def test_a_battery_that_died(self) -> None:
        """W211: 1970, or the day that the firmware was built."""
        for wall in (0, 1_500_000_000, MADE - 61):
            self.assertEqual(corrected(wall, MADE, 30.5), MADE + 30)

    def test_a_clock_that_is_ahead(self) -> None:
        """By a time zone, as other operating systems leave it."""
        self.assertEqual(corrected(MADE + 7200, MADE, 30), MADE + 30)

    def test_a_clock_that_is_right(self) -> None:
        for wall in (MADE - 60, MADE, MADE + 90, MADE + 3630):
            self.assertIsNone(corrected(wall, MADE, 30))

    def test_nobody_says(self) -> None:
        self.assertIsNone(corrected(0, None, 30))

    @given(st.integers(0, 2**32), st.integers(1, 2**32), st.floats(0, 900))
    def test_once_is_enough(self, wall: int, made: int, uptime: float) -> None:
        found = corrected(wall, made, uptime)
        if found is not None:
            self.assertIsNone(corrected(found, made, uptime))
