"""Tests that ``docs/lease.md`` says what is so."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.lease import BEATS, LONGEST_TTL_MS, SHORTEST_TTL_MS, TTL_MS, UNPROVED_PACE
from rescriptum.gateway.lease import GRACE, LEAP, POLL, RATE, UNPROVED, patience

from .lease_mutations import MUTATIONS
from .lease_outside import OUTSIDE
from .lease_world import handovers
from .test_lease_explorer import SEARCHES
from .test_lease_world import RUNS

PAGE = (Path(__file__).parent.parent / "docs" / "lease.md").read_text()


def rows(heading: str) -> Iterator[list[str]]:
    """:returns: the cells of each row of the table whose head begins with that cell."""
    _, _, table = PAGE.partition(f"\n| {heading} |")
    for line in table.splitlines()[2:]:
        if not line.startswith("|"):
            return
        yield [each.strip() for each in line.split("|")[1:-1]]


class PageTests(SynchronousTestCase):
    def test_the_constants(self) -> None:
        """Each number of the code is in its row."""
        constants = re.search(r"## Constants\n(.*?)\n##", PAGE, re.S)
        assert constants is not None
        told = dict(re.findall(r"^\| ([a-z][^|]*) \| (.*) \|$", constants[1], re.M))
        self.assertIn(f"{TTL_MS // 1000} s | {SHORTEST_TTL_MS // 1000} s to", told["ttl"])
        self.assertIn(f"to {LONGEST_TTL_MS // 1000} s", told["ttl"])
        self.assertEqual((BEATS, UNPROVED_PACE), (3, 1.0))
        self.assertIn("a third of the ttl", told["heartbeat"])
        self.assertIn("each second", told["heartbeat"])
        self.assertIn(f"{RATE * 100:g} %", told["clock error"])
        self.assertIn(f"{GRACE:g} s", told["grace"])
        self.assertIn(f"{1 + RATE:g} / {1 - RATE:g} + {GRACE:g} s", told["patience"])
        self.assertIn(f"{patience(15):.3f} s", told["patience"])
        self.assertIn(f"{POLL:g} s", told["look at the rows"])
        self.assertIn(f"{UNPROVED:g} s", told["unproved epoch"])
        self.assertIn(f"{LEAP} further", PAGE)
        spare = patience(15) / (1 + RATE) - 15 / (1 - RATE)
        self.assertIn(f"ttl / {1 - RATE:g} + {spare:.3f} s", PAGE)

    def test_how_long_a_hand_over_takes(self) -> None:
        """Measured again: the world has no real clock, so it is the same everywhere."""
        measured = []
        for ttl_ms in (15_000, 6_000):
            for event, times in handovers(200, ttl_ms).items():
                figures = (median(times), times[int(len(times) * 0.95)], times[-1])
                told = [f"{each:.1f}" for each in figures]
                measured.append([f"{ttl_ms // 1000} s", event, *told])
        self.assertEqual(list(rows("ttl | event")), measured)

    def test_how_much_is_tried(self) -> None:
        self.assertIn(f"{sum(states for _, states in SEARCHES):,} states", PAGE)
        self.assertIn(f"**{4 * RUNS:,} runs by chance**", PAGE)

    def test_every_broken_rule_is_told(self) -> None:
        """In the order of the table, with what goes wrong."""
        told = list(rows("broken rule"))
        broken = [[f"`{each.name}`", each.why] for each in MUTATIONS]
        self.assertEqual(told[: len(broken)], broken)
        outside = [name.strip("`") for name, _ in told[len(broken) :]]
        self.assertEqual(outside, list(OUTSIDE))
