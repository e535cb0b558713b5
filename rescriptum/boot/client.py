"""Asks a listener over HTTP what a machine would ask, within bounds."""

import os

from treq.client import HTTPClient
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, ConnectingCancelledError, TimeoutError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone, ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.iweb import IResponse

from .observed import Answer, Heard, Silent

#: Seconds for a connection and the headers, and of silence within a body.
PATIENCE = 5.0


class _Collector(Protocol):
    """A body, bounded in bytes, and in the silence between them."""

    _timer: IDelayedCall | None = None

    def __init__(self, clock: IReactorTime, limit: int) -> None:
        self._clock = clock
        self._left = limit
        self._parts: list[bytes] = []
        self._trouble = ""
        self.collected: Deferred[bytes | Silent] = Deferred(lambda _: self._end("cancelled"))

    def connectionMade(self) -> None:
        self._timer = self._clock.callLater(PATIENCE, self._end, "it fell silent")

    def dataReceived(self, data: bytes) -> None:
        if self._trouble:
            return
        self._left -= len(data)
        if self._left < 0:
            self._end("it sends more than was asked for")
            return
        self._parts.append(data)
        if self._timer is not None:
            self._timer.reset(PATIENCE)

    def _end(self, trouble: str) -> None:
        self._trouble = trouble
        assert self.transport is not None
        self.transport.loseConnection()  # nothing is being written: this is at once

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self.collected.called:
            return
        if self._trouble or not reason.check(ResponseDone):
            self.collected.callback(Silent(self._trouble or "the connection broke off"))
        else:
            self.collected.callback(b"".join(self._parts))


class ChainClient:
    """One question at a time over an injected client: every failure is a value."""

    def __init__(self, http: HTTPClient, clock: IReactorTime) -> None:
        self._http = http
        self._clock = clock

    async def head(self, url: str) -> Answer:
        """:returns: the headers alone."""
        return await self._ask("HEAD", url, 0)

    async def get(self, url: str, limit: int) -> Answer:
        """
        :param limit: bytes of the body at most.
        """
        return await self._ask("GET", url, limit)

    async def _ask(self, method: str, url: str, limit: int) -> Answer:
        try:
            response = await self._http.request(
                method,
                url,
                headers=Headers({"User-Agent": ["rescriptum-boot-check"]}),
                allow_redirects=False,
                unbuffered=True,
                reactor=self._clock,  # type: ignore[arg-type]  # it only calls later on it
                timeout=PATIENCE,
            )
        except Exception as e:  # noqa: BLE001 - a shell that meets the network
            return Silent(_reason(e))
        collector = _Collector(self._clock, limit)
        response.deliverBody(collector)
        body = await collector.collected
        return body if isinstance(body, Silent) else _heard(response, body)


def _heard(response: IResponse, body: bytes) -> Heard:
    [media_type] = response.headers.getRawHeaders(b"content-type", [b""])[:1]
    # To HEAD the length is a header like any other; of a body it is how the body was framed.
    [length] = response.headers.getRawHeaders(b"content-length", [b""])[:1]
    if isinstance(response.length, int) and response.length:
        length = b"%d" % response.length
    digits = length.isdigit() and len(length) < 20
    return Heard(response.code, media_type.decode("latin-1"), int(length) if digits else None, body)


def _reason(error: BaseException) -> str:
    if isinstance(error, ResponseFailed) and error.reasons:
        inner = error.reasons[0].value
        return _reason(inner) if inner is not error else type(error).__name__
    if isinstance(error, CancelledError | ConnectingCancelledError | TimeoutError):
        return f"nothing within {PATIENCE:g} seconds"
    if isinstance(error, ConnectError) and error.osError is not None:
        return os.strerror(error.osError)
    return str(error) or type(error).__name__
