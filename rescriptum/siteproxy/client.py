"""One request to an address that was checked: no second lookup, no redirect, nothing unbounded."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from ipaddress import IPv6Address
from typing import Any, Final, cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.endpoints import (
    TCP4ClientEndpoint,
    TCP6ClientEndpoint,
    wrapClientTLS,
)
from twisted.internet.error import ConnectingCancelledError
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IProtocol,
    IProtocolFactory,
    IReactorTime,
    IResolutionReceiver,
    IStreamClientEndpoint,
    ITCPTransport,
)
from twisted.internet.protocol import Protocol, connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.client import HTTPConnectionPool, ProxyAgent, ResponseDone
from twisted.web.http_headers import Headers
from twisted.web.iweb import IPolicyForHTTPS, IResponse
from zope.interface import implementer

from ..contract.pins import Pin
from ..contract.proxying import LONGEST_BODY, LONGEST_HEAD, HttpHeader
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from ..errors import Unavailable
from ..net.connections import CONNECTING, Body, ended
from ..net.pinning import OwnKey, PinnedPolicy, SystemPolicy, why
from .answer import Answer
from .rule import MOST_ADDRESSES, Allowed

#: Seconds until a lookup is given up.
LOOKING_UP: Final = 10

#: Makes a way to an address and port: the socket layer, for tests.
Connect = Callable[[Allowed], IStreamClientEndpoint]


class _Counted(ProtocolWrapper):
    """The connection, above TLS: ends when there is no end to the head of an answer."""

    def makeConnection(self, transport: object) -> None:
        self.left: int | None = LONGEST_HEAD
        self.exceeded = False
        super().makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:
        super().dataReceived(data)  # which may find the end of the head in it
        if self.left is not None:
            self.left -= len(data)
            if self.left < 0:
                self.left, self.exceeded = None, True
                self.abort()

    def abort(self) -> None:
        if self.transport is not None:
            cast(ITCPTransport, self.transport).abortConnection()


class _Counting(WrappingFactory[_Counted]):
    noisy = False
    protocol = _Counted


@implementer(IStreamClientEndpoint)
class _Once:
    """:ivar made: the one connection, once there is one."""

    def __init__(self, inner: IStreamClientEndpoint) -> None:
        self._inner = inner
        self.made: _Counted | None = None

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        def bare(made: IProtocol) -> IProtocol:
            assert isinstance(made, _Counted)
            self.made = made
            inner: IProtocol = made.wrappedProtocol
            return inner

        connecting: Deferred[IProtocol] = self._inner.connect(_Counting(protocolFactory))
        return connecting.addCallback(bare)

    def head_is_here(self) -> None:
        if self.made is not None:
            self.made.left = None

    @property
    def exceeded(self) -> bool:
        return self.made is not None and self.made.exceeded

    def abort(self) -> None:
        if self.made is not None:
            self.made.abort()


class _Start(Protocol):
    """A body, up to as much as is wanted of it."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._parts: list[bytes] = []
        self.collected: Deferred[tuple[bytes, bool]] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        if self.collected.called:
            return
        self._parts.append(data[: self._left])
        self._left -= len(data)
        if self._left < 0:
            self._end(True)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.collected.called:
            return
        if reason.check(ResponseDone):
            self._end(False)
        else:
            self.collected.errback(Unavailable("the answer broke off"))

    def _end(self, truncated: bool) -> None:
        self.collected.callback((b"".join(self._parts), truncated))


@implementer(IResolutionReceiver)
class _Addresses:
    """Of a name, one more than may be judged at the most."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self.all: Deferred[tuple[str, ...]] = Deferred()

    def resolutionBegan(self, resolutionInProgress: object) -> None:
        """It may not be cancelled: whatever comes too late is not heard."""

    def addressResolved(self, address: IAddress) -> None:
        if len(self._found) <= MOST_ADDRESSES:
            self._found.append(str(getattr(address, "host", "")))

    def resolutionComplete(self) -> None:
        if not self.all.called:
            self.all.callback(tuple(dict.fromkeys(self._found)))


class ProxyClient:
    """Where requests go out. It asks no environment for a proxy, and keeps no connection."""

    def __init__(
        self,
        reactor: IReactorTime,
        resolver: IHostnameResolver,
        connect: Connect | None = None,
    ) -> None:
        """
        :param reactor: also one that connects.
        :param connect: in place of a socket to the address that was checked.
        """
        self._reactor = reactor
        self._resolver = resolver
        self._connect: Connect = partial(_connect, reactor) if connect is None else connect

    async def resolve(self, host: str) -> tuple[str, ...]:
        """
        :returns: its addresses; empty: it has none, or nobody knows.
        :raises Unavailable: when nobody says.
        """
        receiver = _Addresses()
        self._resolver.resolveHostName(receiver, host)
        try:
            return await receiver.all.addTimeout(LOOKING_UP, self._reactor)
        except DeferredTimeout:
            raise Unavailable(f"the addresses of {host} cannot be looked up in time") from None

    async def perform(
        self, allowed: Allowed, headers: Sequence[tuple[str, str]], body: bytes, pin: Pin | None
    ) -> Answer:
        """
        :param pin: of the server's own key; None: the system's trust store decides, by name.
        :raises Unavailable: for whatever the network says, and ``Unverified`` of TLS.
        :raises Rejected: ``too-large`` for a head without end.
        """
        target = allowed.target
        way = self._connect(allowed)
        if target.scheme == "https":
            policy = _policy(allowed, pin)
            way = wrapClientTLS(policy.creatorForNetloc(b"", target.port), way)
        once = _Once(way)
        try:
            response = await self._asked(once, allowed, headers, body)
            shown = _shown(response.headers)
            start = _Start(LONGEST_BODY)
            response.deliverBody(start)
            read, truncated = await start.collected
        except Exception as e:  # noqa: BLE001 - a shell that meets the network
            if isinstance(why(e), CancelledError | ConnectingCancelledError):
                raise CancelledError from None
            if once.exceeded:
                raise Rejected("too-large", f"a head of more than {LONGEST_HEAD} bytes") from None
            raise ended(e, target.host) from None
        finally:
            once.abort()
        return Answer(response.code, shown, read, truncated)

    async def within(self, seconds: float, work: Coroutine[Any, Any, JSON]) -> JSON:
        """:raises Rejected: ``timeout``, when it takes longer; then it is given up."""
        try:
            return await Deferred.fromCoroutine(work).addTimeout(seconds, self._reactor)
        except DeferredTimeout:
            raise Rejected("timeout", f"no answer within {seconds:g} seconds") from None

    async def _asked(
        self, once: _Once, allowed: Allowed, headers: Sequence[tuple[str, str]], body: bytes
    ) -> IResponse:
        target = allowed.target
        sent = Headers()
        sent.addRawHeader("Host", target.authority)
        for name, value in headers:
            sent.addRawHeader(name, value)
        # Not a proxy: an Agent that leaves it to us where to connect, and sends the very text that
        # was checked. The other kind reads a URL once more, and writes it anew.
        pool = HTTPConnectionPool(self._reactor, persistent=False)
        pool.retryAutomatically = False
        agent = ProxyAgent(once, self._reactor, pool)
        producer = Body(body) if body else None
        asking: Deferred[IResponse] = agent.request(
            allowed.method.encode("ascii"), target.asked.encode("ascii"), sent, producer
        )
        response = await asking
        once.head_is_here()
        return response


def _connect(reactor: object, allowed: Allowed) -> IStreamClientEndpoint:
    kind = TCP6ClientEndpoint if isinstance(allowed.address, IPv6Address) else TCP4ClientEndpoint
    made: IStreamClientEndpoint = kind(
        reactor, str(allowed.address), allowed.target.port, timeout=CONNECTING
    )
    return made


def _policy(allowed: Allowed, pin: Pin | None) -> IPolicyForHTTPS:
    target = allowed.target
    if pin is None:
        return SystemPolicy(target.host)
    return PinnedPolicy(OwnKey(pin), target.host if target.literal is None else None)


def _shown(headers: Headers) -> tuple[HttpHeader, ...]:
    """:raises Rejected: ``too-large``."""
    found = [(name, value) for name, values in headers.getAllRawHeaders() for value in values]
    if sum(len(name) + len(value) for name, value in found) > LONGEST_HEAD:
        raise Rejected("too-large", f"a head of more than {LONGEST_HEAD} bytes")
    return tuple(
        HttpHeader(name.decode("latin-1"), value.decode("latin-1")) for name, value in found
    )
