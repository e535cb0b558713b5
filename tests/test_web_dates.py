"""Tests for ``rescriptum.web.dates``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.dates import http_date, parse_date

MODIFIED = 1_700_000_000
DATE = "Tue, 14 Nov 2023 22:13:20 GMT"


class DateTests(SynchronousTestCase):
    def test_the_three_forms(self) -> None:
        for text in (DATE, "Tuesday, 14-Nov-23 22:13:20 GMT", "Tue Nov 14 22:13:20 2023"):
            self.assertEqual(parse_date(text), MODIFIED, text)
        self.assertEqual(parse_date("Wed Nov  1 00:00:00 2023"), 1698796800)
        self.assertEqual(parse_date("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777)

    def test_what_is_no_date(self) -> None:
        for text in ("", "0", "Tue, 31 Feb 2023 22:13:20 GMT", DATE + " ", DATE.lower()):
            self.assertIsNone(parse_date(text), text)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(-(1 << 70), 1 << 70))
    def test_any_time_has_a_date(self, seconds: int) -> None:
        http_date(seconds)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 253402300799))
    def test_back_and_forth(self, seconds: int) -> None:
        self.assertEqual(parse_date(http_date(seconds)), seconds)

    @settings(max_examples=100, deadline=None)
    @given(st.text())
    def test_any_text(self, text: str) -> None:
        parse_date(text)
