"""Tests for ``rescriptum.answers.documents``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import (
    MAX_DOCUMENT,
    AnswerSet,
    Document,
    Folder,
    Listing,
    format_of,
)
from rescriptum.answers.facts import Facts
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.errors import MalformedDocument
from rescriptum.values import Problem


def folder(name: str, **files: bytes) -> Folder:
    """A directory whose files are called ``x.EXTENSION``, or ``STEM.EXTENSION``."""
    documents = []
    for file, data in files.items():
        stem, _, extension = file.rpartition("_")
        source = f"{name}/{stem or 'x'}.{extension}"
        documents.append(Document.of(source, BY_EXTENSION[extension], data))
    return Folder(name, tuple(documents))


class FormatOfTests(SynchronousTestCase):
    def test_by_extension_in_any_case(self) -> None:
        self.assertEqual(format_of("Boot.IPXE"), BY_EXTENSION["ipxe"])
        self.assertEqual(format_of("a.b.ks"), BY_EXTENSION["ks"])
        for name in ("README.md", "notes.txt", "toml", "x.toml.bak", "x.", ""):
            self.assertIsNone(format_of(name))


class DocumentTests(SynchronousTestCase):
    def test_rendered(self) -> None:
        """Bytes as stored, or filled; bytes that are no UTF-8 survive around a placeholder."""
        kind = BY_EXTENSION["ks"]
        facts = Facts.of((), (("x", "é"),))
        self.assertEqual(Document.of("s", kind, b"\xff").rendered(facts), b"\xff")
        self.assertEqual(Document.of("s", kind, b"\xff{{ x }}").rendered(facts), b"\xff\xc3\xa9")

    def test_a_broken_one_says_where_it_is(self) -> None:
        document = Document.of("m/a.toml", BY_EXTENSION["toml"], b"a =")
        with self.assertRaises(MalformedDocument) as caught:
            document.rendered(Facts())
        self.assertTrue(str(caught.exception).startswith("m/a.toml: not TOML: "))

    def test_its_size_is_bounded(self) -> None:
        kind = BY_EXTENSION["cfg"]
        self.assertEqual(Document.of("s", kind, b"x" * MAX_DOCUMENT).error, "")
        self.assertIn("larger", Document.of("s", kind, b"x" * (MAX_DOCUMENT + 1)).error)


class AnswerSetTests(SynchronousTestCase):
    def test_machines_and_defaults(self) -> None:
        """A directory is a machine, its documents are by extension; ``default`` is nobody's."""
        answers = AnswerSet.of(
            Listing((folder("52:54:00:00:00:01", toml=b"", ipxe=b""), folder("Default", ks=b"")))
        )
        self.assertEqual(list(answers.machines), ["52:54:00:00:00:01"])
        self.assertEqual(set(answers.machines["52:54:00:00:00:01"]), {"toml", "ipxe"})
        self.assertEqual(set(answers.defaults), {"ks"})
        self.assertEqual(answers.problems, ())

    def test_two_documents_of_one_extension(self) -> None:
        """The first by file name is used, the other is a problem; other spellings are others."""
        answers = AnswerSet.of(
            Listing((folder("machine-1", a_yaml=b"first", b_yaml=b"second", a_yml=b"third"),))
        )
        self.assertEqual(answers.machines["machine-1"]["yaml"].body, b"first")
        self.assertEqual(answers.machines["machine-1"]["yml"].body, b"third")
        text = "ignored: machine-1/a.yaml is the yaml document here"
        self.assertEqual(answers.problems, (Problem("machine-1/b.yaml", text),))

    def test_two_directories_of_defaults(self) -> None:
        """The first by name is used, whole; the other is a problem."""
        answers = AnswerSet.of(
            Listing((folder("DEFAULT", ks=b"1"), folder("default", ks=b"2", cfg=b"3")))
        )
        self.assertEqual({each.body for each in answers.defaults.values()}, {b"1"})
        self.assertEqual(answers.problems, (Problem("default", "ignored: DEFAULT is there too"),))

    def test_a_broken_document_is_a_problem_and_stays(self) -> None:
        """It keeps its place, so that its machine gets an error and not the default."""
        answers = AnswerSet.of(Listing((folder("machine-1", toml=b"a ="),)))
        self.assertIsNone(answers.machines["machine-1"]["toml"].body)
        self.assertEqual([each.source for each in answers.problems], ["machine-1/x.toml"])

    def test_an_unreadable_directory_holds_its_place_in_every_format(self) -> None:
        answers = AnswerSet.of(Listing((Folder("machine-1", error="unreadable: denied"),)))
        self.assertEqual(set(answers.machines["machine-1"]), set(BY_EXTENSION))
        self.assertEqual(answers.problems, (Problem("machine-1", "unreadable: denied"),))

    def test_flat_files_are_told_where_they_belong(self) -> None:
        """The older layout is not served; every file is named with its new path."""
        answers = AnswerSet.of(Listing(loose=("52-54-00-00-00-01.toml", "default.Preseed")))
        self.assertEqual(answers.machines, {})
        self.assertEqual(
            [str(each) for each in answers.problems],
            [
                "52-54-00-00-00-01.toml: not served: it belongs in 52-54-00-00-00-01/proxmox.toml",
                "default.Preseed: not served: it belongs in default/debian.preseed",
            ],
        )

    def test_names_that_mislead(self) -> None:
        """
        Two spellings of one machine, a word of every URL, a name of nothing, a name no log can
        show: each is a problem.
        """
        names = ("525400000001", "52:54:00:00:00:01", "debian", "---", "bad\nname1")
        answers = AnswerSet.of(Listing(tuple(folder(name, ks=b"") for name in names)))
        self.assertEqual(
            {each.source: each.text.partition(":")[0] for each in answers.problems},
            {
                "52:54:00:00:00:01": "names the same machine as 525400000001",
                "debian": "claims every request with that word in its path; for all machines "
                "there is default/",
                "---": "never claims a request",
                "'bad\\nname1'": "never claims a request",
            },
        )
        self.assertEqual(answers.index.claims(["badname1"]), ())
