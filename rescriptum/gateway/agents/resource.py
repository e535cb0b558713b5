"""``/v1``: what agents ask of the gateway."""

from collections.abc import Callable
from functools import partial
from typing import Final

from attrs import field, frozen
from twisted.logger import Logger, LogLevel

from ...boot.lease import BEATS
from ...contract.frames import SUPERSEDED, agent_frames
from ...contract.joining import JoinAnswer, Joined, JoinRequest, Keys, Role
from ...contract.jose import digest, sign, signer
from ...contract.keys import Key, public_jwk
from ...contract.refusals import Rejected
from ...contract.sessions import SecretAnswer, SecretRequest, SessionRequest, Welcome
from ...contract.structure import JSON, plain
from ...web.bearer import presented
from ...web.bursts import Burst
from ...web.lockout import Lockout
from ...web.reply import Finished, Reply, StreamReply
from ...web.request import Request
from ...web.routing import Routes
from ...web.stream import Stream
from ..hello import greeted
from ..hub import Hub, Live
from ..joining import applicant
from ..records import SessionRow
from ..replies import JSONRoutes, message, ok, refused
from ..stores import nodes, sessions
from ..stores.database import Database
from ..vault import Vault
from .intake import take
from .joins import admit
from .opening import attach, begin, known
from .releasing import release

NDJSON: Final = "application/x-ndjson"
#: Bytes that may wait for one agent: more than one frame of the longest.
ROOM: Final = 1 << 20
#: Bytes of what is read of somebody of whom nothing is known yet: a join with an inventory, a
#: Hello, and frames; of longer ones it is known first whose they are.
JOIN, HELLO, UNKNOWN = 512 * 1024, 72 * 1024, 1024
#: Bytes of a join that nobody makes by mistake: where it is refused, it counts as a guess.
LONG: Final = 8 * 1024


@frozen(kw_only=True)
class Terms:
    """
    What one gateway process is to its agents.

    :ivar names: what they may call it, in lower case. :ivar process: its own, unlike any other's.
    :ivar heartbeat_ms: the longest that agents are told. :ivar sessions: at once, at the most.
    :ivar now: Unix time. :ivar monotonic: seconds of a clock that is never set back.
    :ivar octets: gives so many random ones.
    """

    signing: Key = field(repr=False)
    encryption: Key = field(repr=False)
    vault: Vault
    names: frozenset[str]
    process: str
    heartbeat_ms: int
    sessions: int
    now: Callable[[], float]
    monotonic: Callable[[], float]
    octets: Callable[[int], bytes]


class Agents:
    """Satisfies :class:`rescriptum.web.routing.Application`, for paths that begin with ``v1``."""

    routes: Routes = JSONRoutes()
    _log = Logger()

    def __init__(
        self,
        database: Database,
        hub: Hub,
        terms: Terms,
        opened: Callable[[Live], None],
        healthy: Callable[[], bool],
    ) -> None:
        """
        :param opened: is told of each stream that is there to be spoken to.
        :param healthy: whether the gateway can do its work.
        """
        self._database = database
        self._hub = hub
        self._terms = terms
        self._opened = opened
        self._healthy = healthy
        self._lockout = Lockout()
        self._noise = Burst("Requests of agents refused", LogLevel.info)
        jwks = (JSON(public_jwk(each)) for each in (terms.signing, terms.encryption))
        self._keys = ok(Keys(*jwks))

    def _now(self) -> int:
        return int(self._terms.now())

    @routes.get("v1/healthz")
    def healthz(self, request: Request) -> Reply:
        """For whoever spreads the load: whether agents are well served here."""
        if not self._healthy():
            raise Rejected("store-unavailable")
        return ok({"status": "ok"})

    @routes.get("v1/keys")
    def keys(self, request: Request) -> Reply:
        """The two join keys; agents compare them with their pins."""
        return self._keys

    @routes.post("v1/join")
    async def join(self, request: Request) -> Reply:
        """An agent without an identity gets one, for a token."""
        host, monotonic = request.peer[0], self._terms.monotonic
        seconds = self._lockout.blocked(host, monotonic())
        if seconds:
            return refused(Rejected("locked-out"), seconds)
        try:
            answer = await self._admitted(message(JoinRequest, request, JOIN))
        except Rejected as e:
            self._log.info("Join refused: {reason}", peer=request.peer, reason=str(e))
            if e.status == 403 or len(request.body) > LONG:
                seconds = self._lockout.failed(host, monotonic())
                if seconds:
                    self._log.warn(
                        "Joins from {host} are not looked at for {seconds} s",
                        host=host,
                        seconds=round(seconds),
                    )
            raise
        self._lockout.succeeded(host)
        self._log.info(
            "{node} joined site {site}",
            node=answer.node_id,
            site=answer.site,
            peer=request.peer,
        )
        return ok(Joined(sign("join", plain(answer), self._terms.signing)))

    async def _admitted(self, asked: JoinRequest) -> JoinAnswer:
        now = self._now()
        who = applicant(asked, self._terms.encryption, now)
        name = f"n-{self._terms.octets(8).hex()}"
        admitted = await self._database.run(partial(admit, who=who, node_id=name, now=now))
        node = admitted.node
        return JoinAnswer(
            node.id, node.site, who.jkt, who.nonce, admitted.trust, node.desired_version, now
        )

    @routes.post("v1/sessions")
    async def hello(self, request: Request) -> Reply:
        """A node opens a session, in place of the one that it has."""
        text, now, terms = message(SessionRequest, request, HELLO).hello, self._now(), self._terms
        node = await self._database.run(partial(nodes.by_jkt, jkt=signer(text)))
        if node is None or node.removed_at is not None:
            raise Rejected("unknown-node")
        said = greeted(text, known(node), terms.names, now)
        if len(self._hub) >= terms.sessions and self._hub.of_node(node.id) is None:
            raise Rejected("over-capacity", f"{terms.sessions} agents are connected")
        token = terms.octets(32).hex()
        row = SessionRow(
            f"s-{terms.octets(16).hex()}",
            node.id,
            node.site,
            digest(token.encode("ascii")),
            terms.process,
            said.boots and node.role is Role.SITE,
            now,
            now,
        )
        ttl, over = await self._database.run(partial(begin, row=row, hello=said, now=now))
        for each in over:
            self._hub.close(each, SUPERSEDED)
        self._log.info(
            "{node} says Hello: session {session}",
            node=node.id,
            peer=request.peer,
            session=row.id,
        )
        return ok(Welcome(row.id, token, min(terms.heartbeat_ms, ttl // BEATS), ttl, now))

    @routes.get("v1/sessions/<session>/frames")
    async def frames(self, request: Request, session: str) -> StreamReply:
        """The long answer: one frame a line, for as long as both want it."""
        work = partial(
            attach,
            session=session,
            token_digest=_token(request),
            process=self._terms.process,
            now=self._now(),
        )
        attached = await self._database.run(work)
        row, role = attached.session, attached.node.role
        heartbeat = min(self._terms.heartbeat_ms, attached.ttl_ms // BEATS) / 1000

        def opened(stream: Stream) -> None:
            live = Live(row.id, row.node, row.site, role, heartbeat, stream)
            self._hub.attach(live)
            self._opened(live)

        return StreamReply(NDJSON, opened, room=ROOM)

    @routes.post("v1/sessions/<session>/frames")
    async def said(self, request: Request, session: str) -> Reply:
        """What an agent says: recorded first, acknowledged afterwards."""
        token = _token(request)
        if len(request.body) > UNKNOWN:
            await self._database.run(
                partial(sessions.by_token, session=session, token_digest=token)
            )
        frames = agent_frames(request.body)
        work = partial(
            take,
            session=session,
            token_digest=token,
            frames=frames,
            now=self._now(),
        )
        taken = await self._database.run(work)
        if taken.accepted.ack is not None:
            self._hub.acknowledge(session, taken.accepted.ack)
        return ok(taken.accepted)

    @routes.post("v1/sessions/<session>/secrets")
    async def secret(self, request: Request, session: str) -> Reply:
        """A secret that the command names which the agent runs."""
        asked = message(SecretRequest, request, UNKNOWN)
        work = partial(
            release,
            session=session,
            token_digest=_token(request),
            asked=asked,
            now=self._now(),
        )
        sealed = await self._database.run(work)
        value = self._terms.vault.open_secret(asked.ref, sealed)
        try:
            return ok(SecretAnswer(value.decode("utf-8")))
        except UnicodeDecodeError:
            raise Rejected("secret-unreadable", f"{asked.ref}: not a text") from None

    def finished(self, done: Finished) -> None:
        """What was refused is told in bursts: an agent in trouble asks again and again."""
        now = self._terms.monotonic()
        self._noise.look(now)
        if done.status >= 400 and done.reason and self._noise.add(now):
            self._log.info("Refused: {reason}", peer=done.peer, reason=done.reason)

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing is counted for a connection."""


def _token(request: Request) -> str:
    """:returns: the digest of what is presented. :raises Rejected: ``unknown-session``."""
    token = presented(request)
    if token is None:
        raise Rejected("unknown-session", "no token of a session")
    return digest(token.encode("ascii"))
