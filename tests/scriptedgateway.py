"""A gateway that does as a test says, over real TLS: for tests of agents."""

import json
from collections.abc import Callable
from typing import ClassVar

from attrs import define, field
from twisted.internet import reactor
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater

from rescriptum.contract.certificates import certificate_pin
from rescriptum.contract.commands import Command, Envelope
from rescriptum.contract.frames import (
    Accepted,
    Ack,
    AgentFrame,
    Close,
    CommandFrame,
    Desired,
    Heartbeat,
    Journalled,
    Ping,
    Refused,
    Release,
    ResultFrame,
    ServerFrame,
    agent_frames,
    server_fields,
)
from rescriptum.contract.joining import JoinAnswer, Joined, JoinRequest, Keys, TrustBundle
from rescriptum.contract.jose import opened, sign, unseal
from rescriptum.contract.keys import Key, generate, pin, public_jwk, public_key, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import (
    Hello,
    Problem,
    SecretAnswer,
    SecretRequest,
    SessionRequest,
    Welcome,
)
from rescriptum.contract.specs import LeaseSection, NodeSpec, ProxyTarget, SiteSpec
from rescriptum.contract.structure import JSON, parsed, plain, rendered, structured
from rescriptum.values import Listen
from rescriptum.web.reply import Finished, Reply, StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import Routes
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site
from rescriptum.web.stream import Stream
from tests.certificates import ChainServer, issued
from tests.webclient import InlineWorkers

NAME = "gw.internal"
TOKEN = "token-of-lyon"


@define
class Lease:
    """The one row of the site, as lease-security has it."""

    epoch: int = 0
    holder: str | None = None
    beat: int = 0


def refusing(code: str) -> Reply:
    error = Rejected(code)
    problem = Problem(code, error.detail, error.refusal.advice)
    return Reply(rendered(problem), "application/json", error.status)


@define(eq=False)
class ScriptedGateway:
    """
    :ivar frames: of agents, in order, but for heartbeats, which are in ``beats``.
    :ivar hears: whether agent frames are answered for; else they are heard and not confirmed.
    :ivar session: the name of the one that there is.
    :ivar targets: of the site's requests.
    """

    routes: ClassVar[Routes] = Routes()

    ttl_ms: int = 3000
    bundle: TrustBundle = field(factory=TrustBundle)
    signing: Key = field(factory=lambda: generate("Ed25519"))
    encryption: Key = field(factory=lambda: generate("X25519"))
    lease: Lease = field(factory=Lease)
    node_key: Key | None = None
    joins: list[JoinRequest] = field(factory=list)
    hellos: list[Hello] = field(factory=list)
    beats: list[Heartbeat] = field(factory=list)
    frames: list[AgentFrame] = field(factory=list)
    secrets: list[SecretRequest] = field(factory=list)
    hears: bool = True
    session: str | None = None
    refuses: str | None = None
    used: bool = False
    ack: Ack | None = None
    targets: tuple[ProxyTarget, ...] = ()
    _streams: list[Stream] = field(factory=list)
    _seq: int = 0
    _version: int = 0
    _service: WebService | None = None
    _ticking: IDelayedCall | None = None
    pin: str = field(default="", init=False)

    # The listener.

    def start(self) -> None:
        root = issued("root", authority=True)
        chain = issued("leaf", root, names=[NAME]), root
        self.pin = certificate_pin(root.certificate).text
        site = Site(self, reactor=reactor, limits=Limits(stall_seconds=60), workers=InlineWorkers())  # type: ignore[arg-type]
        self._service = WebService(
            reactor, "gateway", Listen("127.0.0.1", 0), site, ChainServer(chain), grace=0.1
        )
        self._service.privilegedStartService()
        self._service.startService()
        self._tick()

    async def stop(self) -> None:
        service, self._service = self._service, None
        if self._ticking is not None and self._ticking.active():
            self._ticking.cancel()
        for each in self._streams:
            each.abort("over")
        if service is not None:
            await service.stopService()

    @property
    def port(self) -> int:
        assert self._service is not None
        return self._service.address[1]

    def config(self, data_dir: str, port: int = 0) -> str:
        """:returns: a ``site.toml`` for agents of this gateway."""
        return (
            f'gateway_url = "https://127.0.0.1:{port or self.port}"\n'
            f'gateway_server_name = "{NAME}"\n'
            f'site = "lyon"\ndata_dir = "{data_dir}"\n'
            f'serving_ca_spki_pin = "{self.pin}"\n'
            f'join_signing_key_pin = "{pin(self.signing)}"\n'
            f'join_encryption_key_pin = "{pin(self.encryption)}"\n'
        )

    @property
    def streaming(self) -> bool:
        """Whether there is a stream to say something on."""
        return bool(self._streams)

    def _tick(self) -> None:
        if self._service is not None:
            self.say(Ping())
            self._ticking = IReactorTime(reactor).callLater(0.5, self._tick)

    # What a test has it do.

    def say(self, frame: ServerFrame) -> None:
        """To the stream that there is, if any."""
        for stream in self._streams[-1:]:
            ack = None if self.ack is None else plain(self.ack)
            line = {"seq": self._seq, **server_fields(frame), "ack": ack}
            self._seq += 1
            stream.write(json.dumps(line).encode() + b"\n")

    def desire(self) -> None:
        """Tell the desired state, with the lease as the row has it."""
        self._version += 1
        active = self.lease.holder is not None and self.lease.holder == self.session
        lease = LeaseSection(active, self.lease.epoch, self.ttl_ms)
        self.say(Desired(NodeSpec(self._version, SiteSpec(lease, (), self.targets))))

    def grant(self) -> None:
        """The next epoch is this session's."""
        self.lease = Lease(self.lease.epoch + 1, self.session)
        self.desire()

    def command(self, command: Command) -> None:
        self.say(CommandFrame(Envelope(unsigned=rendered(command).decode())))

    def close(self, reason: str) -> None:
        self.say(Close(reason))

    def lose_streams(self) -> None:
        streams, self._streams = self._streams, []
        for each in streams:
            each.abort("lost")

    async def until(self, true: Callable[[], object], seconds: float = 20) -> None:
        """:raises AssertionError: when it never comes true."""
        for _ in range(int(seconds / 0.02)):
            if true():
                return
            await deferLater(reactor, 0.02, lambda: None)
        raise AssertionError(f"never came true; frames: {self.frames}, hellos: {len(self.hellos)}")

    def of(self, kind: type[AgentFrame]) -> list[AgentFrame]:
        return [each for each in self.frames if isinstance(each, kind)]

    # What agents ask.

    @routes.get("v1/keys")
    def keys(self, request: Request) -> Reply:
        keys = Keys(JSON(public_jwk(self.signing)), JSON(public_jwk(self.encryption)))
        return Reply(rendered(keys), "application/json")

    @routes.post("v1/join")
    def join(self, request: Request) -> Reply:
        asked = structured(JoinRequest, parsed(request.body))
        self.joins.append(asked)
        token = unseal(asked.token, self.encryption)
        if self.refuses is not None:
            return refusing(self.refuses)
        if token["token"] != TOKEN:
            return refusing("unknown-token")
        if self.used:
            return refusing("token-used")
        self.used = True
        self.node_key = public_key(asked.node_key, "Ed25519")
        said = opened("joining", asked.joining, trusted(self.node_key)).claims
        jkt, nonce = str(said["jkt"]), str(said["nonce"])
        answer = JoinAnswer("n1", asked.site, jkt, nonce, self.bundle, 0, 1)
        return Reply(rendered(Joined(sign("join", plain(answer), self.signing))))

    @routes.post("v1/sessions")
    def hello(self, request: Request) -> Reply:
        if self.node_key is None:
            return refusing("unknown-node")
        text = structured(SessionRequest, parsed(request.body)).hello
        said = structured(Hello, opened("hello", text, trusted(self.node_key)).claims)
        self.hellos.append(said)
        if self.session is not None:
            self.close("superseded")
        self._streams.clear()
        self.session = f"s{len(self.hellos)}"
        self.ack = None
        welcome = Welcome(
            self.session, f"token-{self.session}", self.ttl_ms // 3, self.ttl_ms, said.issued_at
        )
        return Reply(rendered(welcome))

    def _knows(self, request: Request, session: str) -> bool:
        bearer = f"Bearer token-{session}"
        return session == self.session and request.header("authorization") == bearer

    @routes.get("v1/sessions/<session>/frames")
    def stream(self, request: Request, session: str) -> Reply | StreamReply:
        if not self._knows(request, session):
            return refusing("unknown-session")

        def begin(stream: Stream) -> None:
            self._streams.append(stream)
            self._seq = 0
            self.desire()

        return StreamReply("application/x-ndjson", begin)

    @routes.post("v1/sessions/<session>/frames")
    def say_so(self, request: Request, session: str) -> Reply:
        if not self._knows(request, session):
            return refusing("unknown-session")
        results, released, journalled = [], [], []
        for frame in agent_frames(request.body):
            if isinstance(frame, Heartbeat):
                self._beat(frame, session)
                continue
            self.frames.append(frame)
            if isinstance(frame, Release):
                released.append(frame.epoch)
                if self.lease.epoch == frame.epoch:
                    self.lease.holder = None
            elif isinstance(frame, Journalled):
                journalled.append(frame.command_id)
            elif isinstance(frame, ResultFrame | Refused):
                results.append(frame.command_id)
        if not self.hears:
            return Reply(rendered(Accepted(self.ack)))
        answer = Accepted(self.ack, tuple(results), tuple(released), tuple(journalled))
        return Reply(rendered(answer))

    def _beat(self, frame: Heartbeat, session: str) -> None:
        self.beats.append(frame)
        if frame.epoch == self.lease.epoch and session == self.lease.holder:
            self.lease.beat += 1
            self.ack = Ack(frame.beat, frame.epoch)

    @routes.post("v1/sessions/<session>/secrets")
    def secret(self, request: Request, session: str) -> Reply:
        asked = structured(SecretRequest, parsed(request.body))
        self.secrets.append(asked)
        return Reply(rendered(SecretAnswer(f"value of {asked.ref}")))

    def finished(self, done: Finished) -> None:
        """Nothing is logged."""

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing was counted."""
