"""Tests for ``rescriptum.tftp.refusals``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.refusals import KINDS, PERIOD, REFUSALS, Tally, refusal
from rescriptum.tftp.wire import ErrorCode


class RefusalTests(SynchronousTestCase):
    def test_each_row_is_an_error_with_a_text_or_silence(self) -> None:
        """A text, since firmware prints it; ASCII without a NUL of its own."""
        for code in REFUSALS:
            error = refusal(code)
            if error is not None:
                self.assertTrue(error.text.isascii() and error.text)
                self.assertNotIn(b"\0", error.text)

    def test_the_page_for_operators_explains_each(self) -> None:
        """``refused`` itself is the class of the others and comes from nowhere."""
        page = (Path(__file__).parent.parent / "docs" / "tftp.md").read_text()
        for code in REFUSALS.keys() - {"refused"}:
            self.assertIn(f"`refused: {code}`", page)

    def test_what_nobody_foresaw_is_the_undefined_error(self) -> None:
        """It is answered: silence would cost the client half a minute."""
        error = refusal("something-new")
        assert error is not None
        self.assertEqual(error.code, ErrorCode.UNDEFINED)


class TallyTests(SynchronousTestCase):
    def test_says_a_thing_once_a_period(self) -> None:
        """And then how often it was kept quiet."""
        tally = Tally()
        self.assertEqual(tally.counted("a", 0), 0)
        self.assertEqual([tally.counted("a", n) for n in range(1, 4)], [None] * 3)
        self.assertEqual(tally.counted("b", 4), 0)
        self.assertEqual(tally.counted("a", PERIOD), 3)
        self.assertEqual(tally.counted("a", PERIOD + 1), None)
        self.assertEqual(tally.counted("a", 3 * PERIOD), 1)

    def test_knows_a_bounded_number_of_kinds(self) -> None:
        """More are quiet, until the old ones are forgotten."""
        tally = Tally()
        said = [tally.counted(n, 0) for n in range(KINDS + 100)]
        self.assertEqual(said.count(0), KINDS)
        self.assertEqual(tally.counted("new", PERIOD - 1), None)
        self.assertEqual(tally.counted("new", PERIOD), 0)
