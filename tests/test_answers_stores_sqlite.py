"""Tests for ``rescriptum.answers.stores.sqlite`` beside what it has in common with other stores."""

import os
import resource
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from threading import Thread

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import Key, Kind, Place
from rescriptum.answers.stores.database import SCHEMA
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.errors import Unavailable


def machine(name: str, extension: str = "ks") -> Key:
    return Key(Place(Kind.MACHINE, name), extension)


class SQLiteStoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute() / "made" / "answers.db"
        self.store = self.opened()

    def opened(self, busy: float = 0) -> SQLiteStore:
        store = SQLiteStore(self.path, busy)
        self.addCleanup(store.close)
        return store

    def raw(self, *statements: str) -> list[tuple[object, ...]]:
        """:returns: what the last statement gives another program."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            for statement in statements:
                rows = connection.execute(statement).fetchall()
        return rows

    def held(self) -> dict[str, bytes]:
        folders = self.store.listing().folders
        return {each.source: each.data for folder in folders.values() for each in folder.found}

    def reason(self) -> str:
        """:returns: why nothing can be read."""
        with self.assertRaises(Unavailable) as caught:
            self.store.listing()
        source, _, reason = str(caught.exception).partition(": ")
        self.assertEqual(source, str(self.path))
        return reason

    def test_describe(self) -> None:
        self.assertEqual(self.store.describe(), f"sqlite:{self.path}")

    def test_the_first_write_makes_it(self) -> None:
        """With the directories above it, durable, and not for everybody to read."""
        self.store.put(machine("m1"), b"1")
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o640)
        self.assertEqual(self.raw("PRAGMA user_version"), [(SCHEMA,)])
        self.assertEqual(self.raw("PRAGMA journal_mode"), [("wal",)])

    def test_it_belongs_to_whom_its_directory_does(self) -> None:
        """Root imports; the server, which is somebody else, reads it and writes beside it."""
        self.path.parent.mkdir(parents=True)
        if os.geteuid() == 0:
            os.chown(self.path.parent, 65534, 65534)
        self.store.put(machine("m1"), b"1")
        owner = self.path.parent.stat().st_uid
        made = [each.stat().st_uid for each in self.path.parent.iterdir()]
        self.assertEqual(made, [owner] * 3)

    def test_an_empty_file_is_an_empty_set(self) -> None:
        """What is left when the power fails before the tables are made."""
        self.path.parent.mkdir(parents=True)
        self.path.touch()
        self.assertEqual((self.held(), self.store.listing().problems), ({}, ()))

    def test_only_what_changed_is_read(self) -> None:
        """A row that changes behind the back of its number is not, nor is any other row."""
        for number in range(100):
            self.store.put(machine(f"m{number}"), b"first")
        self.store.listing()
        self.raw(
            "DROP TRIGGER documents_are_replaced",
            "UPDATE documents SET data = x'00'",
            "INSERT OR REPLACE INTO documents (kind, name, extension, data)"
            " VALUES ('machine', 'm7', 'ks', CAST('second' AS BLOB))",
        )
        held = self.held()
        self.assertEqual(held.pop("m7/rhel.ks"), b"second")
        self.assertEqual((len(held), set(held.values())), (99, {b"first"}))

    def test_own_deletions_read_nothing(self) -> None:
        """A server that disarms its machines knows which are gone: it does not look who is left."""
        for name in ("m1", "m2", "m3"):
            self.store.put(machine(name), b"1")
        self.store.listing()
        self.raw("DROP TRIGGER documents_are_replaced", "UPDATE documents SET name = 'x' || name")
        self.raw("UPDATE documents SET name = 'm1' WHERE name = 'xm1'")
        self.raw("UPDATE documents SET name = 'm2' WHERE name = 'xm2'")
        self.store.delete(machine("m1"))
        self.assertEqual(set(self.held()), {"m2/rhel.ks", "m3/rhel.ks"})
        self.store.move(machine("m2"), machine("m4"))
        self.assertEqual(set(self.held()), {"m3/rhel.ks", "m4/rhel.ks"})

    def test_what_else_is_written_changes_nothing(self) -> None:
        """Another program's table, and a deletion that finds nothing: the very same listing."""
        self.store.put(machine("m1"), b"1")
        listing = self.store.listing()
        self.raw("CREATE TABLE notes (text)", "DELETE FROM documents WHERE name = 'm2'")
        self.assertIs(self.store.listing(), listing)

    def test_a_move_that_fails_half_way(self) -> None:
        """Moves nothing: at no moment is the document in two places, or in none."""
        self.store.put(machine("m1"), b"1")
        self.raw(
            "CREATE TRIGGER stuck BEFORE DELETE ON documents"
            " BEGIN SELECT RAISE(ABORT, 'stuck'); END"
        )
        with self.assertRaisesRegex(Unavailable, "stuck"):
            self.store.move(machine("m1"), machine("m2"))
        self.assertEqual(self.held(), {"m1/rhel.ks": b"1"})

    def test_other_programs_replace(self) -> None:
        """An update would keep the row's number: the database refuses it, with a reason."""
        self.store.put(machine("m1"), b"1")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "INSERT OR REPLACE is"):
            self.raw("UPDATE documents SET data = x'32'")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "CHECK"):
            self.raw(
                "INSERT INTO documents (kind, name, extension, data)"
                " VALUES ('machine', 'm2', 'ks', 'text')"
            )
        self.assertEqual(self.held(), {"m1/rhel.ks": b"1"})

    def test_formats_of_a_later_version_are_ignored(self) -> None:
        """As a file of an unknown extension is, when it goes away too."""
        self.store.put(machine("m1"), b"1")
        self.raw(
            "INSERT INTO documents (kind, name, extension, data)"
            " VALUES ('machine', 'm2', 'new', x'')"
        )
        self.assertEqual(self.held(), {"m1/rhel.ks": b"1"})
        self.assertEqual(self.store.keys(), [machine("m1")])
        self.raw("DELETE FROM documents WHERE extension = 'new'")
        self.assertEqual(self.held(), {"m1/rhel.ks": b"1"})

    def test_a_newer_database_is_refused(self) -> None:
        self.store.put(machine("m1"), b"1")
        self.store.close()
        self.raw("PRAGMA user_version = 2")
        wanted = "database schema is version 2, this program understands 1"
        self.assertEqual(self.reason(), wanted)
        with self.assertRaisesRegex(Unavailable, wanted):
            self.store.put(machine("m1"), b"2")

    def test_databases_of_other_programs(self) -> None:
        """Are not written to, nor changed in any other way."""
        self.path.parent.mkdir(parents=True)
        self.raw("CREATE TABLE documents (a)", "PRAGMA user_version = 1")
        before = self.path.read_bytes()
        self.assertEqual(self.reason(), "the database of another program")
        with self.assertRaises(Unavailable):
            self.store.put(machine("m1"), b"1")
        self.assertEqual(self.path.read_bytes(), before)

    def test_no_database(self) -> None:
        """A file of something else, and one that is damaged, are told and are no empty set."""
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(b"no database\n" * 1000)
        self.assertEqual(self.reason(), "file is not a database; damaged, or no database")
        self.path.unlink()
        self.store.put(machine("m1"), b"x" * 100_000)
        self.store.close()
        data = bytearray(self.path.read_bytes())
        data[4096:] = b"\xff" * (len(data) - 4096)
        self.path.write_bytes(data)
        self.assertIn("malformed; damaged, or no database", self.reason())

    def test_where_no_database_can_be(self) -> None:
        """Below a file, or at a directory: told with what would be right."""
        self.path.mkdir(parents=True)
        self.assertRegex(self.reason(), "; user .+ has to be able to write it and its directory$")
        self.path.rmdir()
        self.path.parent.rmdir()
        self.path.parent.touch()
        self.assertEqual(self.reason(), "Not a directory")
        with self.assertRaisesRegex(Unavailable, "Not a directory"):
            self.store.put(machine("m1"), b"1")

    def test_while_another_program_writes(self) -> None:
        """Reading goes on as it was; writing says why not, and can be tried again."""
        self.store.put(machine("m1"), b"1")
        listing = self.store.listing()
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM documents")
            self.assertIs(self.store.listing(), listing)
            with self.assertRaisesRegex(Unavailable, "another program keeps it locked"):
                self.store.put(machine("m1"), b"2")
            connection.execute("ROLLBACK")
        self.assertIs(self.store.listing(), listing)
        self.store.put(machine("m1"), b"2")
        self.assertEqual(self.held(), {"m1/rhel.ks": b"2"})

    def test_what_cannot_be_written(self) -> None:
        """Leaves what was there; once there is room again, everything goes on."""
        self.store.put(machine("m1"), b"1")
        self.store.listing()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, limits[1]))
        try:
            for call in (
                lambda: self.store.put(machine("m1"), b"x" * 500_000),
                lambda: self.store.put(machine("m2"), b"x" * 500_000),
            ):
                self.assertRaises(Unavailable, call)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(self.held(), {"m1/rhel.ks": b"1"})
        self.store.put(machine("m1"), b"x" * 500_000)
        self.assertEqual(len(self.held()["m1/rhel.ks"]), 500_000)

    def test_another_file_in_its_place(self) -> None:
        """Is noticed, and so is that there is none any more: no machine is served from a ghost."""
        self.store.put(machine("m1"), b"1")
        self.assertEqual(self.held(), {"m1/rhel.ks": b"1"})
        for each in self.path.parent.iterdir():
            each.unlink()
        self.assertEqual(self.held(), {})
        self.assertIn("no such database", self.store.listing().problems[0].text)
        self.opened().put(machine("m2"), b"2")
        self.assertEqual(self.held(), {"m2/rhel.ks": b"2"})
        third = SQLiteStore(self.path.with_name("third.db"))
        third.put(machine("m3"), b"3")
        third.close()
        for each in self.path.parent.glob("answers.db-*"):
            each.unlink()
        self.path.with_name("third.db").replace(self.path)
        self.assertEqual(self.held(), {"m3/rhel.ks": b"3"})

    def test_a_backup_that_is_restored(self) -> None:
        """Into the database that is open: rows come back with the numbers that they had."""
        self.store.put(machine("m1"), b"old")
        backup = self.path.with_name("backup.db")
        with (
            closing(sqlite3.connect(self.path)) as connection,
            closing(sqlite3.connect(backup)) as to,
        ):
            connection.backup(to)
        self.store.put(machine("m1"), b"new")
        self.store.put(machine("m2"), b"new")
        self.assertEqual(set(self.held().values()), {b"new"})
        with (
            closing(sqlite3.connect(backup)) as connection,
            closing(sqlite3.connect(self.path)) as to,
        ):
            connection.backup(to)
        self.assertEqual(self.held(), {"m1/rhel.ks": b"old"})

    def test_any_thread(self) -> None:
        """A pool gives each call to whichever thread is free."""
        for number in range(3):
            thread = Thread(target=self.store.put, args=(machine(f"m{number}"), b"x"))
            thread.start()
            thread.join()
        self.assertEqual(len(self.held()), 3)
