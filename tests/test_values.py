"""Tests for ``rescriptum.values``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.values import without_beginning

FEW = st.text("ab", max_size=8)


class BeginningTests(SynchronousTestCase):
    def test_a_secret_that_was_cut(self) -> None:
        """A beginning that is long enough goes; a whole one is somebody else's, and stays."""
        for text, left in (
            ("said hunt", "said ***"),
            ("said hun", "said hun"),
            ("said huhunter", "said hu***"),
            ("said hunter2", "said hunter2"),
            ("hunt said", "hunt said"),
            ("", ""),
        ):
            self.assertEqual(without_beginning(text, "hunter2", 4, "***"), left)
        self.assertEqual(without_beginning(b"x hunte", b"hunter2", 4, b""), b"x ")

    @given(FEW, FEW.filter(bool), st.integers(1, 8))
    def test_none_is_left(self, text: str, secret: str, least: int) -> None:
        """Of any secret, as long as it is longer than what is worth hiding."""
        made = without_beginning(text, secret, least, "*")
        self.assertTrue(text.startswith(made.rstrip("*")))
        for size in range(least, len(secret)):
            self.assertFalse(made.endswith(secret[:size]))
