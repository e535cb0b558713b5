"""The gateway's stores over a real PostgreSQL: what holds of SQLite, and what only it can do."""

import contextlib
import select
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event, Thread, get_ident

from sqlalchemy import Connection, text
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase

from rescriptum.contract.refusals import Rejected
from rescriptum.errors import ConfigError, RescriptumError
from rescriptum.gateway.stores import leases
from rescriptum.gateway.stores import notices as notices_module
from rescriptum.gateway.stores.database import ATTEMPTS, Database
from rescriptum.gateway.stores.notices import Notices
from rescriptum.gateway.stores.telling import notify
from rescriptum.testing import MemoryWorkers
from tests.gateway_stores import NOW, OverPostgres, done, settle
from tests.test_gateway_conducting import InterlockBehaviour, OverBehaviour
from tests.test_gateway_stores_agents import (
    DiscoveredBehaviour,
    NodeBehaviour,
    SessionBehaviour,
    SiteBehaviour,
    TokenBehaviour,
)
from tests.test_gateway_stores_database import TransactionBehaviour
from tests.test_gateway_stores_leases import (
    LeaseBehaviour,
)
from tests.test_gateway_stores_races import RaceBehaviour
from tests.test_gateway_stores_things import (
    EventBehaviour,
    ImageBehaviour,
    MachineBehaviour,
    OperatorBehaviour,
    ProcessBehaviour,
    SecretBehaviour,
)
from tests.test_gateway_stores_work import (
    BatchBehaviour,
    CommandBehaviour,
    WorkflowBehaviour,
)

PASSWORD = "hunter2-7f3a"


class PostgresDiscoveredTests(OverPostgres, DiscoveredBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresNodeTests(OverPostgres, NodeBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSessionTests(OverPostgres, SessionBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSiteTests(OverPostgres, SiteBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresTokenTests(OverPostgres, TokenBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresLeaseTests(OverPostgres, LeaseBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresEventTests(OverPostgres, EventBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresImageTests(OverPostgres, ImageBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresMachineTests(OverPostgres, MachineBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresOperatorTests(OverPostgres, OperatorBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresProcessTests(OverPostgres, ProcessBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSecretTests(OverPostgres, SecretBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresBatchTests(OverPostgres, BatchBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresCommandTests(OverPostgres, CommandBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresWorkflowTests(OverPostgres, WorkflowBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresOverTests(OverPostgres, OverBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresInterlockTests(OverPostgres, InterlockBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresRaceTests(OverPostgres, RaceBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresTransactionTests(OverPostgres, TransactionBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class Relay:
    """
    Between the gateway and the server, by TCP: cuts a connection where it hurts most.

    :ivar address: what to connect to.
    :ivar cut_commits: while True, a COMMIT reaches the server, and its answer nobody.
    """

    def __init__(self, sockets: Path) -> None:
        """:param sockets: the directory of the server's socket."""
        self._server = str(sockets / ".s.PGSQL.5432")
        self._listening = socket.create_server(("127.0.0.1", 0))
        host, port = self._listening.getsockname()
        self.address = f"{host}:{port}"
        self.cut_commits = False
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """When every client has gone."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._threads:
            each.join(30)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            thread = Thread(target=self._carry, args=(client, server))
            self._threads.append(thread)
            thread.start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                readable, _, _ = select.select([client, server], [], [])
                for source in readable:
                    data = source.recv(65536)
                    (server if source is client else client).sendall(data)
                    if not data:
                        return
                    if source is client and self.cut_commits and b"COMMIT\0" in data:
                        server.recv(65536)  # it is done
                        return


class CutTests(OverPostgres, SynchronousTestCase):
    """What is known when a connection is lost: nothing, and nothing is claimed."""

    def setUp(self) -> None:
        super().setUp()
        self.do(settle)
        self.do(leases.grant, "ber", 0, "s", "n", 15_000, NOW)
        self.lost: list[str] = []

    def watched(self, url: str) -> Database:
        database = self.opened(url)
        database.when_lost(lambda: self.lost.append("lost"))
        return database

    def test_between_commit_and_answer(self) -> None:
        """
        The heartbeat is recorded and must not be acknowledged; whoever observes beats forgets
        what was seen; the next one is recorded as if nothing had been.
        """
        relay = Relay(self.server.sockets)
        self.addCleanup(relay.close)
        name = self.url.rpartition("?")[0].rpartition("/")[2]
        database = self.watched(self.server.url(name, relay.address, PASSWORD))
        self.addCleanup(lambda: self.successResultOf(Deferred.fromCoroutine(database.close())))
        self.assertTrue(done(database, leases.record, "ber", 1, "s"))
        relay.cut_commits = True
        with self.assertRaises(Rejected) as caught:
            done(database, leases.record, "ber", 1, "s")
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.assertNotIn(PASSWORD, str(caught.exception))
        self.assertEqual(self.lost, ["lost"])
        self.assertEqual(self.do(leases.read, "ber").beat, 2)
        relay.cut_commits = False
        self.assertTrue(done(database, leases.record, "ber", 1, "s"))
        self.assertEqual(self.do(leases.read, "ber").beat, 3)

    def test_restarted(self) -> None:
        """Whoever asks first is refused and told of the loss; then all is well."""
        database = self.watched(self.url)
        done(database, leases.read, "ber")
        self.server.restart()
        with self.assertRaises(Rejected) as caught:
            done(database, leases.record, "ber", 1, "s")
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.assertEqual(self.lost, ["lost"])
        self.assertTrue(done(database, leases.record, "ber", 1, "s"))
        self.assertEqual(done(database, leases.read, "ber").beat, 1)

    def test_down(self) -> None:
        """As long as nobody answers, everybody is refused, in one line; then all is well."""
        database = self.watched(self.url)
        self.server.stop()
        try:
            for _ in range(3):
                with self.assertRaises(Rejected) as caught:
                    done(database, leases.read, "ber")
                self.assertEqual(caught.exception.code, "store-unavailable")
                self.assertNotIn("\n", caught.exception.detail)
            self.assertEqual(self.lost, ["lost"] * 3)
            other = Database(self.url.replace("//rescriptum@", f"//u:{PASSWORD}@"), MemoryWorkers())
            failure = self.failureResultOf(Deferred.fromCoroutine(other.start()), Rejected)
            self.assertNotIn(PASSWORD, str(failure.value))
        finally:
            self.server.start()
        done(database, leases.read, "ber")

    def test_cut_in_a_transaction(self) -> None:
        """By an operator of the database: nothing of it was done."""
        database = self.watched(self.url)

        def cut(connection: Connection) -> None:
            leases.record(connection, "ber", 1, "s")
            pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            self.server.sql(f"SELECT pg_terminate_backend({pid}, 10000)")
            leases.record(connection, "ber", 1, "s")

        with self.assertRaises(Rejected) as caught:
            done(database, cut)
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.assertEqual(self.lost, ["lost"])
        self.assertEqual(done(database, leases.read, "ber").beat, 0)

    def test_read_only(self) -> None:
        """A standby that was not promoted: what it says is not what others decide by."""
        database = self.watched(self.url)

        def read_only(connection: Connection) -> None:
            connection.execute(text("SET TRANSACTION READ ONLY"))
            leases.record(connection, "ber", 1, "s")

        with self.assertRaises(Rejected) as caught:
            done(database, read_only)
        self.assertEqual(caught.exception.code, "store-unavailable")
        self.assertEqual(self.lost, ["lost"])


class WayTests(OverPostgres, SynchronousTestCase):
    """Transactions that are in each other's way."""

    def test_of_a_deadlock_both_are_done(self) -> None:
        for name in ("ber", "muc"):
            self.do(settle, name)
            self.do(leases.grant, name, 0, "s", "n", 15_000, NOW)
        other = self.opened()
        half = Barrier(2)
        tries: list[str] = []
        over = Event()

        def both(connection: Connection, first: str, second: str) -> None:
            tries.append(first)
            if len(tries) > 2:
                over.wait(30)  # else the one that gave way may be in the other's way once more
            leases.record(connection, first, 1, "s")
            if len(tries) <= 2:
                half.wait(30)
            leases.record(connection, second, 1, "s")

        def one(database: Database, first: str, second: str) -> None:
            done(database, both, first, second)
            over.set()

        with ThreadPoolExecutor(2) as threads:
            here = threads.submit(one, self.database, "ber", "muc")
            there = threads.submit(one, other, "muc", "ber")
            for each in (here, there):
                each.result(60)
        self.assertEqual(len(tries), 3)
        self.assertEqual([row.beat for row in self.do(leases.rows).values()], [2, 2])

    def test_tried_again_only_so_often(self) -> None:
        tries: list[int] = []

        def never(connection: Connection) -> None:
            tries.append(1)
            connection.execute(text("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"))

        self.refused("store-unavailable", never)
        self.assertEqual(len(tries), ATTEMPTS)

    def test_somebody_elses_lock(self) -> None:
        """It is not waited for without end; the connection is not lost by it."""
        self.do(settle)
        lost: list[int] = []
        self.database.when_lost(lambda: lost.append(1))
        other = self.opened()

        def holding(connection: Connection) -> None:
            connection.execute(text("LOCK TABLE lease"))

            def impatient(within: Connection) -> None:
                within.execute(text("SET LOCAL lock_timeout = '10ms'"))
                leases.grant(within, "ber", 0, "s", "n", 15_000, NOW)

            self.refused("store-unavailable", impatient)

        done(other, holding)
        self.assertEqual(lost, [])

    def test_commits_are_kept(self) -> None:
        """Whatever the server's own default is."""
        name = self.server.database()
        self.server.sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
        database = self.opened(self.server.url(name))
        setting = text("SHOW synchronous_commit")
        self.assertEqual(done(database, lambda c: str(c.execute(setting).scalar_one())), "on")

    def test_of_a_newer_release(self) -> None:
        change = text("UPDATE alembic_version SET version_num = '9999'")
        self.do(lambda c: c.execute(change) and None)
        other = Database(self.url, MemoryWorkers())
        failure = self.failureResultOf(Deferred.fromCoroutine(other.start()), ConfigError)
        self.assertIn("newer release", str(failure.value))
        self.assertNotIn("\n", str(failure.value))

    def test_not_allowed(self) -> None:
        """A role that may not make tables is told so, in one line."""
        name = self.server.database()
        self.server.sql(f"CREATE ROLE {name} LOGIN")
        url = self.server.url(name).replace("//rescriptum@", f"//{name}@")
        other = Database(url, MemoryWorkers())
        failure = self.failureResultOf(Deferred.fromCoroutine(other.start()), ConfigError)
        self.assertIn("permission denied for schema public", str(failure.value))
        self.assertNotIn("\n", str(failure.value))

    def test_wrong_options(self) -> None:
        """An operator's mistake in the URL is told in one line, without its password."""
        url = self.server.url("nowhere", password=PASSWORD)
        for wrong, said in ((url, '"nowhere" does not exist'), (f"{url}&sslmod=x", "sslmod")):
            other = Database(wrong, MemoryWorkers())
            failure = self.failureResultOf(Deferred.fromCoroutine(other.start()), RescriptumError)
            self.assertIn(said, str(failure.value))
            self.assertNotIn("\n", str(failure.value))
            self.assertNotIn(PASSWORD, str(failure.value))


class NoticeTests(OverPostgres, TestCase):
    """From process to process, by the real reactor."""

    async def listening(self) -> Notices:
        notices = Notices(self.opened(), reactor)  # type: ignore[arg-type]
        notices.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(notices.stop()))
        return notices

    async def heard(self, notices: Notices, key: str) -> None:
        """Tell it until it is heard: who has just begun to listen may miss one."""
        found: Deferred[None] = Deferred()

        def hear(told: str) -> None:
            if told == key and not found.called:
                found.callback(None)

        over = notices.subscribe("lease", hear)
        telling = LoopingCall(self.tell, key)
        running = telling.start(0.1)
        await found.addTimeout(30, reactor)
        telling.stop()
        await running
        over()

    def tell(self, key: str) -> None:
        with contextlib.suppress(Rejected):  # of a server that was just restarted
            self.do(notify, "lease", key)

    async def test_heard_by_every_process(self) -> None:
        for notices in [await self.listening() for _ in range(2)]:
            await self.heard(notices, "ber")

    async def test_in_the_reactors_thread_in_order(self) -> None:
        notices = await self.listening()
        await self.heard(notices, "ready")
        told: list[tuple[str, int]] = []
        last: Deferred[None] = Deferred()

        def hear(key: str) -> None:
            told.append((key, get_ident()))
            if key == "c":
                last.callback(None)

        notices.subscribe("sessions", hear)
        for key in ("a", "b", "c"):
            self.do(notify, "sessions", key)
        await last.addTimeout(30, reactor)
        self.assertEqual(told, [(key, get_ident()) for key in ("a", "b", "c")])

    async def test_after_a_restart(self) -> None:
        """It listens again by itself; of the time between, it is said once that it was deaf."""
        self.patch(notices_module, "AGAIN", 0.01)
        notices = await self.listening()
        await self.heard(notices, "before")
        with capturedLogs() as events:
            self.server.restart()
            await self.heard(notices, "after")
        said = [each for each in events if "No notices" in str(each["log_format"])]
        self.assertEqual(len(said), 1)

    async def test_stopped(self) -> None:
        """Its connection is closed, also when it never was there."""
        notices = await self.listening()
        await self.heard(notices, "ber")
        listeners = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        self.assertEqual(self.server.sql(listeners), "1")
        await notices.stop()
        while self.server.sql(listeners) != "0":
            pass
        self.server.stop()
        try:
            again = Notices(self.database, reactor)  # type: ignore[arg-type]
            again.start()
            await again.stop()
        finally:
            self.server.start()
