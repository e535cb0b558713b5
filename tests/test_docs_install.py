"""Tests that what an operator is told to install is there, whole."""

import re
from configparser import ConfigParser
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parent.parent
_EXTRAS = re.compile(r"rescriptum\[([a-z,]+)\]")


def setup() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


class InstallTests(SynchronousTestCase):
    def test_every_package_is_in_the_wheel(self) -> None:
        """A checkout has them all, whatever is listed."""
        listed = setup()["options"]["packages"].split()
        found = [path.parent.relative_to(ROOT) for path in ROOT.glob("rescriptum/**/__init__.py")]
        there = [".".join(each.parts) for each in found]
        self.assertEqual(sorted(listed), sorted([*there, "twisted.plugins"]))

    def test_every_extra_that_is_named_exists(self) -> None:
        """In the pages, and in what programs say when a package is missing."""
        extras = setup()["options.extras_require"]
        named = set()
        for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("rescriptum/**/*.py")):
            for group in _EXTRAS.findall(path.read_text()):
                named |= set(group.split(","))
        self.assertEqual(named - set(extras), set())
        self.assertLessEqual({"gateway", "site", "postgres"}, named)
