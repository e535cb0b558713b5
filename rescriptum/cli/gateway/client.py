"""The operators' API over pinned TLS: bounded in bytes and time, its refusals as errors."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlencode

from attrs import frozen
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IResponse

from ... import __version__
from ...errors import ConfigError, Refused, RescriptumError, Unavailable
from ...values import Problem
from .reach import Reach

if TYPE_CHECKING:
    from ...net.connections import Connections

_T = TypeVar("_T")

#: Seconds of one exchange; bytes of a reply; seconds without a sign of life on the event stream.
EXCHANGE, LONGEST, SILENCE = 30, 4 << 20, 45
#: Seconds after which a workflow is looked at, whether or not somebody said something.
LOOK: Final = 5.0
#: Rows of one page.
PIECE: Final = 500
#: Bytes of one message of the event stream.
MESSAGE: Final = 1 << 20
_NAME: Final = "the gateway"

Fields = dict[str, Any]


class Told(Refused):
    """A refusal of the gateway. :ivar code: of the table of refusals."""

    def __init__(self, status: int, code: str, detail: str, advice: str) -> None:
        super().__init__(f"{code}: {detail.rstrip('.')}. {advice}".strip())
        self.code = code
        self.status = status


@frozen
class Message:
    """One of the event stream. :ivar id: None where it has none."""

    kind: str
    data: Fields
    id: str | None


class Gateway:
    """What a command asks."""

    def __init__(self, reach: Reach, connections: "Connections", clock: IReactorTime) -> None:
        self._reach = reach
        self._connections = connections
        self._clock = clock
        self._pool = connections.pool(persistent=True)
        self._agent = connections.agent(self._pool)

    async def close(self) -> None:
        """Leave no connection behind."""
        self._connections.abort()
        await maybeDeferred(self._pool.closeCachedConnections)

    async def get(self, *path: str, **query: str | None) -> Fields:
        """:raises RescriptumError: as every call here: :class:`Told` where the gateway refuses."""
        return await self._call("GET", path, query=query)

    async def post(self, *path: str, body: object = None) -> Fields:
        return await self._call("POST", path, body)

    async def put(self, *path: str, body: object = None, match: str | None = None) -> Fields:
        """:param match: the ETag that it must still have."""
        headers = {} if match is None else {"If-Match": match}
        return await self._call("PUT", path, body, headers=headers)

    async def delete(self, *path: str) -> Fields:
        return await self._call("DELETE", path)

    async def pages(self, key: str, *path: str, **query: str | None) -> list[Fields]:
        """:returns: all there is of ``key``, however many pages it takes."""
        found: list[Fields] = []
        cursor: str | None = None
        while True:
            page = await self.get(*path, limit=str(PIECE), cursor=cursor, **query)
            found += page[key]
            cursor = page.get("next")
            if not cursor:
                return found

    async def follow(
        self, heard: Callable[[Message], None], last: str | None = None, **query: str | None
    ) -> RescriptumError:
        """
        Listen to the event stream until it ends.

        :returns: what ended it.
        """
        from ...net.connections import ended

        headers = {} if last is None else {"Last-Event-ID": last}
        connections = self._connections.fresh()
        agent = connections.agent(connections.pool(persistent=False))
        reader = Events(heard, self._clock)
        try:
            response = await self._timed(
                self._asked(agent, "GET", ("events",), None, query, headers)
            )
            if response.code != 200:
                raise await self._refusal(response, connections)
            response.deliverBody(reader)
            return await reader.ended
        except CancelledError:
            raise
        except Exception as e:  # noqa: BLE001 - a shell that meets the network
            return ended(e, _NAME)
        finally:
            reader.stop()
            connections.abort()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await deferLater(self._clock, seconds, lambda: None)

    async def first(self, *those: "Deferred[Any]") -> None:
        """Wait for one of ``those``, or for as long as nothing of a workflow need be seen."""
        done: Deferred[None] = Deferred()
        waking = self._clock.callLater(LOOK, done.callback, None)

        def wake(result: object) -> object:
            if not done.called:
                done.callback(None)
            return result

        for each in those:
            each.addBoth(wake)
        await done
        if waking.active():
            waking.cancel()

    async def _call(
        self,
        method: str,
        path: tuple[str, ...],
        body: object = None,
        query: Mapping[str, str | None] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fields:
        from ...net.connections import ended

        answering = self._answered(method, path, body, query or {}, headers or {})
        try:
            return await self._timed(Deferred.fromCoroutine(answering))
        except Exception as e:  # noqa: BLE001
            raise ended(e, _NAME) from None

    async def _answered(
        self,
        method: str,
        path: tuple[str, ...],
        body: object,
        query: Mapping[str, str | None],
        headers: Mapping[str, str],
    ) -> Fields:
        from ...net.connections import collected

        response = await self._asked(self._agent, method, path, body, query, headers)
        if response.code >= 300:
            raise await self._refusal(response, self._connections)
        return _parsed(await collected(response, LONGEST, self._connections))

    def _asked(
        self,
        agent: IAgent,
        method: str,
        path: tuple[str, ...],
        body: object,
        query: Mapping[str, str | None],
        further: Mapping[str, str],
    ) -> "Deferred[IResponse]":
        from ...net.connections import Body

        headers = Headers({"User-Agent": [f"rescriptum/{__version__}"]})
        headers.addRawHeader("Authorization", f"Bearer {self._reach.token}")
        for name, value in further.items():
            headers.addRawHeader(name, value)
        data = None
        if body is not None:
            headers.addRawHeader("Content-Type", "application/json")
            data = Body(json.dumps(body).encode("ascii"))
        target = "/".join(("api", "v1", *(quote(each, safe="") for each in path)))
        given = {name: value for name, value in query.items() if value is not None}
        url = f"{self._reach.url}/{target}" + (f"?{urlencode(given)}" if given else "")
        return maybeDeferred(agent.request, method.encode(), url.encode("ascii"), headers, data)

    async def _refusal(self, response: IResponse, over: "Connections") -> Told:
        from ...net.connections import collected

        status = int(response.code)
        try:
            said = _parsed(await collected(response, 64 * 1024, over))
            return Told(status, str(said["code"]), str(said["detail"]), str(said["advice"]))
        except (RescriptumError, KeyError):
            text = f"the gateway answered {status}"
            return Told(status, "failed", text, "Is this the address of a rescriptum gateway?")

    async def _timed(self, asking: "Deferred[_T]") -> _T:
        return await asking.addTimeout(EXCHANGE, self._clock)


def gateway(reactor: object, reach: Reach) -> Gateway:
    """
    :raises ConfigError: for a pin or a name that is none, and without the packages it takes.
    """
    try:
        from ...net.connections import Connections
        from ...net.pinning import gateway_policy
    except ImportError as e:
        text = f"{e.name} is missing: pip install 'rescriptum[gateway]'"
        raise ConfigError([Problem("gateway", text)]) from None
    try:
        policy = gateway_policy(reach.pins, reach.server_name)
    except ValueError as e:
        raise ConfigError([Problem("gateway", str(e))]) from None
    return Gateway(reach, Connections(reactor, policy), IReactorTime(reactor))


class Events(Protocol):
    """Bytes to messages of an event stream."""

    def __init__(self, heard: Callable[[Message], None], clock: IReactorTime) -> None:
        self._heard = heard
        self._buffer = b""
        self.ended: Deferred[RescriptumError] = Deferred()
        self._timer = clock.callLater(SILENCE, self._silent)

    def dataReceived(self, data: bytes) -> None:
        if self.ended.called:
            return
        self._timer.reset(SILENCE)
        *messages, self._buffer = (self._buffer + data).split(b"\n\n")
        for each in messages:
            message = _message(each)
            if message is not None:
                self._heard(message)
        if len(self._buffer) > MESSAGE:
            self._end(Unavailable("a message of the event stream without end"))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._end(Unavailable("the gateway ended the event stream"))

    def stop(self) -> None:
        if self._timer.active():
            self._timer.cancel()

    def _silent(self) -> None:
        self._end(Unavailable(f"the event stream was silent for {SILENCE} s"))

    def _end(self, reason: RescriptumError) -> None:
        if not self.ended.called:
            self.ended.callback(reason)


def _message(text: bytes) -> Message | None:
    """:returns: None for comments, and for what has no data."""
    fields = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        fields[name] = value.removeprefix(" ")
    try:
        data = json.loads(fields.get("data", ""))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return Message(fields.get("event", "message"), data, fields.get("id"))


def _parsed(body: bytes) -> Fields:
    if not body:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unavailable("the answer is no JSON object: is this a rescriptum gateway?")
    return found
