"""One gateway process: its keys, its database, its listener, and what it does by itself."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

from attrs import asdict, field, frozen
from sqlalchemy import Connection
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads, IReactorTime
from twisted.logger import Logger

from .. import __version__
from ..contract.refusals import Rejected
from ..errors import ConfigError
from ..net.keyfiles import KeyFiles
from ..net.watch import Watch
from ..net.workers import WorkerPool
from ..values import Problem
from ..web.renewal import CertificateService
from ..web.routing import Mounted
from ..web.service import WebService
from ..web.site import Limits, Site
from .agents.resource import Agents, Terms
from .agents.service import AgentsService
from .api.call import Means as OperatorMeans
from .api.feed import FOLLOWERS, Feed
from .api.resource import Operators
from .api.shapes.gateway import Pins
from .conductor import Conductor
from .config import Config
from .ending import cancel
from .hub import Hub
from .keyring import SERVED, Keyring
from .means import Means
from .signer import Signer
from .starting import start
from .store import pins, prepared, worker
from .stores import discovered, events, sessions, tokens
from .stores.database import Database
from .stores.notices import Notices

#: Seconds between two looks at workflows, at the worker's certificate, at what is old, and at
#: the serving certificate.
WORKFLOWS, SIGNING, PRUNING, SERVING = 5.0, 30.0, 60.0, 3600.0
#: Connections beside the agents' streams: each agent has one more for what it says.
_OPERATORS: Final = 64
#: Seconds that a request and its reply may take, streams apart.
_SECONDS: Final = 30.0


class Reactor(IReactorTime, IReactorFromThreads):
    """What a gateway asks of a reactor, beside what polls its descriptors."""


@frozen(kw_only=True)
class Surroundings:
    """
    What is outside of a process.

    :ivar names: what agents may call this gateway, where the configuration says nothing.
    :ivar now: Unix time. :ivar monotonic: seconds of a clock that is never set back.
    :ivar boottime: seconds of a clock that goes on while the machine sleeps.
    :ivar octets: gives so many random ones.
    """

    names: tuple[str, ...]
    now: Callable[[], float]
    monotonic: Callable[[], float]
    boottime: Callable[[], float]
    octets: Callable[[int], bytes] = field(repr=False)


class GatewayService(Service):
    """
    Everything that one process of a gateway is; any number of them may share a database.

    What an operator has to mend is told before anything is served: keys, certificate and database
    are opened with the port.
    """

    name = "gateway"
    _log = Logger()

    def __init__(
        self, reactor: Reactor, config: Config, database: WorkerPool, around: Surroundings
    ) -> None:
        """
        :param database: threads that the database alone is used in.
        :raises ConfigError: for a database of no kind that is known.
        """
        self._reactor = reactor
        self._config = config
        self._workers = database
        self._around = around
        self._names = config.server_names or around.names
        self._process = f"p-{around.octets(8).hex()}"
        self._database = Database(config.database_url, database)
        self._notices = Notices(self._database, reactor)
        self._hub = Hub(around.monotonic)
        self._agents = AgentsService(
            reactor,
            self._database,
            self._notices,
            self._hub,
            self._process,
            around.boottime,
            around.now,
        )
        self._feed = Feed(self._database, self._notices, reactor, around.now, __version__)
        self._watches: list[Watch] = []
        self._files = KeyFiles(config.keys_dir)
        served = config.own or (config.keys_dir / SERVED, config.keys_dir / SERVED)
        self._certificate = CertificateService(reactor, *served)
        self._web: WebService | None = None
        self._unsubscribe: list[Callable[[], None]] = []

    # Start.

    def privilegedStartService(self) -> None:
        """:raises ConfigError: with every reason why this process cannot serve."""
        super().privilegedStartService()
        keyring, self._files = prepared(self._config, self._utc())
        if self._config.own is None:
            keyring.served(self._files, self._names, self._utc())
        told = pins(self._config, keyring, self._names[0])
        try:
            self._database.open()
        except Rejected as e:
            raise ConfigError([Problem(str(self._database), str(e))]) from e
        self._certificate.privilegedStartService()
        read = partial(worker, self._files, keyring)
        signer = Signer(self._database, self._workers, read)
        means = self._means(keyring, signer)
        self._web = self._listener(self._applications(keyring, told, means))
        self._web.privilegedStartService()
        self._watches = self._watching(keyring, signer, means)
        for name, value in asdict(told).items():
            if value:
                self._log.info('{name} = "{value}"', name=name, value=value)

    def _applications(self, keyring: Keyring, told: Pins, means: Means) -> Mounted:
        around = self._around
        terms = Terms(
            signing=keyring.join_signing,
            encryption=keyring.join_encryption,
            vault=keyring.vault,
            names=frozenset(each.lower() for each in self._names),
            process=self._process,
            heartbeat_ms=self._config.heartbeat_ms,
            sessions=self._config.sessions,
            now=around.now,
            monotonic=around.monotonic,
            octets=around.octets,
        )
        agents = Agents(self._database, self._hub, terms, self._agents.opened, self._agents.healthy)
        operators = OperatorMeans(
            now=around.now,
            monotonic=around.monotonic,
            octets=around.octets,
            pins=told,
            seal=means.seal,
            worker=means.worker,
            start=partial(start, means),
            cancel=partial(cancel, means),
            version=__version__,
        )
        return Mounted(agents, {"api": Operators(self._database, self._feed, operators)})

    def _means(self, keyring: Keyring, signer: Signer) -> Means:
        octets = self._around.octets
        return Means(
            process=self._process,
            new_id=lambda: f"w-{octets(8).hex()}",
            new_token=lambda: octets(32).hex(),
            seal=partial(self._seal, keyring),
            worker=signer.worker,
        )

    def _listener(self, applications: Mounted) -> WebService:
        sessions_ = self._config.sessions
        limits = Limits(
            connections=2 * sessions_ + FOLLOWERS + _OPERATORS,
            streams=sessions_ + FOLLOWERS,
            total_seconds=_SECONDS,
            stall_seconds=_SECONDS,
            body_bytes=4 << 20,
        )
        site = Site(applications, reactor=self._reactor, limits=limits, workers=self._workers)
        return WebService(
            self._reactor, "gateway", self._config.listen, site, self._certificate, grace=5
        )

    def _watching(self, keyring: Keyring, signer: Signer, means: Means) -> list[Watch]:
        around, clock = self._around, self._reactor
        conductor = Conductor(self._database, means, around.now, around.monotonic)
        workflows = Watch(clock, "workflows", WORKFLOWS, conductor.look)
        self._unsubscribe.append(self._notices.subscribe("workflows", workflows.wake))
        watches = [
            Watch(clock, "worker certificate", SIGNING, signer.look),
            Watch(clock, "old records", PRUNING, lambda _: self._pruned()),
            workflows,
        ]
        if self._config.own is None:
            renewal = partial(self._renewed, keyring)
            watches.append(Watch(clock, "serving certificate", SERVING, lambda _: renewal()))
        return watches

    def startService(self) -> None:
        super().startService()
        assert self._web is not None, "not bound"
        self._certificate.startService()
        self._notices.start()
        self._agents.startService()
        self._feed.start()
        for watch in self._watches:
            watch.start()
        self._web.startService()
        self._log.info(
            "Gateway process {process} on {database}",
            process=self._process,
            database=str(self._database),
        )

    # Stop.

    def stopService(self) -> Deferred[None]:
        """:returns: fires when nothing of it is left."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        self._hub.stop()  # agents look for another process, and keep their sessions
        if self._web is not None:
            await self._web.stopService()
        self._feed.stop()
        for each in self._unsubscribe:
            each()
        for watch in self._watches:
            await watch.stop()
        await self._agents.stopService()
        await self._notices.stop()
        await self._database.close()
        self._certificate.stopService()

    # By itself.

    def _utc(self) -> datetime:
        return datetime.fromtimestamp(self._around.now(), UTC)

    def _seal(self, keyring: Keyring, name: str, value: bytes) -> bytes:
        return keyring.vault.seal_secret(name, value, self._around.octets(12))

    async def _renewed(self, keyring: Keyring) -> None:
        now = self._utc()
        if await self._workers.run(partial(keyring.served, self._files, self._names, now)):
            self._certificate.renew()

    async def _pruned(self) -> None:
        now = int(self._around.now())
        kept = self._config.events_days * 86_400
        await self._database.run(partial(_prune, now=now, kept=kept))


def _prune(connection: Connection, now: int, kept: int) -> None:
    events.prune(connection, now, kept)
    sessions.prune(connection, now)
    tokens.prune(connection, now)
    discovered.prune(connection, now)
