"""Commands of ``rescriptum gateway`` against the real API, without a socket between."""

import json
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.python.usage import Options, UsageError
from twisted.web.client import HTTPConnectionPool, ResponseDone
from twisted.web.http_headers import Headers
from twisted.web.iweb import IBodyProducer

from rescriptum.cli.gateway.asking import Asked
from rescriptum.cli.gateway.client import Gateway
from rescriptum.cli.gateway.group import GatewayOptions
from rescriptum.cli.gateway.reach import Reach
from rescriptum.cli.gateway.screen import Screen
from rescriptum.errors import RescriptumError
from rescriptum.gateway.records import Scope
from rescriptum.web.decision import decide
from rescriptum.web.reply import StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer
from tests.operatorcases import TOKENS, OperatorCase
from tests.webclient import PEER


class Written:
    """Satisfies ``IConsumer``, as far as a body needs one."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


class Response:
    """What a client reads: whole, or as it comes."""

    def __init__(self, code: int, body: bytes, stream: Callable[["Response"], None] | None) -> None:
        self.code = code
        self.length = len(body)
        self._body = body
        self._stream = stream
        self.protocol: Protocol | None = None
        self.ended: Callable[[str], None] | None = None

    def deliverBody(self, protocol: Protocol) -> None:
        self.protocol = protocol
        protocol.connectionMade()
        if self._stream is None:
            protocol.dataReceived(self._body)
            protocol.connectionLost(Failure(ResponseDone()))
        else:
            self._stream(self)

    # The other side of a stream.

    ROOM: ClassVar[int] = 0
    waiting = 0

    def write(self, data: bytes) -> None:
        if self.protocol is not None:
            self.protocol.dataReceived(data)

    def finish(self, last: bytes = b"") -> None:
        self.abort("closed")

    def abort(self, reason: str) -> None:
        ended, self.ended = self.ended, None
        if ended is not None:
            ended(reason)
        protocol, self.protocol = self.protocol, None
        if protocol is not None:
            protocol.connectionLost(connectionDone)


class MemoryConnections:
    """
    Stands in for :class:`rescriptum.net.connections.Connections`.

    :ivar broken: what a request ends with, while it is set.
    :ivar streams: responses that go on.
    """

    def __init__(self, case: "CommandCase", above: "MemoryConnections | None" = None) -> None:
        self._case = case
        self._above = above
        self.broken: Exception | None = None
        self.streams: list[Response] = []

    def fresh(self) -> "MemoryConnections":
        return MemoryConnections(self._case, self)

    def pool(self, persistent: bool) -> HTTPConnectionPool:
        return HTTPConnectionPool(None, persistent)

    def agent(self, pool: HTTPConnectionPool) -> "MemoryConnections":
        return self

    def abort(self) -> None:
        for each in tuple(self.streams):
            self.streams.remove(each)
            each.abort("lost")

    def request(
        self, method: bytes, url: bytes, headers: Headers, body: IBodyProducer | None
    ) -> Deferred[Response]:
        broken = self.broken or (self._above.broken if self._above is not None else None)
        if broken is not None:
            raise broken
        written = Written()
        if body is not None:
            body.startProducing(written)
        lines = tuple(
            (name.decode().lower(), value.decode())
            for name, values in headers.getAllRawHeaders()
            for value in values
        )
        target = url.decode().removeprefix("https://gateway.example")
        request = Request(method.decode(), target, PEER, lines, written.data)
        self._case.requests.append(request)
        reply = self._case.result(answer(self._case.operators, request))
        if isinstance(reply, StreamReply):
            opened = reply.opened
            made = Response(200, b"", lambda response: opened(response))
            self.streams.append(made)
            self._case.streams.append(made)
        else:
            decided = decide(request, reply)
            made = Response(decided.status, decided.body, None)
        return succeed(made)


class Terminal(StringIO):
    """Somebody looks on."""

    def isatty(self) -> bool:
        return True


class CommandCase(OperatorCase):
    """:ivar requests: all that were asked. :ivar streams: that were begun."""

    def setUp(self) -> None:
        super().setUp()
        self.requests: list[Request] = []
        self.streams: list[Response] = []
        self.connections = MemoryConnections(self)
        self.gateway = self.reached()

    def reached(self, token: str = TOKENS[Scope.ADMIN]) -> Gateway:
        reach = Reach("https://gateway.example", token)
        return Gateway(reach, self.connections, self.clock)  # type: ignore[arg-type]

    def interrupt(self) -> None:
        """The gateway stops: every stream ends."""
        for each in self.streams:
            each.abort("stopping")
        self.streams.clear()

    def result(self, coroutine: Any) -> Any:
        return self.successResultOf(Deferred.fromCoroutine(coroutine))

    def leaf(self, *argv: str) -> Asked:
        """:raises UsageError: for a command that is none."""
        options: Options = GatewayOptions()
        options.parseOptions(list(argv))
        while getattr(options, "subCommand", None) is not None:
            options = options.subOptions
        assert isinstance(options, Asked)
        return options

    def run_(self, *argv: str, out: StringIO | None = None, plain: bool = False) -> str:
        """:returns: what a command prints; it ends with exit code 0."""
        code, told, _ = self.ended(*argv, out=out, plain=plain)
        self.assertEqual(code, 0, told)
        return told

    def ended(
        self, *argv: str, out: StringIO | None = None, plain: bool = False
    ) -> tuple[int, str, str]:
        """:returns: the exit code, and both outputs."""
        leaf = self.leaf(*argv)
        out, err = out if out is not None else StringIO(), StringIO()
        screen = Screen(out, err, bool(leaf["json"]), plain)
        code = self.result(leaf.ask(self.gateway, screen))
        return code, out.getvalue(), err.getvalue()

    def said(self, *argv: str) -> Mapping[str, Any]:
        """:returns: what a command tells programs."""
        found: Mapping[str, Any] = json.loads(self.run_(*argv, "--json"))
        return found

    def wrong(self, *argv: str) -> str:
        """:returns: why the gateway does not do it."""
        leaf = self.leaf(*argv)
        asked = Deferred.fromCoroutine(leaf.ask(self.gateway, Screen(StringIO(), StringIO())))
        failure = self.failureResultOf(asked, RescriptumError)
        return str(failure.value)

    def misused(self, *argv: str) -> str:
        """:returns: why it is no command."""
        with self.assertRaises(UsageError) as caught:
            self.leaf(*argv)
        return str(caught.exception)
