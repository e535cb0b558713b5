"""Tests for ``rescriptum.contract.places``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.places import place

SAME = (
    ("192.0.2.9", "192.0.2.9:443", "192.0.2.9:0443", "192.0.2.9:623", "[::ffff:192.0.2.9]"),
    ("::ffff:192.0.2.9:8443", "[::FFFF:192.0.2.9:8443]"),
    ("192.0.2.9:8443", "[::ffff:c000:209]:8443", " 192.0.2.9:08443"),
    ("fd00::9", "FD00:0::9", "[fd00::9]", "[fd00::9]:443"),
    ("fd00::443", "[fd00:0::443]"),
    ("bmc.example", "BMC.example.", "bmc.example:443"),
    ("chassis 3/slot 2",),
)


class PlaceTests(SynchronousTestCase):
    def test_one_text_for_all_spellings(self) -> None:
        """And another for each other BMC."""
        found = [{place(each) for each in spellings} for spellings in SAME]
        self.assertEqual([len(each) for each in found], [1] * len(SAME))
        self.assertEqual(len(set().union(*found)), len(SAME))

    @given(st.text())
    def test_whatever_it_is_given(self, address: str) -> None:
        """It is compared, and never refused."""
        place(address)
