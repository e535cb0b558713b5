"""Tests for ``rescriptum.answers.documents``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import (
    MAX_DOCUMENT,
    MAX_ERROR,
    Document,
    Folder,
    Key,
    Kind,
    Place,
    format_of,
)
from rescriptum.answers.formats.table import BY_EXTENSION, FORMATS, PARTS
from rescriptum.values import Problem

from .answersets import listing


class FormatOfTests(SynchronousTestCase):
    def test_by_extension_in_any_case(self) -> None:
        self.assertIs(format_of("Boot.IPXE"), BY_EXTENSION["ipxe"])
        self.assertIs(format_of("a.b.ks"), BY_EXTENSION["ks"])
        for name in ("README.md", "notes.txt", "toml", "x.toml.bak", "x.", "", "x.meta-data"):
            self.assertIsNone(format_of(name))

    def test_parts_of_a_seed_by_their_name(self) -> None:
        """With an extension of YAML or without; any other name is the user-data."""
        self.assertIs(format_of("meta-data"), PARTS["meta-data"])
        self.assertIs(format_of("network-config.yaml"), PARTS["network-config"])
        self.assertIs(format_of("vendor-data.yml"), PARTS["vendor-data"])
        self.assertIs(format_of("user-data.yaml"), BY_EXTENSION["yaml"])
        self.assertIs(format_of("user-data.yml"), BY_EXTENSION["yml"])
        self.assertIs(format_of("user-data"), BY_EXTENSION["yaml"], "a seed as it is elsewhere")
        self.assertIs(format_of("meta-data.toml"), BY_EXTENSION["toml"])


class PlaceTests(SynchronousTestCase):
    def test_where_it_is(self) -> None:
        self.assertEqual(str(Place(Kind.MACHINE, "m1")), "m1")
        self.assertEqual(str(Place(Kind.GROUP, "dell")), "groups/dell")
        self.assertEqual(str(Place(Kind.DEFAULT)), "default")

    def test_what_may_be_written_to(self) -> None:
        """Names become directories: only what is one everywhere, and no reserved word."""
        for name in ("52:54:00:00:00:01", "web-1.example.com", "a_b", "X"):
            self.assertEqual(Place.checked(Kind.MACHINE, name), Place(Kind.MACHINE, name))
        for name in ("", ".", "..", ".x", "a/b", "a b", "é", "groups", "Default", "a\n", "x" * 201):
            with self.assertRaises(ValueError, msg=name):
                Place.checked(Kind.MACHINE, name)
        self.assertEqual(Place.checked(Kind.GROUP, "default").name, "default")
        self.assertEqual(Place.checked(Kind.DEFAULT), Place(Kind.DEFAULT))


class KeyTests(SynchronousTestCase):
    def test_the_file_that_is_made_for_it(self) -> None:
        """Every row has a name of its own, that its own extension or name is read from."""
        for extension, kind in BY_EXTENSION.items():
            key = Key(Place(Kind.GROUP, "g"), extension)
            self.assertEqual(str(key), f"groups/g/{kind.filename}")
            self.assertIs(format_of(kind.filename), kind)
        self.assertEqual(len(BY_EXTENSION), len(FORMATS) + len(PARTS))


class DocumentTests(SynchronousTestCase):
    def test_nothing_in_it(self) -> None:
        """No format takes it for an answer; of a seed's parts it is what is there by default."""
        for data in b"", b" \r\n":
            for kind in FORMATS:
                said = Document.of("m1/x", kind, data).error
                self.assertEqual(said, "empty: want something in it, if only a comment")
            for part in PARTS.values():
                self.assertEqual(Document.of("m1/x", part, data).error, "")

    def test_its_size_is_bounded(self) -> None:
        kind = BY_EXTENSION["cfg"]
        self.assertEqual(Document.of("s", kind, b"x" * MAX_DOCUMENT).error, "")
        self.assertIn("larger", Document.of("s", kind, b"x" * (MAX_DOCUMENT + 1)).error)

    def test_what_is_wrong_is_said_in_a_line(self) -> None:
        """Whatever stands where something else should: the log is not filled with it."""
        many = b", ".join([b"'member'"] * 10000)
        for extension, data in (
            ("toml", b"extends = [" + many + b"]\n"),
            ("yaml", b"match: [" + many + b"]\n"),
            ("cfg", b"{{ a | lower" + b" " * 10000 + b"b }}\n"),
        ):
            error = Document.of("m/a", BY_EXTENSION[extension], data).error
            self.assertTrue(0 < len(error) <= MAX_ERROR, (extension, len(error)))
            self.assertTrue(error.startswith("line 1: "), error)

    def test_a_broken_one_keeps_its_bytes(self) -> None:
        """What it says can still be looked at; what it serves is nothing."""
        document = Document.of("m/a.toml", BY_EXTENSION["toml"], b"a =")
        self.assertEqual(document.data, b"a =")
        self.assertIn("line 1", document.error)


class FolderTests(SynchronousTestCase):
    def test_two_documents_of_one_extension(self) -> None:
        """The first by file name is used, the other is a problem; other spellings are others."""
        files = {
            "machine-1/a.yaml": b"a: 1",
            "machine-1/b.yaml": b"b: 1",
            "machine-1/c.yml": b"c: 1",
        }
        [folder] = listing(files).folders.values()
        self.assertEqual(folder.documents["yaml"].source, "machine-1/a.yaml")
        self.assertEqual(folder.documents["yml"].source, "machine-1/c.yml")
        text = "ignored: machine-1/a.yaml is the yaml document here"
        self.assertEqual(folder.problems, (Problem("machine-1/b.yaml", text),))

    def test_an_unreadable_directory_holds_its_place_in_every_format(self) -> None:
        folder = Folder(Place(Kind.MACHINE, "machine-1"), error="unreadable: denied")
        self.assertEqual(set(folder.documents), set(BY_EXTENSION))
        self.assertTrue(all(each.error for each in folder.documents.values()))
        self.assertEqual(folder.problems, (Problem("machine-1", "unreadable: denied"),))
