"""Tests for ``rescriptum.fakebmc.switches``: the table, its words, and its page."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import Malformed
from rescriptum.fakebmc.switches import Switch, Switches

PAGE = Path(__file__).parent.parent / "docs" / "fake-bmc.md"


class SwitchTests(SynchronousTestCase):
    def test_every_switch_is_one(self) -> None:
        """Words are unique and can be typed; numbers are those of the quirks of BMCs."""
        words = [each.word for each in Switch]
        self.assertEqual(len(words), len(set(words)))
        for each in Switch:
            self.assertRegex(each.word, r"\A[a-z0-9]+(-[a-z0-9]+)*\Z")
            self.assertRegex(each.quirk, r"\A(W2[0-4][0-9])?\Z")
            self.assertFalse(each.does.endswith("."), each)

    def test_every_quirk_can_be_had(self) -> None:
        """
        But for what is no manner of a Redfish BMC: to change one's power while a disk is being
        wiped (W230), and IPMI (W248).
        """
        quirks = {each.quirk for each in Switch if each.quirk}
        numbers = {f"W{number}" for number in range(200, 250)}
        self.assertEqual(numbers - quirks, {"W230", "W248"})

    def test_words_are_read(self) -> None:
        """A word that is none is told, with the nearest that is."""
        chosen = Switches.parse(["slash", "hang", "slash"])
        self.assertEqual(chosen, Switches.of(Switch.SLASH, Switch.HANG))
        self.assertIn(Switch.SLASH, chosen)
        self.assertNotIn(Switch.HUGE, chosen)
        with self.assertRaisesRegex(Malformed, "'slahs'; did you mean 'slash'"):
            Switches.parse(["slahs"])
        with self.assertRaisesRegex(Malformed, "'xyzzy'$"):
            Switches.parse(["xyzzy"])

    def test_the_page_has_the_table(self) -> None:
        """Word, number and what it does, in the same order."""
        rows = re.findall(r"^\| `([^`]+)` \| (\S*) ?\| (.+) \|$", PAGE.read_text(), re.MULTILINE)
        table = [(each.word, each.quirk or "rude", each.does) for each in Switch]
        self.assertEqual(rows, table)
