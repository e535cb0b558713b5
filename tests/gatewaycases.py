"""What tests of the gateway have in common: a database of their own, a site, nodes, sessions."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import Command, Envelope
from rescriptum.contract.joining import Role
from rescriptum.contract.jose import digest
from rescriptum.contract.keys import Key, generate, public_jwk
from rescriptum.contract.sessions import Hello
from rescriptum.contract.structure import JSON
from rescriptum.gateway.lease import LeaseRow
from rescriptum.gateway.records import CommandRow, CommandState, Event, Node, SessionRow
from rescriptum.gateway.signing import Draft
from rescriptum.gateway.stores import commands, events, leases, nodes, sessions, sites
from rescriptum.gateway.stores.database import Database
from rescriptum.testing import MemoryWorkers

_T = TypeVar("_T")

NOW = 1_800_000_000
SITE = "lab"


class Threads(MemoryWorkers):
    """
    :ivar error: what the next work ends with, in place of being done.
    :ivar slowly: called between work that is done and its answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.slowly: Callable[[], None] = lambda: None

    async def run(self, work: Callable[[], _T]) -> _T:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        result = await super().run(work)
        self.slowly()
        return result


class GatewayCase(SynchronousTestCase):
    """
    :ivar clock: of everything but documents; ``now`` is Unix time, and moves with it.
    :ivar threads: of the database.
    """

    def setUp(self) -> None:
        here = Path(self.mktemp())
        here.mkdir(parents=True)
        self.clock = Clock()
        self.threads = Threads()
        self.database = Database(f"sqlite:///{here / 'gateway.db'}", self.threads)
        self.done(self.database.start())
        self.addCleanup(lambda: self.done(self.database.close()))
        self.keys: dict[str, Key] = {}
        self.run_(lambda connection: sites.create(connection, SITE, NOW))

    def now(self) -> float:
        return NOW + self.clock.seconds()

    def done(self, awaitable: Awaitable[_T]) -> _T:
        """:returns: or raises, what is there already: nothing waits for a socket or a thread."""

        async def run() -> _T:
            return await awaitable

        results: list[_T | Failure] = []
        Deferred.fromCoroutine(run()).addBoth(results.append)
        [result] = results
        if isinstance(result, Failure):
            result.raiseException()
        return result

    def run_(self, work: Callable[[Connection], _T]) -> _T:
        return self.done(self.database.run(work))

    def node(self, name: str = "n1", role: Role = Role.SITE, site: str = SITE) -> Node:
        key = self.keys[name] = generate("Ed25519")
        made = Node(name, site, role, JSON(public_jwk(key)), key.thumbprint(), None, NOW)
        self.run_(lambda connection: nodes.add(connection, made))
        return made

    def session(
        self, name: str = "s1", node: str = "n1", boots: bool = True, site: str = SITE
    ) -> SessionRow:
        """:returns: one whose token is its own name."""
        now = int(self.now())
        row = SessionRow(name, node, site, digest(name.encode()), "p1", boots, now, now)
        hello = Hello(node, Role.SITE, site, "b", "1", "gateway", f"nonce-{name}", now)
        self.run_(lambda connection: sessions.open_session(connection, row, hello, now))
        return row

    def command(
        self, name: str = "c1", node: str = "n1", payload: JSON | None = None, **changes: object
    ) -> CommandRow:
        now = int(self.now())
        kind = str(changes.pop("kind", "power.off"))
        said = Command(name, node, kind, payload or {}, "w1", "st1", now, now + 600)
        draft = Draft.of(said)
        row = CommandRow(
            name,
            node,
            kind,
            "w1",
            "st1",
            draft.octets,
            draft.digest,
            Envelope(unsigned=draft.octets.decode()),
            now,
            now + 600,
            **changes,  # type: ignore[arg-type]
        )
        self.run_(lambda connection: commands.add(connection, row))
        return row

    def state(self, command: str = "c1") -> CommandState:
        return self.run_(lambda connection: commands.get(connection, command)).state

    def lease(self, site: str = SITE) -> LeaseRow:
        return self.run_(lambda connection: leases.read(connection, site))

    def grant(self, session: str = "s1", node: str = "n1") -> int:
        """:returns: the epoch that the session has now."""
        epoch = self.lease().epoch

        def work(connection: Connection) -> bool:
            return leases.grant(connection, SITE, epoch, session, node, 15_000, int(self.now()))

        self.assertTrue(self.run_(work))
        return epoch + 1

    def events(self) -> list[Event]:
        return self.run_(lambda connection: events.after(connection, 0, limit=1000))
