"""A simulated agent of a gateway: the contract over pinned TLS, on two connections, and no more."""

import os
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.protocol import Factory, Protocol
from twisted.web.iweb import IPolicyForHTTPS

from rescriptum.contract.commands import Command, Result
from rescriptum.contract.frames import (
    Accepted,
    AgentFrame,
    CommandFrame,
    Desired,
    Heartbeat,
    Journalled,
    ResultFrame,
    Status,
    agent_fields,
    server_frame,
)
from rescriptum.contract.joining import (
    Attestor,
    JoinAnswer,
    Joined,
    Joining,
    JoinRequest,
    JoinToken,
    Keys,
    Role,
)
from rescriptum.contract.jose import digest, opened, seal, sign
from rescriptum.contract.keys import Key, generate, public_jwk, public_key, trusted
from rescriptum.contract.reports import SectionStatus, State, StatusReport
from rescriptum.contract.sessions import Hello, SessionRequest, Welcome
from rescriptum.contract.structure import JSON, parsed, plain, rendered, structured

from .gateway_http import Asking, Listening, request

NAME = "127.0.0.1"

#: Something that is under way.
Doing = Coroutine[Deferred[Any], Any, None]
_P = TypeVar("_P", bound=Protocol)


class Net:
    """Where agents connect to."""

    def __init__(self, reactor: object, policy: IPolicyForHTTPS) -> None:
        self._reactor = reactor
        self._creator = policy.creatorForNetloc(NAME.encode("ascii"), 0)

    async def connected(self, port: int, protocol: _P) -> _P:
        there = TCP4ClientEndpoint(self._reactor, NAME, port, timeout=60)
        made = Factory.forProtocol(lambda: protocol)
        await wrapClientTLS(self._creator, there).connect(made)
        return protocol


@define(eq=False)
class Agent:
    """
    :ivar port: of the gateway process that it is at.
    :ivar spawn: has something done beside everything else. :ivar lost: told of a stream's end.
    :ivar epoch: of the lease that it has; ``epochs``: how many there were.
    :ivar times: of its command: sent, here, journalled, recorded.
    """

    number: int
    net: Net
    port: int
    spawn: Callable[[Doing], object]
    lost: Callable[["Agent"], None]
    key: Key = field(factory=lambda: generate("Ed25519"))
    node: str = ""
    session: str = ""
    token: str = ""
    epoch: int = 0
    epochs: int = 0
    beats: int = 0
    times: list[float] = field(factory=list)
    done: Deferred[None] = field(factory=Deferred)
    proved: Deferred[None] = field(factory=Deferred)
    _told: Deferred[None] = field(factory=Deferred)
    _calls: Asking | None = None
    _stream: Listening | None = None

    @property
    def site(self) -> str:
        return site(self.number)

    async def call(self, method: str, path: str, body: object = None, token: str = "") -> object:
        if self._calls is None:
            self._calls = await self.net.connected(self.port, Asking())
        data = None if body is None else rendered(body)
        code, answer = await self._calls.ask(request(method, path, data, token))
        if code not in (200, 201):
            raise RuntimeError(f"{method} {path}: {code} {answer!r}")
        return parsed(answer)

    async def join(self, token: str) -> None:
        keys = structured(Keys, await self.call("GET", "/v1/keys"))
        now, jkt, nonce = int(time.time()), self.key.thumbprint(), os.urandom(16).hex()
        wanted = JoinToken(token, self.site, Role.SITE, jkt, nonce, now)
        sealed = seal(plain(wanted), public_key(keys.encryption, "X25519"))
        mine = Joining(jkt, nonce, digest(sealed.encode("ascii")), now)
        asked = JoinRequest(
            Role.SITE,
            self.site,
            Attestor.TOKEN,
            sealed,
            sign("joining", plain(mine), self.key),
            JSON(public_jwk(self.key)),
            "boot",
        )
        answer = structured(Joined, await self.call("POST", "/v1/join", asked)).answer
        signing = trusted(public_key(keys.signing, "Ed25519"))
        self.node = structured(JoinAnswer, opened("join", answer, signing).claims).node_id

    async def hello(self) -> None:
        """Open a session."""
        nonce, now = os.urandom(16).hex(), int(time.time())
        hello = Hello(self.node, Role.SITE, self.site, "boot", "0", NAME, nonce, now, boots=True)
        asked = SessionRequest(sign("hello", plain(hello), self.key))
        welcome = structured(Welcome, await self.call("POST", "/v1/sessions", asked))
        self.session, self.token = welcome.session, welcome.token

    async def listen(self) -> None:
        """Ask for the session's frames; until the first one is here."""
        self._told = Deferred()
        asked = request("GET", f"/v1/sessions/{self.session}/frames", token=self.token)
        self._stream = Listening(asked, self._frame, self._ended)
        await self.net.connected(self.port, self._stream)
        await self._told

    def hang_up(self) -> None:
        if self._calls is not None:
            self._calls.drop()
        if self._stream is not None:
            self._stream.drop()
        self._calls = self._stream = None

    async def say(self, frame: AgentFrame) -> Accepted:
        path = f"/v1/sessions/{self.session}/frames"
        body = [agent_fields(frame)]
        return structured(Accepted, await self.call("POST", path, body, self.token))

    async def beat(self) -> float:
        """:returns: seconds until it was answered: acknowledged, under an epoch."""
        self.beats += 1
        beat, epoch, began = self.beats, self.epoch, time.monotonic()
        ack = (await self.say(Heartbeat(beat, epoch))).ack
        if epoch and (ack is None or (ack.beat, ack.epoch) != (beat, epoch)):
            raise RuntimeError(f"{self.site}: {ack} for heartbeat {beat} of epoch {epoch}")
        return time.monotonic() - began

    async def report(self) -> None:
        section = SectionStatus("lease", State.READY, "", {"epoch": self.epoch})
        await self.say(Status(StatusReport((section,))))

    def _frame(self, line: bytes) -> None:
        frame = server_frame(line).frame
        if isinstance(frame, Desired):
            self._desired(frame)
        elif isinstance(frame, CommandFrame):
            self.spawn(self._run(frame.envelope.unsigned or ""))

    def _desired(self, frame: Desired) -> None:
        assert frame.spec.site is not None
        lease = frame.spec.site.lease
        if lease.active and lease.epoch != self.epoch:
            self.epoch = lease.epoch
            self.epochs += 1
            if not self.proved.called:
                self.spawn(self._prove())
        if not self._told.called:
            self._told.callback(None)

    async def _prove(self) -> None:
        await self.beat()
        self.proved.callback(None)

    async def _run(self, claims: str) -> None:
        self.times.append(time.monotonic())
        command = structured(Command, parsed(claims.encode("ascii"))).command_id
        await self.say(Journalled(command))
        self.times.append(time.monotonic())
        await self.say(ResultFrame(command, Result(True, "ok"), int(time.time())))
        self.times.append(time.monotonic())
        self.done.callback(None)

    def _ended(self) -> None:
        self.hang_up()
        self.lost(self)


def site(number: int) -> str:
    """:returns: where agent ``number`` is."""
    return f"site-{number:04}"
