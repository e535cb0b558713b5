"""Tests that what the documentation says is there, and what is there is said."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.cli.main import RescriptumOptions
from rescriptum.cli.reference import page
from rescriptum.settings import SETTINGS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "lab.md", *sorted((ROOT / "docs").glob("*.md"))]
_VARIABLE = re.compile(r"\bRESCRIPTUM_[A-Z_]+\b")
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
_NAMES = "|".join(str(each[0]) for each in RescriptumOptions.subCommands)
_COMMAND = re.compile(rf"\brescriptum ((?:{_NAMES})(?: [a-z][a-z-]*)*)((?: --[a-z0-9-]+)*)")


class DocumentationTests(SynchronousTestCase):
    def test_the_reference_is_what_the_tables_say(self) -> None:
        """``make reference`` writes it anew."""
        self.assertEqual((ROOT / "docs" / "reference.md").read_text(), page())

    def test_every_variable_that_is_named_exists(self) -> None:
        known = {each.variable for each in SETTINGS}
        for path in PAGES:
            named = set(_VARIABLE.findall(path.read_text()))
            self.assertEqual(named - known, set(), path.name)

    def test_every_file_that_we_make_is_told(self) -> None:
        """What a document is called that has no name yet."""
        told = (ROOT / "docs" / "stores.md").read_text()
        for row in BY_EXTENSION.values():
            self.assertIn(f"`{row.filename}`", told)

    def test_every_link_leads_somewhere(self) -> None:
        for path in PAGES:
            for target, _ in _LINK.findall(path.read_text()):
                if "://" not in target:
                    self.assertTrue((path.parent / target).exists(), f"{path.name}: {target}")

    def test_every_page_is_in_the_index(self) -> None:
        index = (ROOT / "docs" / "index.md").read_text()
        for path in (ROOT / "docs").glob("*.md"):
            if path.name != "index.md":
                self.assertIn(f"]({path.name})", index)

    def test_every_command_that_is_named_exists(self) -> None:
        """Subcommands and long options in the pages are those of the command line."""
        for path in PAGES:
            for words, flags in _COMMAND.findall(path.read_text()):
                options: type = RescriptumOptions
                for word in words.split():
                    table = getattr(options, "subCommands", None) or []
                    found = [each[2] for each in table if each[0] == word]
                    if not table:
                        break  # an argument
                    self.assertTrue(found, f"{path.name}: rescriptum {words}")
                    options = found[0]
                known = {each[0] for each in getattr(options, "optFlags", [])}
                known |= {each[0] for each in getattr(options, "optParameters", [])}
                known |= {name[4:] for name in dir(options) if name.startswith("opt_")}
                for flag in flags.split():
                    self.assertIn(flag[2:], known | {"help"}, f"{path.name}: {words}")
