"""Tests that ``docs/drivers.md`` tells of every operation, every key and every bound."""

from pathlib import Path

from attrs import fields
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc import hosts
from rescriptum.bmc.hosted import manifest, masking, store
from rescriptum.bmc.ipmi import arguments, driver, parsing
from rescriptum.bmc.kinds import NAMES
from rescriptum.contract.bmc import OPERATIONS
from rescriptum.gateway.interlock import WIPE_SECONDS
from rescriptum.net import processes

PAGE = (Path(__file__).parent.parent / "docs" / "drivers.md").read_text("utf-8")


def section(title: str) -> str:
    """:returns: from that heading to the next one of its rank."""
    rank = title.split(" ")[0]
    return PAGE[PAGE.index(f"{title}\n") :].split(f"\n{rank} ")[0]


def rows(text: str) -> dict[str, str]:
    """:returns: the cells of tables, by the first one of each row."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): " ".join(row[1:]) for row in cells}


class DriversPageTests(SynchronousTestCase):
    def test_operations(self) -> None:
        """Each stands in the row of its kind, and in no other."""
        told = rows(section("## The commands"))
        self.assertEqual(tuple(told), NAMES)
        for kind, text in told.items():
            mine = {each.name for each in OPERATIONS.values() if f"`{each.name}`" in text}
            self.assertEqual(mine, {e.name for e in OPERATIONS.values() if e.kind == kind})

    def test_manifests(self) -> None:
        """Their keys, and each concern."""
        told = rows(section("## Hosted drivers"))
        self.assertEqual(list(told), [each.name for each in fields(manifest.Manifest)])
        for concern in manifest.CONCERNS:
            self.assertIn(f"`{concern}`", told["concerns"])

    def test_ipmi(self) -> None:
        """What it does, and with which words."""
        told = rows(PAGE[PAGE.index("## IPMI") :])
        self.assertEqual({each.partition(".")[0] for each in told}, set(driver.CONCERNS))
        self.assertIn(f"last {parsing.MOST_EVENTS}", told["management.getSelLog"])

    def test_bounds(self) -> None:
        """As the code has them."""
        flat = " ".join(PAGE.split())
        for words in (
            f"{hosts.MOST} hosts of {hosts.ADDRESSES} addresses",
            f"{masking.LINES} lines a run, {masking.LINE} characters",
            f"{store.MOST} are hosted at the most",
            f"1 to {arguments.LONGEST_PASSWORD} bytes",
            f"up to {arguments.LONGEST_USERNAME}, as IPMI",
        ):
            self.assertIn(words, flat)
        self.assertEqual((processes.PATIENCE, WIPE_SECONDS), (2, 6 * 3600))
        self.assertEqual(arguments.CIPHERS, (17, 3))
