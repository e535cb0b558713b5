"""Tests for ``rescriptum.boot.offers``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.offers import Preferences, Strategy

MAC, OTHER = bytes.fromhex("525400123456"), bytes.fromhex("525400123457")


class PreferencesTests(SynchronousTestCase):
    def test_the_narrowest_counts(self) -> None:
        """A machine's before its vendor's before its architecture's; nobody's is None."""
        chosen = Preferences.parse("52-54-00-12-34-56=direct, 52:54:00=bounce,efi64=direct+prompt,")
        self.assertEqual(chosen.find(MAC, "efi64"), Strategy.DIRECT)
        self.assertEqual(chosen.find(OTHER, "efi64"), Strategy.BOUNCE)
        self.assertEqual(chosen.find(bytes(6), "efi64"), Strategy.PROMPT)
        self.assertIsNone(chosen.find(bytes(6), "bios"))
        self.assertIsNone(Preferences.parse("").find(MAC, "efi64"))

    def test_says_what_would_be_right(self) -> None:
        for text, said in (
            ("efi64", "WHOM=STRATEGY"),
            ("efi64=proxy", "direct, bounce, direct\\+prompt"),
            ("efi99=bounce", "one of bios, "),
            ("52:54=bounce", "first three octets"),
            ("5254.0012.3456=bounce", "a MAC such as"),
            ("+5:54:00=bounce", "a MAC such as"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                Preferences.parse(text)

    @given(st.text())
    def test_reads_anything(self, text: str) -> None:
        """Or raises ValueError."""
        try:
            Preferences.parse(text)
        except ValueError as e:
            self.assertIn("want ", str(e))
