"""The gateway's database for tests, SQLite or PostgreSQL, and rows that many of them need."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, select
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import Envelope
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import Hello
from rescriptum.gateway.records import CommandRow, Machine, Node, SessionRow
from rescriptum.gateway.stores import machines, nodes, sessions, sites, tables
from rescriptum.gateway.stores.database import Database
from rescriptum.testing import MemoryWorkers
from tests import postgres

if TYPE_CHECKING:
    Case = SynchronousTestCase
else:
    Case = object

_P = ParamSpec("_P")
_T = TypeVar("_T")

NOW = 1_700_000_000


class Stores(Case):
    """
    What is said of either database; a subclass says of which.

    ``database`` is one process's, and whatever :meth:`opened` returns another's.
    """

    database: Database

    def setUp(self) -> None:
        self.url = self.made()
        self.database = self.opened()

    def made(self) -> str:
        """:returns: the URL of a new, empty database."""
        raise NotImplementedError

    def opened(self, url: str | None = None) -> Database:
        """Runs its transactions in the thread that asks."""
        database = Database(url or self.url, MemoryWorkers())
        self.successResultOf(Deferred.fromCoroutine(database.start()))
        self.addCleanup(lambda: self.successResultOf(Deferred.fromCoroutine(database.close())))
        return database

    def do(
        self, work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """:returns: what one transaction returned."""
        return done(self.database, work, *args, **kwargs)

    def refused(
        self,
        code: str,
        work: Callable[Concatenate[Connection, _P], object],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> str:
        """:returns: the detail of the refusal."""
        with self.assertRaises(Rejected) as caught:
            self.do(work, *args, **kwargs)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception.detail)


def done(
    database: Database,
    work: Callable[Concatenate[Connection, _P], _T],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """:returns: what one transaction returned, in whatever thread asks."""
    results: list[_T] = []
    errors: list[BaseException] = []
    running = Deferred.fromCoroutine(database.run(lambda c: work(c, *args, **kwargs)))
    running.addCallbacks(results.append, lambda failure: errors.append(failure.value))
    if errors:
        raise errors[0]
    [result] = results
    return result


class OverSQLite(Stores):
    """In a file, as it is."""

    def made(self) -> str:
        return f"sqlite:///{Path(self.mktemp()).absolute()}"


class OverPostgres(Stores):
    """In a database of the run's own server."""

    server: postgres.Server

    def made(self) -> str:
        self.server = postgres.server()
        return self.server.url(self.server.database())


# Rows.


def node(name: str = "node-1", site: str = "ber", role: Role = Role.SITE) -> Node:
    return Node(name, site, role, {"kty": "OKP"}, f"jkt-of-{name}", None, NOW)


def session(name: str, of: str = "node-1", site: str = "ber", boots: bool = True) -> SessionRow:
    return SessionRow(name, of, site, f"sha256:{name}", "process-1", boots, NOW, NOW)


def hello(nonce: str, of: str = "node-1", site: str = "ber") -> Hello:
    kinds = ("boot.prepareRamdisk", "cache.pull")
    return Hello(of, Role.SITE, site, "boot-1", "1.2.3", "gateway", nonce, NOW, kinds, boots=True)


def command(name: str, of: str = "node-1", workflow: str = "wf-1") -> CommandRow:
    return CommandRow(
        name, of, "bmc.power", workflow, "power", b"{}", f"sha256:{name}",
        Envelope(unsigned="{}"), NOW, NOW + 600,
    )  # fmt: skip


def machine(name: str = "m1", *macs: str, site: str = "ber") -> Machine:
    return Machine(name, site, macs)


def settle(connection: Connection, site: str = "ber", *names: str) -> None:
    """A site with nodes, each with a session that is called as it is."""
    sites.create(connection, site, NOW)
    for name in names:
        nodes.add(connection, node(name, site))
        made = session(f"session-of-{name}", name, site)
        sessions.open_session(connection, made, hello(f"nonce-of-{name}", name, site), NOW)


def known(connection: Connection, name: str, *macs: str, site: str = "ber") -> Machine:
    """A machine of a site that is there."""
    return machines.create(connection, machine(name, *macs, site=site), NOW)


# What there is.


def live_sessions(connection: Connection, site: str = "ber") -> list[str]:
    """:returns: names of those that go on, the longest-lived first."""
    table = tables.sessions
    mine = (table.c.site == site) & table.c.ended_at.is_(None)
    order = select(table.c.id).where(mine).order_by(table.c.opened_at, table.c.id)
    return list(connection.execute(order).scalars())


def sessions_of(connection: Connection, node: str) -> list[str]:
    """:returns: names of those that are remembered, the newest first."""
    table = tables.sessions
    order = select(table.c.id).where(table.c.node == node).order_by(table.c.opened_at.desc())
    return list(connection.execute(order).scalars())
