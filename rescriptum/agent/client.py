"""What an agent asks its gateway, over HTTPS: bounded in bytes and in time."""

from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from attrs import field, frozen
from hyperlink import DecodedURL
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IResponse

from .. import __version__
from ..contract.frames import Accepted, AgentFrame, Received, agent_fields
from ..contract.joining import Joined, JoinRequest, Keys
from ..contract.refusals import REFUSALS, Rejected
from ..contract.sessions import Problem, SecretAnswer, SecretRequest, SessionRequest, Welcome
from ..contract.structure import LONGEST_DOCUMENT, parsed, rendered, structured
from ..errors import RescriptumError, Unavailable
from ..net.connections import Body, Connections, collected, ended
from .protocol import FrameReader

_T = TypeVar("_T")

#: Seconds for a whole exchange.
EXCHANGE = 30
#: Bytes of a reply that refuses.
_PROBLEM = 64 * 1024


@frozen
class Session:
    """
    What each call within a session names.

    :ivar name: of the session. :ivar token: its bearer token.
    """

    name: str
    token: str = field(repr=False)

    @classmethod
    def of(cls, welcome: Welcome) -> Self:
        """:raises Rejected: ``invalid-message`` for a token that no header can carry."""
        if not (welcome.token.isascii() and welcome.token.isprintable()):
            raise Rejected("invalid-message", "a session's token is printable ASCII")
        return cls(welcome.session, welcome.token)


class Stream:
    """
    The long answer of a session.

    :ivar ended: fires once, with what ended it; its connection is gone then.
    """

    def __init__(self, reader: FrameReader, connections: Connections) -> None:
        self._reader = reader
        self._connections = connections
        self._asking: Deferred[None] | None = None
        self.ended: Deferred[RescriptumError] = reader.ended.addCallback(self._torn_down)

    def begin(self, asking: Deferred[None]) -> None:
        """:param asking: until the body has begun; cancelled when the stream is given up."""
        self._asking = asking
        asking.addErrback(lambda failure: self._reader.close(ended(failure, "the gateway")))

    def abort(self) -> None:
        """Hear nothing from now on: deaf first, since bytes of an old stream may still come."""
        self._reader.close(Unavailable("given up"))

    def _torn_down(self, reason: RescriptumError) -> RescriptumError:
        if self._asking is not None:
            self._asking.cancel()
        self._connections.abort()
        return reason


class GatewayClient:
    """
    The gateway's door.

    Whatever fails is ``Rejected`` with the gateway's own code, ``Unverified`` for a gateway that
    is not the pinned one, or ``Unavailable``: asking again may help.
    """

    def __init__(self, url: DecodedURL, connections: Connections, clock: IReactorTime) -> None:
        """:param url: of the gateway, without ``v1``."""
        self._url = url
        self._connections = connections
        self._pool = connections.pool(persistent=True)
        self._agent = connections.agent(self._pool)
        self._clock = clock

    async def keys(self) -> Keys:
        """:returns: the two join keys, which nothing vouches for but the connection."""
        return await self._call(Keys, b"GET", ("keys",))

    async def join(self, request: JoinRequest) -> Joined:
        """:raises Rejected: when the gateway refuses."""
        return await self._call(Joined, b"POST", ("join",), rendered(request))

    async def hello(self, signed: str) -> Welcome:
        """:param signed: a Hello."""
        return await self._call(Welcome, b"POST", ("sessions",), rendered(SessionRequest(signed)))

    async def frames(
        self, session: Session, frames: Sequence[AgentFrame], seconds: float = EXCHANGE
    ) -> Accepted:
        """:param seconds: after which it counts as not said."""
        body = rendered([agent_fields(each) for each in frames])
        path = ("sessions", session.name, "frames")
        return await self._call(Accepted, b"POST", path, body, session, seconds)

    async def secret(self, session: Session, request: SecretRequest) -> SecretAnswer:
        """:raises Rejected: ``secret-refused`` or ``stale-epoch``."""
        path = ("sessions", session.name, "secrets")
        return await self._call(SecretAnswer, b"POST", path, rendered(request), session)

    def stream(
        self, session: Session, received: Callable[[Received], None], silence: float
    ) -> Stream:
        """
        Ask for the session's frames, on a connection of their own.

        :param silence: seconds without a frame after which it is given up.
        """
        connections = self._connections.fresh()
        reader = FrameReader(self._clock, received, silence)
        stream = Stream(reader, connections)
        agent = connections.agent(connections.pool(persistent=False))
        path = ("sessions", session.name, "frames")
        asking = self._asked(agent, b"GET", path, None, session)
        begun = Deferred.fromCoroutine(_begun(asking, reader, connections))
        begun.addTimeout(min(silence, EXCHANGE), self._clock)
        stream.begin(begun)
        return stream

    async def close(self) -> None:
        """Leave no connection behind."""
        self._connections.abort()
        await maybeDeferred(self._pool.closeCachedConnections)

    def _asked(
        self,
        agent: IAgent,
        method: bytes,
        path: tuple[str, ...],
        body: bytes | None,
        session: Session | None,
    ) -> Deferred[IResponse]:
        headers = Headers({"User-Agent": [f"rescriptum/{__version__}"]})
        if body is not None:
            headers.addRawHeader("Content-Type", "application/json")
        if session is not None:
            headers.addRawHeader("Authorization", f"Bearer {session.token}")
        url = self._url.child("v1", *path).to_uri().to_text().encode("ascii")
        producer = None if body is None else Body(body)
        asked: Deferred[IResponse] = maybeDeferred(agent.request, method, url, headers, producer)
        return asked

    async def _call(
        self,
        kind: type[_T],
        method: bytes,
        path: tuple[str, ...],
        body: bytes | None = None,
        session: Session | None = None,
        seconds: float = EXCHANGE,
    ) -> _T:
        asked = self._asked(self._agent, method, path, body, session)
        answering = Deferred.fromCoroutine(_answered(asked, self._connections))
        answering.addTimeout(min(seconds, EXCHANGE), self._clock)
        try:
            answer = await answering
        except Exception as e:  # noqa: BLE001 - a shell that meets the network
            raise ended(e, "the gateway") from None
        return structured(kind, parsed(answer))


async def _begun(asking: Deferred[IResponse], reader: FrameReader, over: Connections) -> None:
    response = await asking
    if response.code != 200:
        raise await _refusal(response, over)
    response.deliverBody(reader)


async def _answered(asking: Deferred[IResponse], over: Connections) -> bytes:
    response = await asking
    if response.code != 200:
        raise await _refusal(response, over)
    return await collected(response, LONGEST_DOCUMENT, over)


async def _refusal(response: IResponse, over: Connections) -> RescriptumError:
    """:returns: what a reply says that is no answer."""
    status = f"the gateway answers {response.code}"
    body = await collected(response, _PROBLEM, over)
    if response.code < 400:
        return Unavailable(f"{status}: redirects are not followed")
    try:
        problem = structured(Problem, parsed(body))
    except Rejected:
        return Unavailable(status)
    if problem.code not in REFUSALS or response.code >= 500:
        return Unavailable(f"{status}: {problem.code}: {problem.detail}")
    return Rejected(problem.code, problem.detail)
