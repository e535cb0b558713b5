"""Tests that what the documentation says is there, and what is there is said."""

import re
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.control import KEYS
from rescriptum.answers.formats.table import ALIASES, BY_EXTENSION, FORMATS
from rescriptum.answers.template import FILTERS, Template
from rescriptum.cli.gateway import reach
from rescriptum.cli.main import RescriptumOptions
from rescriptum.cli.reference import page
from rescriptum.settings import SETTINGS
from rescriptum.tap import JOIN_TOKEN

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "lab.md", *sorted((ROOT / "docs").glob("*.md"))]
_VARIABLE = re.compile(r"\bRESCRIPTUM_[A-Z_]+\b")
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
_NAMES = "|".join(str(each[0]) for each in RescriptumOptions.subCommands)
_COMMAND = re.compile(
    rf"(?<!twistd -n )\brescriptum ((?:{_NAMES})(?: [a-z][a-z-]*)*)((?: --[a-z0-9-]+)*)"
)


_CODE = re.compile(r"`([^`]+)`")


def _rows(page: str, first: str) -> Iterator[list[str]]:
    """:returns: the cells of each row of the table whose first heading is that."""
    lines = iter((ROOT / "docs" / page).read_text().splitlines())
    for line in lines:
        if line.startswith(f"| {first} |"):
            break
    next(lines)
    for line in lines:
        if not line.startswith("| "):
            return
        yield [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]


class DocumentationTests(SynchronousTestCase):
    def test_the_reference_is_what_the_tables_say(self) -> None:
        """``make reference`` writes it anew."""
        self.assertEqual((ROOT / "docs" / "reference.md").read_text(), page())

    def test_every_variable_that_is_named_exists(self) -> None:
        known = {each.variable for each in SETTINGS}
        known |= {reach.URL, reach.TOKEN, reach.FILE, JOIN_TOKEN}
        for path in PAGES:
            named = set(_VARIABLE.findall(path.read_text()))
            self.assertEqual(named - known, set(), path.name)

    def test_every_file_that_we_make_is_told(self) -> None:
        """What a document is called that has no name yet."""
        told = (ROOT / "docs" / "stores.md").read_text()
        for row in BY_EXTENSION.values():
            self.assertIn(f"`{row.filename}`", told)

    def test_what_asks_for_each_format_is_told(self) -> None:
        """Rows of the table in the order of the formats, with the words of URLs."""
        told = []
        for extensions, _, words in _rows("answers.md", "extension"):
            told += [(each, set(_CODE.findall(words))) for each in _CODE.findall(extensions)]
        asked = [
            (row.extension, {word for word, formats in ALIASES.items() if row in formats})
            for row in FORMATS
        ]
        self.assertEqual(told, asked)

    def test_what_documents_say_of_themselves_is_told(self) -> None:
        told = [_CODE.findall(key)[0] for key, _, _ in _rows("answers.md", "key")]
        self.assertEqual(told, list(KEYS))

    def test_what_placeholders_may_hold_is_told(self) -> None:
        """Every filter has a row, and no row has another; each is written as it is read."""
        written = [
            code.replace("\\|", "|")
            for each, _ in _rows("answers.md", "written")
            for code in _CODE.findall(each)
        ]
        parts = [part for each in written for part in Template.parse(each).parts]
        filters = {f.name for part in parts if not isinstance(part, str) for f in part.filters}
        self.assertEqual(filters, set(FILTERS))

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
