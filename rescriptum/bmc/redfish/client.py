"""HTTPS to one BMC: bounded in bytes and in time; no proxy, no redirect, no cookie."""

import os
from collections.abc import Coroutine
from typing import Final, TypeAlias, TypeVar

from hyperlink import DecodedURL
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.web.http_headers import Headers
from twisted.web.iweb import IPolicyForHTTPS

from ... import __version__
from ...contract.bmc import BmcRefusal
from ...contract.refusals import Rejected
from ...errors import ConfigError, RescriptumError
from ...net.addresses import bracketed
from ...net.connections import Body, Connections, collected
from ...net.pinning import PinMismatch, SystemPolicy, bmc_policy, unverified_policy, why
from ..hosts import host_of
from ..trust import Trust, Vouching
from .documents import LONGEST
from .replies import Ask, Dropped, Reply

_T = TypeVar("_T")

#: Also one that connects.
Reactor: TypeAlias = IReactorTime

#: Seconds that a connection is kept for the next request: BMCs end theirs early, and what is asked
#: on one that ends is lost.
_KEPT: Final = 2
#: Bytes before the body of an answer, whatever they are; and of all answers of one operation, at
#: once and then each second: what is longer waits. To read one of 4 MiB takes others their time.
HEAD: Final = 256 * 1024
AT_ONCE, EACH_SECOND = 4 * LONGEST, 1 << 20
_NO_ANSWER: Final = "no answer in time"


def policy_of(trust: Trust, host: str) -> IPolicyForHTTPS:
    """:raises BmcRefusal: ``invalid-config`` for an authority that cannot be read."""
    if trust.vouching is Vouching.PIN and trust.pin is not None:
        return bmc_policy(trust.pin.text, trust.legacy)
    if trust.vouching is Vouching.AUTHORITY:
        try:
            return SystemPolicy(host, trust.authority, trust.legacy)
        except ConfigError as e:
            raise BmcRefusal("invalid-config", str(e)) from e
    return unverified_policy(trust.legacy)


class _Ending:
    """Why something ended before its end. :ivar why: ``late``, ``cancelled``, or empty."""

    def __init__(self) -> None:
        self.why = ""

    def end(self, why: str, what: Deferred[_T]) -> None:
        self.why = why
        what.cancel()


class HttpTransport:
    """
    One BMC.

    :ivar origin: scheme, host and port.
    """

    _log = Logger()

    def __init__(self, reactor: IReactorTime, base: DecodedURL, trust: Trust) -> None:
        """
        :param reactor: also one that connects. Nothing is asked yet.
        :raises BmcRefusal: ``invalid-config``.
        """
        open_to_all = trust.vouching is Vouching.NOBODY
        if base.scheme != "https" and not (open_to_all and base.scheme == "http"):
            raise BmcRefusal("invalid-config", "the BMC's URL must begin with https://")
        if host_of(base.host) is None or any(base.userinfo):
            raise BmcRefusal("invalid-config", "the BMC's URL needs a host in ASCII, and no user")
        if trust.legacy:
            self._log.warn(
                "TLS as old as 1.0 is allowed towards the BMC {host}: whoever is on its network"
                " may listen",
                host=base.host,
            )
        self._clock = reactor
        self._begun = reactor.seconds()
        self._brought = 0
        usual = base.port == {"https": 443, "http": 80}[base.scheme]
        self._host = bracketed(base.host) + ("" if usual else f":{base.port}")
        self.origin = f"{base.scheme}://{self._host}"
        self._connections = Connections(reactor, policy_of(trust, base.host), open_to_all)
        self._pool = self._connections.pool(persistent=True)
        self._pool.maxPersistentPerHost = 1
        self._pool.cachedConnectionTimeout = _KEPT
        self._agent = self._connections.agent(self._pool)

    async def ask(self, ask: Ask, seconds: float) -> Reply:
        """As ``Transport`` of the replies has it."""
        over = _Ending()
        self._connections.allowance.left = HEAD
        answering = Deferred.fromCoroutine(self._answer(ask))
        late = self._clock.callLater(max(seconds, 0), over.end, "late", answering)
        # What a cancelled request fails with says nothing of who cancelled it.
        whole: Deferred[Reply] = Deferred(lambda _: over.end("cancelled", answering))
        answering.addBoth(lambda result: None if whole.called else whole.callback(result))
        try:
            reply = await whole
        except Exception as e:  # noqa: BLE001 - a shell that meets the network
            self._connections.abort()
            if over.why == "cancelled":
                raise CancelledError from None
            raise (BmcRefusal("timeout", _NO_ANSWER) if over.why else _ended(e)) from None
        finally:
            if late.active():
                late.cancel()
        if reply.status >= 500:  # some cannot go on after one (W208)
            self._connections.abort()
            # Gone for good: else the pool gives it to the next request, which may be a write.
            await maybeDeferred(self._pool.closeCachedConnections)
        return reply

    async def _answer(self, ask: Ask) -> Reply:
        over = self._brought - AT_ONCE - EACH_SECOND * (self.now() - self._begun)
        if over > 0 and ask.method != "DELETE":  # a session is ended at once
            await self.pause(over / EACH_SECOND)
        headers = Headers({"User-Agent": [f"rescriptum/{__version__}"], "Host": [self._host]})
        for name, value in ask.headers:
            headers.addRawHeader(name, value)
        body = None if ask.body is None else Body(ask.body)
        url = f"{self.origin}{ask.path}".encode("ascii")
        method = ask.method.encode("ascii")
        response = await self._agent.request(method, url, headers, body)
        self._connections.allowance.left = 2 * LONGEST  # the body's bound, and one for its frame
        found = {
            name.decode("latin-1").lower(): values[0].decode("latin-1")
            for name, values in response.headers.getAllRawHeaders()
        }
        brought = await collected(response, LONGEST, self._connections)
        self._brought += len(brought)
        return Reply(response.code, found, brought)

    async def pause(self, seconds: float) -> None:
        """Wait."""
        await deferLater(self._clock, seconds)

    def now(self) -> float:
        """:returns: seconds of the reactor's clock."""
        return self._clock.seconds()

    async def within(self, seconds: float, work: Coroutine[Deferred[object], object, _T]) -> _T:
        """:raises BmcRefusal: ``timeout`` when ``work`` was cancelled for its time being over."""
        over = _Ending()
        working = Deferred.fromCoroutine(work)
        late = self._clock.callLater(max(seconds, 0), over.end, "late", working)
        try:
            return await working
        except CancelledError:
            if over.why == "late":
                raise BmcRefusal("timeout", _NO_ANSWER) from None
            raise
        finally:
            if late.active():
                late.cancel()

    async def close(self) -> None:
        """Leave no connection behind."""
        self._connections.abort()
        await maybeDeferred(self._pool.closeCachedConnections)


def _ended(trouble: Exception) -> BmcRefusal:
    """:returns: what ended a request."""
    error = why(trouble)
    if isinstance(error, BmcRefusal):
        return error
    if isinstance(error, PinMismatch):
        return BmcRefusal("pin-mismatch", str(error))
    if isinstance(error, DeferredTimeout):
        return BmcRefusal("timeout", _NO_ANSWER)
    if isinstance(error, Rejected):
        return BmcRefusal("bad-response", str(error))
    if isinstance(error, ConnectError):
        errno = error.osError if isinstance(error.osError, int) else None
        return BmcRefusal("unreachable", os.strerror(errno) if errno is not None else str(error))
    if isinstance(error, DNSLookupError):
        return BmcRefusal("unreachable", "no address is known for its name")
    if isinstance(error, RescriptumError) and error.code in _TLS:
        return BmcRefusal("tls-error", str(error))
    return Dropped("bad-response", "the answer broke off, or was no HTTP")


_TLS: Final = ("tls-error", "chain-invalid", "name-mismatch")
