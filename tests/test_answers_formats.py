"""Tests for ``rescriptum.answers.formats``."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.formats.table import ALIASES, BY_EXTENSION, FORMATS, PARTS, accepted


class TableTests(SynchronousTestCase):
    def test_thirteen_extensions(self) -> None:
        self.assertEqual(
            [row.extension for row in FORMATS],
            [
                *("toml", "yaml", "yml", "json", "ign", "xml", "autoyast", "unattend"),
                *("ks", "preseed", "seed", "cfg", "ipxe"),
            ],
        )
        self.assertEqual(BY_EXTENSION.keys() - PARTS.keys(), {row.extension for row in FORMATS})

    def test_thirty_one_aliases(self) -> None:
        """Each asks for something; ``seed`` is NoCloud's path, ``answer`` anybody's."""
        self.assertEqual(len(ALIASES), 31)
        for word in ("seed", "answer", "user-data", "boot"):
            self.assertNotIn(word, ALIASES)

    def test_media_types(self) -> None:
        """
        TOML is never called JSON: Proxmox 9.2 reads a body by its label (families C7). Text is
        plain text.
        """
        types = {row.extension: row.media_type for row in FORMATS}
        self.assertEqual(types["toml"], "text/plain; charset=utf-8")
        self.assertEqual(types["yml"], "text/yaml; charset=utf-8")
        self.assertEqual(types["ign"], "application/json")
        self.assertEqual(types["unattend"], "application/xml; charset=utf-8")
        self.assertEqual(types["ipxe"], "text/plain; charset=utf-8")

    def test_the_first_alias_decides(self) -> None:
        """In any case, wherever it stands; a later one is a name like another."""

        def extensions(*segments: str) -> list[str]:
            return [kind.extension for kind in accepted(segments)]

        self.assertEqual(extensions("Debian", "x"), ["preseed", "seed"])
        self.assertEqual(extensions("provision", "rhel", "node.cfg"), ["ks"])
        self.assertEqual(extensions("rhel", "debian"), ["ks"])
        self.assertEqual(extensions("coreos"), ["ign", "json"])
        self.assertEqual(extensions("json"), ["json", "ign"])
        self.assertEqual(len(extensions("anything", "else")), 13)
        self.assertEqual(len(extensions()), 13)


class DocumentationTests(SynchronousTestCase):
    def test_the_page_has_every_format_in_order_and_every_alias(self) -> None:
        """Operators are told which format wins; the page is where."""
        page = Path(__file__).parent.parent / "docs" / "answers.md"
        rows = [line.split("|") for line in page.read_text("utf-8").splitlines()]
        words = re.compile(r"`([a-z]+)`")
        table = [(words.findall(row[1]), row[3]) for row in rows if len(row) == 5]
        documented = [each for each in table if each[0] and each[0][0] in BY_EXTENSION]
        self.assertEqual(
            [extension for extensions, _ in documented for extension in extensions],
            [row.extension for row in FORMATS],
        )
        for alias, formats in ALIASES.items():
            [asked] = [
                text for extensions, text in documented if formats[0].extension in extensions
            ]
            self.assertIn(alias, words.findall(asked), alias)
