"""The agent as twistd runs it: identity, journal and sessions, in the order of their need."""

import random
import secrets
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from .. import __version__
from ..boot.lease import NUMBER_BITS, AgentLease, LeaseFence, Stall
from ..contract.joining import SKEW
from ..contract.jose import sign
from ..contract.refusals import Rejected
from ..contract.reports import Discovered
from ..contract.sessions import Hello, SecretRequest
from ..contract.structure import JSON, plain
from ..errors import ConfigError, RescriptumError, Unavailable
from ..interfaces import Workers
from ..net.clocks import boottime
from ..values import Problem, Secret
from .backoff import Backoff
from .candidate import candidate, joined
from .character import Character
from .client import GatewayClient
from .commands import Trust
from .config import AgentConfig
from .desired import LOOK, DesiredState
from .intake import Intake
from .join import Applying, JoinPins, answered, asked
from .journal import Journal
from .kinds import KindTable
from .link import Link
from .recording import Recording
from .runner import Runner
from .session import Course, Inputs, session
from .store import DataDirectory, Identity

#: Seconds between two looks at the clocks.
TICK: Final = 1.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """:returns: of this boot of the machine; where the kernel has none, of this process."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return secrets.token_hex(16)


class AgentService(Service):
    """
    One agent.

    :ivar lease: what it knows of the boot lease.
    :ivar fence: the same, as boot services ask it.
    :ivar boots: whether machines can be served now: with another value a new session begins, and
        the lease of the old one is given up.
    """

    name = "agent"
    _log = Logger()
    _identity: Identity | None = None
    _journal: Journal | None = None
    _link: Link | None = None
    _inputs: Inputs | None = None
    _runner: Runner | None = None
    _recording: Recording | None = None
    _desired: DesiredState | None = None

    def __init__(
        self,
        clock: IReactorTime,
        config: AgentConfig,
        character: Character,
        client: GatewayClient,
        workers: Workers,
        token: str | None,
        fails: Callable[[str], None],
        fence: Callable[[], float] = boottime,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """
        :param workers: one thread, for the journal.
        :param token: for joining, where there is no identity yet.
        :param fails: called, once, when the agent cannot go on: with the reason.
        :param fence: the fence's clock. :param wall: the wall clock.
        """
        self._clock = clock
        self._config = config
        self._character = character
        self._client = client
        self._workers = workers
        self._token = token
        self._fails = fails
        self._fence = fence
        self._wall = wall
        self._directory = DataDirectory(config.data_dir)
        self.boots = self._said_boots = character.boots
        self._boot_id = boot_id()
        self.lease = AgentLease(secrets.randbits(NUMBER_BITS))
        self.fence = LeaseFence(self.lease, fence)
        self._stall = Stall()
        self._active = False
        self._tasks: set[Deferred[None]] = set()
        self._over: Deferred[None] = Deferred()
        self._ticking = LoopingCall(self._tick)
        self._looking = LoopingCall(self._look)
        for each in (self._ticking, self._looking):
            each.clock = clock

    def privilegedStartService(self) -> None:
        """:raises ConfigError: when the data directory cannot be had, or is another agent's."""
        super().privilegedStartService()
        self._directory.open()
        try:
            self._identity = self._directory.identity()
            self._suits(self._identity)
            if self._identity is not None:
                joined(self._directory)  # where its removal was cut off
            self._journal = self._directory.journal(self._wall())
        except Unavailable as e:
            self._directory.close()
            raise self._wrong(str(e)) from e
        except ConfigError:
            self._directory.close()
            raise

    def _suits(self, identity: Identity | None) -> None:
        if identity is None:
            if self._token is None:
                raise self._wrong(
                    "no identity yet, and no join token: give --token-file FILE or"
                    " RESCRIPTUM_JOIN_TOKEN ('rescriptum gateway token create SITE' makes one)"
                )
        elif (identity.site, identity.role) != (self._config.site, self._character.role):
            raise self._wrong(
                f"its identity is that of a {identity.role.value} agent of site {identity.site},"
                f" and this is one of {self._config.site}: give each its own data_dir"
            )

    def _wrong(self, text: str) -> ConfigError:
        return ConfigError([Problem(str(self._directory.path), text)])

    def startService(self) -> None:
        super().startService()
        self._spawn(self._begin())

    async def _begin(self) -> None:
        try:
            if self._identity is None:
                self._identity = await self._joined()
            trust = Trust.of(self._directory.trust())
            inputs, runner = self._assemble(self._identity, trust)
            await runner.start()
            found = await self._character.inventory()
            if found is not None:
                self.inventory(found)
        except Rejected as e:
            self._fails(f"{e}. {e.refusal.advice}")
            return
        except (RescriptumError, OSError) as e:
            self._fails(str(e))
            return
        if not self.running:
            return
        self._ticking.start(TICK)
        self._looking.start(LOOK, now=False)
        inputs.start()

    # Joining.

    async def _joined(self) -> Identity:
        """:raises RescriptumError: when the gateway refuses, or is not the pinned one."""
        backoff = Backoff()
        while True:
            try:
                return await self._join()
            except Unavailable as e:
                self._log.warn("Cannot join yet: {reason}", reason=str(e))
            backoff = backoff.ended(0)
            wait = backoff.wait(random.random())
            await deferLater(self._clock, wait, lambda: None)

    async def _join(self) -> Identity:
        config = self._config
        key = candidate(self._directory, self._token or "", self._wall())
        own = self._character
        who = Applying(
            own.role,
            config.site,
            self._token or "",
            key,
            self._boot_id,
            own.attestation,
            await own.inventory(),
        )
        pins = JoinPins(config.join_signing_pin, config.join_encryption_pin)
        asking = asked(
            await self._client.keys(), pins, who, secrets.token_urlsafe(24), int(self._wall())
        )
        answer = answered(asking, await self._client.join(asking.request))
        identity = Identity(answer.node_id, answer.site, self._character.role, key)
        assert self._journal is not None
        # Commands are issued by the gateway's clock; ours may be minutes ahead of it.
        self._journal.joined(answer.issued_at - SKEW)
        self._directory.joined(identity, answer.trust_bundle)
        joined(self._directory)
        self._log.info("Joined site {site} as {node}", site=identity.site, node=identity.node_id)
        return identity

    # The parts.

    def _assemble(self, identity: Identity, trust: Trust) -> tuple[Inputs, Runner]:
        assert self._journal is not None
        kinds = KindTable(self._character.role, self._character.kinds)
        link = self._link = Link(
            self._client,
            lambda: self._hello(identity, kinds),
            self.lease,
            self._fence,
            self._wall,
            self._clock.callLater,
            self._spawn,
            random.random,
            lambda: self._over.callback(None),
        )
        recording = self._recording = Recording(self._journal, self._workers, link.now)
        runner = self._runner = Runner(self._clock, recording, kinds, self._boot_id, link)
        intake = Intake(
            identity.node_id,
            identity.key,
            trust,
            kinds,
            recording,
            runner,
            link.outbox,
            link.now,
            link.posting.flush,
        )
        convergers = self._character.convergers(lambda: self.lease.status(self._fence()))
        self._desired = DesiredState(convergers, self._spawn, link.stated)
        inputs = self._inputs = session(Course(link, self._fence, random.random))
        link.wire(inputs, intake, self._desired)
        return inputs, runner

    def _hello(self, identity: Identity, kinds: KindTable) -> str:
        self._said_boots = self.boots
        hello = Hello(
            identity.node_id,
            identity.role,
            identity.site,
            self._boot_id,
            __version__,
            self._config.gateway_server_name,
            secrets.token_urlsafe(24),
            int(self._wall()),
            kinds.names,
            tuple(self._character.drivers()),
            labels=JSON(self._character.labels),
            boots=self.boots,
        )
        return sign("hello", plain(hello), identity.key)

    # Time.

    def _tick(self) -> None:
        now = self._fence()
        if self._stall.ticked(now, self._wall()) and self.lease.epoch:
            self._log.warn("This process, or its clocks, stood still: no proof of before counts")
            self.lease.distrust()
            if self._link is not None:
                self._link.hurry()
        if self.lease.is_open(now) != self._active:
            self._active = not self._active
            self._log.info(
                "Epoch {epoch} of the boot lease: {state}",
                epoch=self.lease.epoch,
                state="active" if self._active else "not active",
            )
            self._look()
        if self.boots is not self._said_boots and self._inputs is not None:
            self._inputs.changed()

    def _look(self) -> None:
        if self._desired is not None:
            self._desired.look()

    # What its boot server asks of it, and tells it.

    @property
    def identity(self) -> Identity | None:
        """None: it has not joined yet."""
        return self._identity

    def now(self) -> int:
        """:returns: the trusted time, in Unix seconds."""
        return int(self._wall()) if self._link is None else self._link.now()

    async def kept_secret(self, request: SecretRequest) -> Secret:
        """
        The same as before, if it was asked for under this epoch before.

        :raises Rejected: when the gateway refuses it.
        :raises Unavailable: when there is no session.
        """
        if self._link is None:
            raise Unavailable("there is no session to ask for secrets in")
        return await self._link.credentials.kept(request)

    def look(self) -> None:
        """Something has changed that convergers look at."""
        self._look()

    def found(self, machines: tuple[Discovered, ...]) -> None:
        """:param machines: all that boot and have no entry."""
        if self._link is not None:
            self._link.reporter.discovered(machines)
            self._link.posting.flush()

    def inventory(self, found: JSON) -> None:
        """:param found: all that there is."""
        if self._link is not None:
            self._link.reporter.inventory(found)
            self._link.posting.flush()

    async def told(self) -> bool:
        """:returns: whether every command has a result, and the gateway has it."""
        if self._recording is None or self._link is None or self._runner is None:
            return True
        self._link.posting.flush()
        return self._runner.idle and not await self._recording.unacknowledged()

    # What it is at.

    async def status(self) -> JSON:
        """:returns: for ``GET /status``; no secret."""
        identity, link = self._identity, self._link
        status: JSON = {
            "version": __version__,
            "role": self._character.role.value,
            "site": self._config.site,
            "gateway": self._config.gateway_url.to_text(),
            "node_id": None if identity is None else identity.node_id,
            "session": {"state": "joining", "name": None, "trouble": ""},
            "lease": plain(self.lease.status(self._fence())),
            "late_answers": self.fence.late,
            "desired_version": None if self._desired is None else self._desired.version,
            "sections": [],
            "journal": None,
        }
        if link is not None:
            status["session"] = link.status()
            status["sections"] = [plain(each) for each in link.reporter.sections]
        if self._recording is not None:
            status["journal"] = await self._journal_status(self._recording)
        return status

    async def _journal_status(self, recording: Recording) -> JSON:
        try:
            waiting = len(await recording.waiting())
            unacknowledged = len(await recording.unacknowledged())
        except Rejected as e:
            return {"trouble": str(e)}
        return {"waiting": waiting, "unacknowledged": unacknowledged}

    # The end.

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = Deferred.fromCoroutine(work)
        self._tasks.add(task)

        def ended(result: Failure | None) -> None:
            self._tasks.discard(task)
            if isinstance(result, Failure) and not result.check(CancelledError):
                self._log.failure("A part of the agent failed", failure=result)

        task.addBoth(ended)

    def stopService(self) -> Deferred[None]:
        """:returns: fires when the lease is released, or cannot be, and nothing is left behind."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        for each in (self._ticking, self._looking):
            if each.running:
                each.stop()
        if self._inputs is not None:
            self._inputs.stop()
            await self._over
        if self._runner is not None:
            await self._runner.stop()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await DeferredList(list(self._tasks))
        await self._client.close()
        if self._recording is not None:
            await self._recording.close()
        elif self._journal is not None:
            self._journal.close()
        self._directory.close()
