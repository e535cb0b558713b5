"""Tests for ``rescriptum.answers.stores.copying``."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import MAX_DOCUMENT, Key, Kind, Place
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.stores.copying import Copied, export_to, import_from
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.answers.stores.store import Store
from rescriptum.errors import NotFound, Refused, Unavailable

#: A document of every kind, and bytes that an editor would change.
FILES = {
    "52-54-00-12-34-56/boot.ipxe": b"#!ipxe\r\nboot\r\n",
    "52-54-00-12-34-56/proxmox.toml": b"\xef\xbb\xbf# a comment\na   =   1",
    "52:54:00:12:34:57/debian.preseed": b"\xff\xfe no text",
    "default/ubuntu.yaml": b"#cloud-config\n",
    "groups/dell/answer.json": b'{ "a": 1 }',
    "groups/dell/meta-data": b"",
}

_names = st.text("0123456789abcdefABC-_.:", min_size=1, max_size=12).filter(
    lambda name: not name.startswith(".") and name.lower() not in ("default", "groups")
)
_places = st.one_of(
    st.builds(Place, st.sampled_from([Kind.MACHINE, Kind.GROUP]), _names),
    st.just(Place(Kind.DEFAULT)),
)
_sets = st.dictionaries(
    st.builds(Key, _places, st.sampled_from(sorted(BY_EXTENSION))),
    st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)),
    min_size=1,
    max_size=8,
)


def unfollowed(done: int, of: int) -> None:
    """Nobody looks on."""


def tree(directory: Path) -> dict[str, bytes]:
    """:returns: every file below it, hidden ones too."""
    found = (each for each in directory.rglob("*") if each.is_file())
    return {str(each.relative_to(directory)): each.read_bytes() for each in found}


def plant(directory: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


class CopyingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = self.fresh()
        self.store = self.database()

    def fresh(self) -> Path:
        return Path(self.mktemp()).absolute()

    def database(self) -> SQLiteStore:
        store = SQLiteStore(self.fresh())
        self.addCleanup(store.close)
        return store

    def imported(self, directory: Path, store: Store | None = None) -> Copied:
        return import_from(directory, store or self.store, time.time, unfollowed)

    def exported(self, directory: Path, store: Store | None = None) -> Copied:
        return export_to(store or self.store, directory, time.time, unfollowed)

    def test_there_and_back(self) -> None:
        """To the byte, whatever the bytes; a second time finds everything as it is."""
        plant(self.directory, FILES)
        out = self.fresh()
        self.assertEqual(self.imported(self.directory), Copied(6, 0, ()))
        self.assertEqual(self.exported(out), Copied(6, 0, ()))
        self.assertEqual(tree(out), FILES)
        self.assertEqual(self.imported(self.directory), Copied(0, 6, ()))
        self.assertEqual(self.exported(out), Copied(0, 6, ()))
        self.assertEqual(self.exported(self.directory), Copied(0, 6, ()))

    def test_any_set_there_and_back(self) -> None:
        """From files to the database, to files, and into files again: four equal sets."""

        @settings(deadline=None, max_examples=25)
        @given(_sets)
        def check(documents: dict[Key, bytes]) -> None:
            files = {str(key): data for key, data in documents.items()}
            first, second, third, store = self.fresh(), self.fresh(), self.fresh(), self.database()
            first.mkdir()
            plant(first, files)
            wanted = Copied(len(documents), 0, ())
            self.assertEqual(self.imported(first, store), wanted)
            self.assertEqual({key: store.get(key) for key in documents}, documents)
            self.assertEqual(self.exported(second, store), wanted)
            self.assertEqual(tree(second), files)
            self.assertEqual(self.imported(second, AnswerDirectory(third, time.time)), wanted)
            self.assertEqual(tree(third), files)
            store.close()

        check()

    def test_import_goes_over_what_is_there(self) -> None:
        """What differs is replaced, what is equal or not in the directory stays."""
        plant(self.directory, {"m1/x.ks": b"new", "m2/x.ks": b"same"})
        for name, data in ("m1", b"old"), ("m2", b"same"), ("m3", b"other"):
            self.store.put(Key(Place(Kind.MACHINE, name), "ks"), data)
        self.assertEqual(self.imported(self.directory), Copied(1, 1, ()))
        held = list(map(self.store.get, self.store.keys()))
        self.assertEqual(held, [b"new", b"same", b"other"])

    def test_import_says_what_it_leaves_out(self) -> None:
        """
        Files that nobody is served, names that no store takes, and what cannot be read; what is
        broken only inside goes along in silence.
        """
        plant(
            self.directory,
            {
                "m1/a.toml": b"a =",
                "m1/b.toml": b"",
                "m1/README.md": b"",
                "m2.ks": b"",
                "groups/g.ks": b"",
                "my machine/x.ks": b"text",
                "my machine/x.toml": b"a =",
                "m4/x.ks": b"x" * (MAX_DOCUMENT + 1),
                ".git/x.ks": b"",
            },
        )
        (self.directory / "m5").symlink_to("nowhere")
        done = self.imported(self.directory)
        self.assertEqual((done.written, done.unchanged), (1, 0))
        self.assertEqual(
            {each.source: each.text for each in done.problems},
            {
                "m2.ks": "not served: it belongs in m2/rhel.ks",
                "groups/g.ks": "not served: it belongs in groups/g/rhel.ks",
                "m1/b.toml": "ignored: m1/a.toml is the toml document here",
                "my machine/x.ks": (
                    "want letters, digits, . _ : and -, no dot first, not 'my machine'"
                ),
                "my machine/x.toml": (
                    "want letters, digits, . _ : and -, no dot first, not 'my machine'"
                ),
                "m4/x.ks": "larger than 1048576 bytes",
                "m5": "a symbolic link that leads nowhere",
            },
        )
        # What is wrong in one that is left out is said too, and not instead.
        self.assertEqual(len(done.problems), 8)

    def test_import_into_a_directory_that_is_elsewhere(self) -> None:
        """One machine that cannot be written keeps no other from it."""
        plant(self.directory, {"m1/x.ks": b"1", "m2/x.ks": b"2"})
        to, elsewhere = self.fresh(), self.fresh()
        to.mkdir()
        elsewhere.mkdir()
        (to / "m1").symlink_to(elsewhere)
        done = self.imported(self.directory, AnswerDirectory(to, time.time))
        self.assertEqual((done.written, [each.source for each in done.problems]), (1, ["m1/x.ks"]))
        self.assertEqual(tree(to), {"m2/rhel.ks": b"2"})

    def test_import_of_nothing(self) -> None:
        """An empty directory is an empty set; none at all is a mistake."""
        self.assertRaises(NotFound, self.imported, self.directory)
        self.directory.touch()
        self.assertRaises(NotFound, self.imported, self.directory)
        self.directory.unlink()
        self.directory.mkdir()
        self.assertEqual(self.imported(self.directory), Copied(0, 0, ()))

    def test_export_into_what_is_not_empty(self) -> None:
        """Is refused, naming the first thing that is in the way, and nothing is written."""
        plant(self.directory, FILES)
        self.imported(self.directory)
        for name, data in (
            ("README.md", b""),
            ("m9/x.ks", b""),
            ("groups/m9/x.ks", b""),
            ("a/b/c/d", b""),
            ("groups/dell/answer.json", b"other"),
            ("groups/dell/other.json", FILES["groups/dell/answer.json"]),
        ):
            out = plant(self.fresh(), {"default/ubuntu.yaml": b"#cloud-config\n", name: data})
            before = tree(out)
            with self.assertRaisesRegex(Refused, f"is not empty: .* its {name}$"):
                self.exported(out)
            self.assertEqual(tree(out), before)
        out = plant(self.fresh(), {"elsewhere/x.ks": b""})
        (out / "default").symlink_to("elsewhere")
        with self.assertRaisesRegex(Refused, "its default$"):
            self.exported(out)

    def test_export_of_no_store(self) -> None:
        """Nothing is written, and why is told; a store that is empty is fine."""
        done = self.exported(self.fresh())
        self.assertEqual((done.written, len(done.problems)), (0, 1))
        self.assertIn("no such database", done.problems[0].text)
        self.store.put(Key(Place(Kind.DEFAULT), "ks"), b"")
        self.store.delete(Key(Place(Kind.DEFAULT), "ks"))
        self.assertEqual(self.exported(self.fresh()), Copied(0, 0, ()))

    def test_export_goes_on(self) -> None:
        """Where it was interrupted; what is hidden, as a repository is, is in nobody's way."""
        plant(self.directory, FILES)
        self.imported(self.directory)
        [name, *_] = FILES
        out = plant(self.fresh(), {name: FILES[name], ".git/config": b"", "groups/.keep": b""})
        (out / "m1").mkdir()
        self.assertEqual(self.exported(out), Copied(5, 1, ()))
        self.assertEqual(tree(out), {**FILES, ".git/config": b"", "groups/.keep": b""})

    def test_export_where_nothing_is_to_be_written(self) -> None:
        """Every document is there: what else there is does not matter."""
        plant(self.directory, FILES)
        self.imported(self.directory)
        plant(self.directory, {"README.md": b"", "m9/x.ks": b""})
        self.assertEqual(self.exported(self.directory), Copied(0, 6, ()))

    def test_export_writes_below_the_directory_only(self) -> None:
        """A database may hold any name that somebody wrote into it: nothing is even read there."""
        self.store.put(Key(Place(Kind.MACHINE, "m1"), "ks"), b"1")
        path = self.store.describe().removeprefix("sqlite:")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "INSERT INTO documents (kind, name, extension, data)"
                " VALUES ('machine', '../outside', 'ks', x'00')"
            )
        out = plant(self.fresh() / "out", {".keep": b""})
        outside = plant(out.parent / "outside", {"rhel.ks": b"\0"})
        done = self.exported(out)
        self.assertEqual((done.written, done.unchanged), (1, 0))
        self.assertEqual(tree(out), {".keep": b"", "m1/rhel.ks": b"1"})
        [problem] = done.problems
        self.assertEqual(problem.source, "../outside/rhel.ks")
        self.assertEqual(tree(outside), {"rhel.ks": b"\0"})

    def test_what_cannot_be_read_or_written(self) -> None:
        """Is no empty set, and no success."""
        plant(self.directory, FILES)
        self.imported(self.directory)
        out = self.fresh()
        out.touch()
        with self.assertRaisesRegex(Unavailable, f"^{out}: Not a directory$"):
            self.exported(out)
        with self.assertRaises(Unavailable):
            self.imported(self.directory, SQLiteStore(self.directory))

    def test_progress(self) -> None:
        """After each document, those that fail too."""
        plant(self.directory, {**FILES, "my machine/x.ks": b""})
        (self.directory / "m5").symlink_to("nowhere")
        told: list[tuple[int, int]] = []
        import_from(self.directory, self.store, time.time, lambda *each: told.append(each))
        self.assertEqual(told, [(number, 7) for number in range(1, 8)])
