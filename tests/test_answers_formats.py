"""Tests for ``rescriptum.answers.formats``."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.formats.table import ALIASES, BY_EXTENSION, FORMATS, accepted
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument

#: A sound document of each family, and one that is not.
SOUND = {
    "toml": b'# a comment\n[global]\nkeyboard = "de"\n',
    "yaml": b"#cloud-config\nautoinstall:\n  version: 1\n",
    "json": b'{"ignition": {"version": "3.4.0"}}\n',
    "xml": b'<?xml version="1.0"?>\n<profile/>\n',
    "text": b"d-i debian-installer/locale string C\n\xff\xfe\r\nno final newline",
}
PLACED = {
    "toml": b'a = [[{b = "{{ mac }}"}]]\n',
    "yaml": b"a: '{{ mac }}'\n",
    "json": b'{"a": ["{{ mac }}"]}',
    "xml": b"<a b='{{ mac }}'/>",
    "text": b"# {{ mac }}\n",
}


class TableTests(SynchronousTestCase):
    def test_thirteen_extensions(self) -> None:
        self.assertEqual(
            [row.extension for row in FORMATS],
            [
                *("toml", "yaml", "yml", "json", "ign", "xml", "autoyast", "unattend"),
                *("ks", "preseed", "seed", "cfg", "ipxe"),
            ],
        )
        self.assertEqual(len(BY_EXTENSION), 13)

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


class ParseTests(SynchronousTestCase):
    def test_what_needs_no_filling_is_served_as_it_is_stored(self) -> None:
        """Every format, byte for byte: comments, line ends and all."""
        for row in FORMATS:
            data = SOUND[row.family]
            self.assertEqual(row.parse(data), data, row.extension)

    def test_what_does_not_parse_is_malformed(self) -> None:
        """With the line where it stops, in the formats that are parsed."""
        for extension, data in (
            ("toml", b"a = 1\nb = \n"),
            ("toml", b"\xff"),
            ("toml", b"a = " + b"[" * 100_000),
            ("json", b'{\n"a": }'),
            ("ign", b"\xff\xfe{}"),
            ("json", b"[" * 100_000),
            ("json", b""),
        ):
            with self.assertRaises(MalformedDocument, msg=extension):
                BY_EXTENSION[extension].parse(data)
        with self.assertRaises(MalformedDocument) as caught:
            BY_EXTENSION["toml"].parse(b"a = 1\nb = \n")
        self.assertIn("line 2", str(caught.exception))

    def test_text_is_a_template(self) -> None:
        for row in FORMATS:
            if row.family == "text":
                self.assertIsInstance(row.parse(PLACED["text"]), Template)

    def test_a_placeholder_nobody_fills_is_never_served(self) -> None:
        """Structured documents are not filled yet: they are refused, at any depth."""
        for row in FORMATS:
            if row.family != "text":
                with self.assertRaises(MalformedDocument, msg=row.extension):
                    row.parse(PLACED[row.family])

    def test_comments_of_parsed_documents_are_no_places(self) -> None:
        data = b'# {{ mac }}\na = "}}"\n'
        self.assertEqual(BY_EXTENSION["toml"].parse(data), data)

    @settings(max_examples=200, deadline=None)
    @given(st.sampled_from(FORMATS), st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
    def test_anything_is_served_filled_or_malformed(self, row: object, data: bytes) -> None:
        try:
            parsed = row.parse(data)  # type: ignore[attr-defined]
        except MalformedDocument:
            return
        self.assertTrue(parsed == data or isinstance(parsed, Template))


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
