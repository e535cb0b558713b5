"""Tests for the gateway's database: what it is given, how it is opened, what its errors say."""

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec

from sqlalchemy import Connection, MetaData, select, text
from sqlalchemy.exc import OperationalError
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from rescriptum.contract.refusals import Rejected
from rescriptum.errors import ConfigError, RescriptumError
from rescriptum.gateway.lease import LeaseRow
from rescriptum.gateway.stores import engine, leases, locations, sites, tables, troubles
from rescriptum.gateway.stores.database import Database
from rescriptum.gateway.stores.notices import Notices
from rescriptum.gateway.stores.telling import Notice, notify
from rescriptum.testing import MemoryWorkers
from tests.gateway_stores import NOW, OverSQLite, Stores, done

_P = ParamSpec("_P")

PASSWORD = "hunter2-7f3a"


def problem(test: SynchronousTestCase, url: str) -> str:
    """:returns: why a database is not opened: one line."""
    try:
        database = Database(url, MemoryWorkers())
        failure = test.failureResultOf(Deferred.fromCoroutine(database.start()))
    except ConfigError as e:
        failure = Failure(e)
    failure.trap(RescriptumError)
    said = str(failure.value)
    test.assertNotIn("\n", said)
    return said


class LocationTests(SynchronousTestCase):
    def test_spellings(self) -> None:
        """Both names of PostgreSQL mean psycopg 3."""
        for scheme in ("postgres", "postgresql", "postgresql+psycopg"):
            url = locations.location(f"{scheme}://u:{PASSWORD}@db.example:6432/gw?sslmode=require")
            self.assertEqual(url.drivername, "postgresql+psycopg")
            self.assertEqual((url.host, url.port, url.database), ("db.example", 6432, "gw"))
            self.assertEqual(url.query, {"sslmode": "require"})
        self.assertEqual(locations.location("sqlite:////a/b.db").database, "/a/b.db")

    def test_threads(self) -> None:
        """SQLite has one writer."""
        self.assertEqual(locations.threads("sqlite:///a"), 1)
        self.assertEqual(locations.threads("postgres:///gw"), locations.CONNECTIONS)

    def test_what_is_none(self) -> None:
        """Each is told in one line that says what would be right, and no password."""
        for url in (
            "",
            "gateway.db",
            f"mysql://u:{PASSWORD}@host/gw",
            f"postgresql+psycopg2://u:{PASSWORD}@host/gw",
            f"postgresql://u:{PASSWORD}@host:port/gw",
            f"://u:{PASSWORD}@host",
            "sqlite://gateway.db",
            "sqlite:///gateway.db?mode=ro",
        ):
            said = problem(self, url)
            self.assertRegex(said, r"^database_url: .*want sqlite:///PATH")
            self.assertNotIn(PASSWORD, said)

    def test_without_psycopg(self) -> None:
        """SQLite works all the same, and PostgreSQL says what to install."""
        kept = sys.modules.pop("psycopg", None)
        self.addCleanup(sys.modules.pop, "psycopg", None)
        if kept is not None:
            self.addCleanup(sys.modules.__setitem__, "psycopg", kept)
        sys.modules["psycopg"] = None  # type: ignore[assignment]
        said = problem(self, f"postgresql://u:{PASSWORD}@host/gw")
        self.assertIn("pip install 'rescriptum[postgres]'", said)
        self.assertNotIn(PASSWORD, said)
        database = Database("sqlite://", MemoryWorkers())
        self.successResultOf(Deferred.fromCoroutine(database.start()))
        self.assertEqual(done(database, sites.all_sites).items, ())

    def test_no_password_is_shown(self) -> None:
        database = Database(f"postgresql://u:{PASSWORD}@db.example/gw", MemoryWorkers())
        self.assertEqual(str(database), "gw at db.example:5432")
        self.assertNotIn(PASSWORD, repr(database))


class TroubleTests(SynchronousTestCase):
    """What is said of errors, whatever a driver puts into them."""

    def said(self, text: str) -> str:
        url = locations.location(f"postgresql://u:{PASSWORD}@db.example/gw")
        return troubles.said(OperationalError("SELECT 1", {}, Exception(text)), url)

    def test_one_line_without_values(self) -> None:
        """What stands behind the first line are values of rows."""
        line = self.said("duplicate key\nDETAIL:  Key (a)=(b) already exists.")
        self.assertEqual(line, "gw at db.example:5432: duplicate key")
        self.assertEqual(self.said("\x1b[31m\x00").isprintable(), True)
        self.assertLessEqual(len(self.said("x" * 1000)), 300)
        self.assertIn("no reason given", self.said(""))

    def test_no_password(self) -> None:
        self.assertNotIn(PASSWORD, self.said(f'bad option "password={PASSWORD}"'))


class FileTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.url = f"sqlite:///{self.path}"

    def start(self) -> Database:
        database = Database(self.url, MemoryWorkers())
        self.successResultOf(Deferred.fromCoroutine(database.start()))
        self.addCleanup(lambda: self.successResultOf(Deferred.fromCoroutine(database.close())))
        return database

    def test_how_it_is_kept(self) -> None:
        """For nobody else's eyes, and on the disk when a commit returns."""
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        database = self.start()
        for each in self.path.parent.glob(self.path.name + "*"):
            self.assertEqual(each.stat().st_mode & 0o777, 0o600, each)

        def pragmas(connection: Connection) -> list[object]:
            names = ("journal_mode", "synchronous", "foreign_keys")
            return [connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in names]

        self.assertEqual(done(database, pragmas), ["wal", 2, 1])

    def test_opened_again(self) -> None:
        done(self.start(), sites.create, "ber", NOW)
        self.assertEqual(len(done(self.start(), sites.all_sites).items), 1)

    def test_damaged(self) -> None:
        self.path.write_bytes(b"not a database, and long enough to have a header" * 100)
        said = problem(self, self.url)
        self.assertIn(str(self.path), said)
        self.assertIn("damaged, or no database", said)

    def test_damaged_within(self) -> None:
        """One page: whoever needs it is told what is the matter, others see no difference."""
        database = self.start()
        done(database, sites.create, "ber", NOW)
        root = text("SELECT rootpage FROM sqlite_master WHERE name = 'sites'")
        page = done(database, lambda c: int(c.execute(root).scalar_one()))
        self.successResultOf(Deferred.fromCoroutine(database.close()))
        with self.path.open("r+b") as file:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 4096)
        database = self.start()
        with self.assertRaises(Rejected) as caught:
            done(database, sites.all_sites)
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.assertIn("malformed", caught.exception.detail)
        self.assertEqual(done(database, leases.read, "ber"), LeaseRow())

    def test_no_directory(self) -> None:
        said = problem(self, f"sqlite:///{self.path}/gateway.db")
        self.assertIn("No such file or directory", said)

    def test_of_another_program(self) -> None:
        with sqlite3.connect(self.path) as other:
            other.execute("CREATE TABLE nodes (a)")
        other.close()
        said = problem(self, self.url)
        self.assertIn("'nodes' that is not ours", said)

    def test_of_a_newer_release(self) -> None:
        database = self.start()
        change = text("UPDATE alembic_version SET version_num = '9999'")
        done(database, lambda c: c.execute(change) and None)
        self.successResultOf(Deferred.fromCoroutine(database.close()))
        said = problem(self, self.url)
        self.assertRegex(said, "newer release .*9999.* run that release, or restore a backup")

    def test_migrated_whole_or_not_at_all(self) -> None:
        """A migration that fails leaves no table behind."""
        with sqlite3.connect(self.path) as other:
            other.execute("CREATE VIEW workflow_steps AS SELECT 1")
        other.close()
        self.assertIn("workflow_steps", problem(self, self.url))
        with sqlite3.connect(self.path) as other:
            names = other.execute("SELECT name FROM sqlite_master").fetchall()
        other.close()
        self.assertEqual(names, [("workflow_steps",)])

    def test_kept_locked(self) -> None:
        """By another program, for too long: not now; and the gateway forgets nothing for it."""
        self.patch(engine, "BUSY", 0)
        database = self.start()
        lost: list[int] = []
        database.when_lost(lambda: lost.append(1))
        done(database, lambda c: c.execute(text("SELECT 1")) and None)
        other = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        with self.assertRaises(Rejected) as caught:
            done(database, sites.create, "ber", NOW)
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.assertIn("locked", caught.exception.detail)
        self.assertEqual(lost, [])
        other.execute("ROLLBACK")
        done(database, sites.create, "ber", NOW)

    def test_after_close(self) -> None:
        database = self.start()
        self.successResultOf(Deferred.fromCoroutine(database.close()))
        with self.assertRaises(Rejected) as caught:
            done(database, sites.all_sites)
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.successResultOf(Deferred.fromCoroutine(database.close()))


class TransactionBehaviour(Stores):
    def test_all_or_nothing(self) -> None:
        """Whatever ends it: a refusal, or a fault of ours."""

        def half(connection: Connection, error: Exception) -> None:
            sites.create(connection, "ber", NOW)
            raise error

        for error in (Rejected("conflict"), ZeroDivisionError()):
            with self.assertRaises(type(error)):
                self.do(half, error)
        self.refused("not-found", sites.get, "ber")

    def test_a_refused_statement_ends_it(self) -> None:
        """On either database: what comes after a conflict is not done."""
        self.do(sites.create, "ber", NOW)

        def twice(connection: Connection) -> None:
            sites.create(connection, "muc", NOW)
            sites.create(connection, "ber", NOW)

        self.refused("conflict", twice)
        self.refused("not-found", sites.get, "muc")

    def test_values_that_no_database_keeps(self) -> None:
        self.refused("invalid-message", lambda c: sites.create(c, "ber", 2**70))

    def test_faults_of_ours_stay_what_they_are(self) -> None:
        with self.assertRaises(Exception) as caught:
            self.do(lambda c: c.execute(text("SELECT nothing FROM nowhere")) and None)
        if self.database.is_shared:
            self.assertNotIsInstance(caught.exception, RescriptumError)

    def test_tables_are_as_they_are_described(self) -> None:
        """What the migrations make of an empty database is what the tables say."""
        from alembic.autogenerate import compare_metadata
        from alembic.migration import MigrationContext

        def compared(connection: Connection) -> list[object]:
            options = {"compare_type": True, "compare_server_default": True}
            context = MigrationContext.configure(connection, opts=options)
            return list(compare_metadata(context, tables.metadata))

        self.assertEqual(self.do(compared), [])

        def found(connection: Connection) -> set[str]:
            reflected = MetaData()
            reflected.reflect(connection)
            return set(reflected.tables) - {"alembic_version"}

        self.assertEqual(self.do(found), set(tables.metadata.tables))

    def test_opening_again_changes_nothing(self) -> None:
        self.do(sites.create, "ber", NOW)
        self.database = self.opened()
        self.do(sites.get, "ber")


class SQLiteTransactionTests(OverSQLite, TransactionBehaviour, SynchronousTestCase):
    """Over SQLite."""


@implementer(IReactorFromThreads)
class Turns:
    """A reactor whose next turn is asked for."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []

    def callFromThread(
        self, callable: Callable[..., object], *args: object, **kwargs: object
    ) -> None:
        self._calls.append(lambda: callable(*args, **kwargs))

    def turn(self) -> None:
        calls, self._calls = self._calls, []
        for each in calls:
            each()


class NoticeTests(SynchronousTestCase):
    """Within one process: over SQLite there is no other."""

    def setUp(self) -> None:
        self.database = Database("sqlite://", MemoryWorkers())
        self.successResultOf(Deferred.fromCoroutine(self.database.start()))
        verifyObject(IReactorFromThreads, turns := Turns())
        self.turns = turns
        self.notices = Notices(self.database, turns)
        self.notices.start()
        self.heard: list[str] = []

    def did(
        self,
        work: Callable[Concatenate[Connection, _P], object],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> None:
        """A transaction, and the reactor's next turn."""
        done(self.database, work, *args, **kwargs)
        self.turns.turn()

    def test_told_once_committed(self) -> None:
        self.notices.subscribe("lease", self.heard.append)

        def tell(connection: Connection) -> None:
            for _ in range(2):
                notify(connection, "lease", "ber")
            notify(connection, "spec", "ber")
            self.assertEqual(self.heard, [])

        self.did(tell)
        self.assertEqual(self.heard, ["ber"])

    def test_not_told_when_it_was_undone(self) -> None:
        self.notices.subscribe("lease", self.heard.append)

        def undone(connection: Connection) -> None:
            notify(connection, "lease", "ber")
            raise Rejected("conflict")

        with self.assertRaises(Rejected):
            self.did(undone)
        self.did(lambda c: c.execute(select(1)) and None)
        self.assertEqual(self.heard, [])

    def test_unsubscribed(self) -> None:
        over = self.notices.subscribe("events", self.heard.append)
        self.did(notify, "events")
        over()
        self.did(notify, "events")
        self.assertEqual(self.heard, [""])

    def test_one_that_fails_harms_no_other(self) -> None:
        def fails(key: str) -> None:
            raise ZeroDivisionError

        self.notices.subscribe("lease", fails)
        self.notices.subscribe("lease", self.heard.append)
        self.did(notify, "lease", "ber")
        self.assertEqual(self.heard, ["ber"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_stopped(self) -> None:
        self.notices.subscribe("events", self.heard.append)
        self.successResultOf(Deferred.fromCoroutine(self.notices.stop()))
        self.did(notify, "events")
        self.assertEqual(self.heard, [])

    def test_of_other_releases(self) -> None:
        """A topic that is not known is passed over."""
        self.assertIsNone(Notice.parse("weather ber"))
        self.assertEqual(Notice.parse("lease ber"), Notice("lease", "ber"))
        self.assertEqual(Notice.parse("events "), Notice("events", ""))

    def test_those_who_change_something_tell(self) -> None:
        self.notices.subscribe("lease", self.heard.append)
        self.did(sites.create, "ber", NOW)
        self.assertEqual(self.heard, ["ber"])
