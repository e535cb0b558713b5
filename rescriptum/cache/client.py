"""Pulls images over HTTP and HTTPS: as many attempts as it takes, each where the last one ended."""

import os
from base64 import b64encode
from functools import partial
from typing import Final
from urllib.parse import unquote_to_bytes

from attrs import evolve
from hyperlink import URL
from twisted.internet import tcp
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.error import ConnectError, ConnectingCancelledError
from twisted.internet.error import TimeoutError as TCPTimeout
from twisted.internet.interfaces import (
    IProtocol,
    IProtocolFactory,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.web.client import URI, Agent
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IAgentEndpointFactory, IPolicyForHTTPS, IResponse
from zope.interface import implementer

from .. import __version__
from ..errors import Refused, RescriptumError, Unavailable
from ..interfaces import Sink, Workers
from ..net.connections import Connections
from ..net.pinning import SystemPolicy, why
from .protocol import Body
from .responses import REDIRECTS, Changed, Known, moved, opened
from .runner import MakeRoom

#: Seconds until an answer has begun.
ANSWER: Final = 30.0
#: Bytes that are read from a socket at once: a sixteenth of the calls that Twisted makes itself.
_WIDE: Final = 1 << 20
#: Bytes that come before it is known what an answer is: its head, and what was read along with it.
_HEAD: Final = 2 << 20


@implementer(IPolicyForHTTPS)
class HostPolicy:
    """The system's trust store, and the URL's host: where images come from is not ours to pin."""

    def creatorForNetloc(self, hostname: bytes, port: int) -> SystemPolicy:
        return SystemPolicy(hostname.decode("ascii"))


@implementer(IStreamClientEndpoint)
class _WideEndpoint:
    def __init__(self, inner: IStreamClientEndpoint) -> None:
        self._inner = inner

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        made: Deferred[IProtocol] = self._inner.connect(protocolFactory)
        return made.addCallback(_widened)


def _widened(made: IProtocol) -> IProtocol:
    # TLS, and what keeps connections, stand between.
    transport: object = getattr(made, "transport", None)
    while transport is not None and not isinstance(transport, tcp.Connection):
        transport = getattr(transport, "transport", None)
    if transport is not None:
        transport.bufferSize = _WIDE
    return made


@implementer(IAgentEndpointFactory)
class _Wide:
    """Connections with large buffers."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        return _WideEndpoint(self._connections.endpointForURI(uri))


class ImageClient:
    """Where pulls come from. It asks no environment for a proxy, and unpacks nothing."""

    def __init__(
        self, reactor: IReactorTime, policy: IPolicyForHTTPS, workers: Workers, writer: Workers
    ) -> None:
        """
        :param reactor: also one that connects.
        :param workers: for what a disk may take its time with: three threads.
        :param writer: one thread, which hashes and writes what comes.
        """
        self.clock = reactor
        self.workers = workers
        self.writer = writer
        self._connections = Connections(reactor, policy, cleartext=True)

    def agent(self) -> tuple[IAgent, Connections]:
        """:returns: for one request, and the connection that it will have."""
        connections = self._connections.fresh()
        pool = connections.pool(persistent=False)
        agent: IAgent = Agent.usingEndpointFactory(self.clock, _Wide(connections), pool)
        return agent, connections

    def pull(self, url: URL, draft: Sink, make_room: MakeRoom) -> "Pull":
        """:returns: what brings ``draft`` the bytes at ``url``; nothing is asked yet."""
        return Pull(self, url, draft, make_room)


class Pull:
    """
    One image on its way: one attempt at a time.

    :ivar known: of it.
    """

    def __init__(self, client: ImageClient, url: URL, draft: Sink, make_room: MakeRoom) -> None:
        self._client = client
        self._url = url
        self._draft = draft
        self._make_room = make_room
        self._stopped = False
        self._asking: Deferred[IResponse] | None = None
        self._body: Body | None = None
        self.known = Known()

    async def attempt(self) -> None:
        """
        Bring what is missing.

        :raises Refused: when the server has it not for us.
        :raises Unavailable: when it breaks off, and for what the disk says. What has come stays,
            and is not asked for again if the server can tell that the image is still the same.
        """
        self.known = evolve(self.known, have=self._draft.have)
        if self.known.whole:  # only its place was missing
            return
        try:
            response, connections = await self._asked()
        except Changed:
            self.known = Known()
            raise
        run = self._client.workers.run
        try:
            await self._make_room()
            await run(partial(self._draft.begin, self.known.have, self.known.length))
            await self._taken(response, connections)
        finally:
            connections.abort()
            await run(self._draft.end)

    def stop(self) -> None:
        """Give up: :meth:`attempt` ends soon."""
        self._stopped = True
        if self._asking is not None:
            self._asking.cancel()
        if self._body is not None:
            self._body.stop()

    async def _asked(self) -> tuple[IResponse, Connections]:
        """:returns: an answer that brings bytes, and its connection."""
        url, secret = self._url.replace(userinfo=""), _credentials(self._url)
        for _ in range(REDIRECTS + 1):
            agent, connections = self._client.agent()
            connections.allowance.left = _HEAD
            try:
                response = await self._ask(agent, url, secret)
                connections.allowance.left = None
                header = partial(_header, response)
                there = moved(response.code, header, url)
                if there is None:
                    self.known = opened(response.code, header, self.known)
                    return response, connections
            except BaseException:
                connections.abort()
                raise
            connections.abort()
            url, secret = there, None  # credentials are for the host that they were given for
        raise Refused(f"more than {REDIRECTS} redirects")

    async def _ask(self, agent: IAgent, url: URL, secret: str | None) -> IResponse:
        headers = Headers({"User-Agent": [f"rescriptum/{__version__}"]})
        headers.addRawHeader("Accept-Encoding", "identity")
        if secret is not None:
            headers.addRawHeader("Authorization", secret)
        for name, value in self.known.asks:
            headers.addRawHeader(name, value)
        try:
            asking = agent.request(b"GET", url.to_text().encode("ascii"), headers, None)
            self._asking = asking.addTimeout(ANSWER, self._client.clock)
            if self._stopped:
                asking.cancel()
            return await asking
        except Exception as e:  # noqa: BLE001 - a shell that meets the network
            raise _reason(e) from None
        finally:
            self._asking = None

    async def _taken(self, response: IResponse, connections: Connections) -> None:
        if self._stopped:
            raise Unavailable("given up")
        client = self._client
        body = Body(self._draft.write, client.writer, client.clock, connections.abort)
        self._body = body
        try:
            response.deliverBody(body)
            await body.ended
        finally:
            self._body = None


def _credentials(url: URL) -> str | None:
    if not url.userinfo:
        return None
    user, _, password = url.userinfo.partition(":")
    both = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
    return f"Basic {b64encode(both).decode('ascii')}"


def _header(response: IResponse, name: str) -> str | None:
    if name == "content-length":  # which Twisted keeps to itself
        return str(response.length) if isinstance(response.length, int) else None
    values = response.headers.getRawHeaders(name.encode("ascii"), [])
    return values[0].decode("latin-1") if len(values) == 1 else None


def _reason(trouble: Exception) -> RescriptumError:
    """:returns: what ended a request, in our own words."""
    error = why(trouble)
    if isinstance(error, RescriptumError):
        return error
    if isinstance(error, CancelledError | DeferredTimeout | ConnectingCancelledError | TCPTimeout):
        return Unavailable("the server does not answer in time")
    if isinstance(error, ConnectError) and error.osError is not None:
        return Unavailable(f"cannot connect: {os.strerror(error.osError)}")
    return Unavailable(f"cannot reach the server: {str(error) or type(error).__name__}")
