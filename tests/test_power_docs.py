"""Tests that ``docs/power.md`` tells of every kind, every key and every command."""

import re
import tomllib
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.power.group import PowerOptions
from rescriptum.cli.power.listing import AT_ONCE
from rescriptum.cli.power.ways import WORD
from rescriptum.power.fields import KINDS
from rescriptum.power.reading import read

PAGE = (Path(__file__).parent.parent / "docs" / "power.md").read_text("utf-8")
_ROW = re.compile(r"\| `(\w+)`( \(required\))? \| (.+) \|")


class PowerPageTests(SynchronousTestCase):
    def test_every_key(self) -> None:
        """As the table has them, and whether they are needed."""
        for kind, rows in KINDS.items():
            told = PAGE.split(f"\n### {kind}\n")[1].split("\n\n")[0].splitlines()[3:]
            found = [match.groups() for line in told if (match := _ROW.fullmatch(line))]
            needed = {True: " (required)", False: None}
            wanted = [(each.name, needed[each.required], each.help) for each in rows]
            self.assertEqual(found, wanted)

    def test_the_example_is_right(self) -> None:
        """It is read as it stands."""
        text = PAGE.split("```toml\n")[1].split("```")[0]
        found = read(text, "power.md", str.lower)
        kinds = [each.controller.kind for each in found]
        self.assertEqual(kinds, list(KINDS))
        self.assertEqual(list(tomllib.loads(text)), [each.name for each in found])

    def test_every_command(self) -> None:
        for name, *_ in PowerOptions.subCommands:
            self.assertIn(f"| `rescriptum power {name}", PAGE)

    def test_bounds(self) -> None:
        flat = " ".join(PAGE.split())
        self.assertIn(f"{AT_ONCE} controllers at a time", flat)
        self.assertIn(f"on stderr every {WORD:.0f} seconds", flat)
