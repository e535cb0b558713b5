"""Tests that ``docs/bmc.md`` says what the tables do."""

import re
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.queue import GAP, WAITING
from rescriptum.bmc.redfish.documents import LONGEST
from rescriptum.bmc.redfish.etags import PATCHES
from rescriptum.bmc.redfish.patience import WAITS
from rescriptum.bmc.redfish.quirks import KEPT
from rescriptum.bmc.redfish.resets import WAYS
from rescriptum.bmc.redfish.session import ANSWER
from rescriptum.bmc.redfish.slots import FORMS
from rescriptum.contract.bmc import BMC_CODES, OPERATIONS

PAGE = (Path(__file__).parent.parent / "docs" / "bmc.md").read_text("utf-8")


def rows(first: str) -> Iterator[list[str]]:
    """:returns: the cells of each row of the table whose first heading is that."""
    _, _, after = PAGE.partition(f"| {first} |")
    for line in after.splitlines()[2:]:
        if not line.startswith("| "):
            return
        yield [each.strip() for each in line.split("|")[1:-1]]


class PageTests(SynchronousTestCase):
    def test_codes(self) -> None:
        told = [tuple(each) for each in rows("code")]
        made = [(f"`{each.code}`", each.meaning, each.advice) for each in BMC_CODES.values()]
        self.assertEqual(told, made)

    def test_operations(self) -> None:
        self.assertEqual(
            [each[0] for each in rows("operation")], [f"`{each}`" for each in OPERATIONS]
        )

    def test_reset_types(self) -> None:
        told = {
            action.strip("`"): [first, *(each for each in re.split("; (?:else )?", more) if each)]
            for action, first, more in rows("action")
        }
        made = {each.value: [", ".join(way) for way in ways] for each, ways in WAYS.items()}
        self.assertEqual(told, made)

    def test_figures(self) -> None:
        """Those of the page are those of the modules."""
        self.assertIn(f"with {GAP:.0f} seconds of rest", PAGE)
        self.assertIn(f"{WAITING} may wait", PAGE)
        self.assertIn(f"{LONGEST >> 20} MiB an answer", PAGE)
        self.assertIn(f"{ANSWER:.0f} seconds for each", PAGE)
        self.assertIn(f"Profiles of {KEPT}", PAGE)
        self.assertEqual((PATCHES, len(FORMS), len(WAITS)), (4, 4, 8))
        self.assertEqual(sum(WAITS), 185)
