"""
Connections of an HTTP client: torn down for good, with a bound for bodies, and words for what ended
a request.
"""

import os

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError, ConnectingCancelledError, ConnectionRefusedError
from twisted.internet.error import TimeoutError as TCPTimeout
from twisted.internet.interfaces import (
    IConsumer,
    IProtocol,
    IProtocolFactory,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Protocol, connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, HTTPConnectionPool, ResponseDone
from twisted.web.error import SchemeNotSupported
from twisted.web.iweb import (
    IAgent,
    IAgentEndpointFactory,
    IBodyProducer,
    IPolicyForHTTPS,
    IResponse,
)
from zope.interface import implementer

from ..contract.refusals import Rejected
from ..errors import RescriptumError, Unavailable
from .pinning import why

#: Seconds to connect.
CONNECTING = 10


class _Connection(ProtocolWrapper):
    """One connection, between the transport and who speaks HTTP on it."""

    factory: "_Wrapping"

    def dataReceived(self, data: bytes) -> None:
        if self.factory.allowance.spent(len(data)):
            super().dataReceived(data)
        else:
            self.transport.abortConnection()  # type: ignore[union-attr]


class Allowance:
    """
    Bytes that connections may still bring, whatever they are: heads of answers have no bound of
    their own.

    :ivar left: None: as many as come.
    """

    def __init__(self) -> None:
        self.left: int | None = None

    def spent(self, count: int) -> bool:
        """:returns: whether there were so many left."""
        if self.left is not None:
            self.left -= count
        return self.left is None or self.left >= 0


class _Wrapping(WrappingFactory[_Connection]):
    """What it makes, ``protocols`` has for as long as it is connected."""

    noisy = False
    protocol = _Connection

    def __init__(self, wrapped: IProtocolFactory, allowance: Allowance) -> None:
        super().__init__(wrapped)
        self.allowance = allowance


@implementer(IStreamClientEndpoint)
class _Endpoint:
    def __init__(
        self, inner: IStreamClientEndpoint, kept: list[_Wrapping], allowance: Allowance
    ) -> None:
        self._inner = inner
        self._kept = kept
        self._allowance = allowance

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        wrapping = _Wrapping(protocolFactory, self._allowance)
        self._kept[:] = [each for each in self._kept if each.protocols]
        self._kept.append(wrapping)

        def bare(made: IProtocol) -> IProtocol:
            assert isinstance(made, _Connection)
            inner: IProtocol = made.wrappedProtocol
            return inner

        made: Deferred[IProtocol] = self._inner.connect(wrapping)
        return made.addCallback(bare)


@implementer(IAgentEndpointFactory)
class Connections:
    """
    Where requests to one gateway go, remembered so that they can be aborted: over TLS an orderly
    end waits for the peer, and neither a response nor whoever reads its body can do more.

    :ivar policy: the rule of trust.
    :ivar cleartext: whether ``http://`` is allowed, too: for tests, and for what is verified by its
        digest.
    :ivar allowance: of all of them together.
    """

    def __init__(self, reactor: object, policy: IPolicyForHTTPS, cleartext: bool = False) -> None:
        self._reactor = reactor
        self._policy = policy
        self._cleartext = cleartext
        self._kept: list[_Wrapping] = []
        self.allowance = Allowance()

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """:raises SchemeNotSupported: for anything but ``https://``."""
        endpoint: IStreamClientEndpoint = HostnameEndpoint(
            self._reactor, uri.host, uri.port, timeout=CONNECTING
        )
        if uri.scheme == b"https":
            creator = self._policy.creatorForNetloc(uri.host, uri.port)
            endpoint = wrapClientTLS(creator, endpoint)
        elif not self._cleartext:
            raise SchemeNotSupported("the URL must begin with https://")
        return _Endpoint(endpoint, self._kept, self.allowance)

    def fresh(self) -> "Connections":
        """:returns: the same, with no connection yet."""
        return Connections(self._reactor, self._policy, self._cleartext)

    def agent(self, pool: HTTPConnectionPool) -> IAgent:
        """
        :returns: a plain one: it follows no redirect, asks no environment for a proxy, keeps no
            cookies and unpacks nothing.
        """
        made: IAgent = Agent.usingEndpointFactory(self._reactor, self, pool)
        return made

    def pool(self, persistent: bool) -> HTTPConnectionPool:
        """:returns: of these connections alone: pools tell them apart by host and port."""
        pool = HTTPConnectionPool(self._reactor, persistent)
        pool.retryAutomatically = False  # what a request proves is as old as its first sending
        return pool

    def abort(self) -> None:
        """Every connection, now."""
        for each in [made for wrapping in self._kept for made in wrapping.protocols]:
            each.transport.abortConnection()


@implementer(IBodyProducer)
class Body:
    """Of a request."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.length = len(data)

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        consumer.write(self._data)
        return succeed(None)

    def pauseProducing(self) -> None:
        """All has been written."""

    def resumeProducing(self) -> None:
        """All has been written."""

    def stopProducing(self) -> None:
        """All has been written."""


class _Collector(Protocol):
    """A body, bounded while it arrives."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._limit = limit
        self._parts: list[bytes] = []
        self.collected: Deferred[bytes] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left >= 0:
            self._parts.append(data)
        elif not self.collected.called:
            self._parts.clear()
            error = Rejected("too-large", f"an answer of more than {self._limit} bytes")
            self.collected.errback(error)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.collected.called:
            return
        if reason.check(ResponseDone):
            self.collected.callback(b"".join(self._parts))
        else:
            self.collected.errback(Unavailable("the answer broke off"))


async def collected(response: IResponse, limit: int, over: Connections) -> bytes:
    """
    :param limit: bytes of the body.
    :param over: which are all aborted when it is not read to its end.
    :raises Rejected: ``too-large``, as soon as it is.
    :raises Unavailable: when it breaks off.
    """
    collector = _Collector(limit)
    response.deliverBody(collector)
    try:
        return await collector.collected
    except BaseException:
        # It may never end, and a body cannot close its connection for good.
        over.abort()
        raise


def ended(trouble: Failure | Exception, server: str) -> RescriptumError:
    """
    :param server: what it is, for people.
    :returns: what ended a request, in our own words.
    """
    error = why(trouble)
    if isinstance(error, RescriptumError):
        return error
    if isinstance(error, CancelledError | DeferredTimeout | ConnectingCancelledError | TCPTimeout):
        return Unavailable(f"{server} does not answer in time")
    if isinstance(error, ConnectError):
        reason = os.strerror(error.osError) if error.osError is not None else str(error).rstrip(".")
        hint = "; is it running?" if isinstance(error, ConnectionRefusedError) else ""
        return Unavailable(f"cannot connect to {server}: {reason}{hint}")
    return Unavailable(f"cannot reach {server}: {str(error) or type(error).__name__}")
