"""Tests for ``rescriptum.cli.gateway.client``: what a gateway may say, and what it may not."""

from errno import ECONNREFUSED, ENETUNREACH
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.error import NoRouteError
from twisted.internet.protocol import connectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import ResponseFailed

from rescriptum.cli.gateway import client
from rescriptum.cli.gateway.client import EXCHANGE, LONGEST, Gateway, Message, Told, gateway
from rescriptum.cli.gateway.reach import Reach
from rescriptum.errors import ConfigError, RescriptumError, Unavailable
from tests.gatewaycommands import Response

REACH = Reach("https://gateway.example", "rsop_x")


class Scripted:
    """Stands in for connections: answers as it is told. :ivar aborted: whether all were dropped."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.aborted = False

    def pool(self, persistent: bool) -> None:
        return None

    def agent(self, pool: object) -> "Scripted":
        return self

    def fresh(self) -> "Scripted":
        return self

    def abort(self) -> None:
        self.aborted = True

    def request(self, *_: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class ClientTests(SynchronousTestCase):
    def asked(self, answer: Any) -> "Deferred[Any]":
        self.clock = Clock()
        self.connections = Scripted(answer)
        made = Gateway(REACH, self.connections, self.clock)  # type: ignore[arg-type]
        return Deferred.fromCoroutine(made.get("sites"))

    def failed(self, answer: Any) -> RescriptumError:
        found: RescriptumError = self.failureResultOf(self.asked(answer), RescriptumError).value
        return found

    def answered(self, code: int, body: bytes) -> RescriptumError:
        response: Deferred[Response] = Deferred()
        response.callback(Response(code, body, None))
        return self.failed(response)

    def test_a_refusal(self) -> None:
        body = b'{"code":"in-use","detail":"it has nodes.","advice":"Remove them."}'
        error = self.answered(409, body)
        assert isinstance(error, Told)
        self.assertEqual((error.code, error.status), ("in-use", 409))
        self.assertEqual(str(error), "in-use: it has nodes. Remove them.")

    def test_something_else_that_answers(self) -> None:
        for code, body in (404, b"<html>"), (500, b""), (302, b"{}"), (400, b"[]"):
            error = self.answered(code, body)
            self.assertIn(f"answered {code}", str(error))
            self.assertIn("Is this the address", str(error))
        self.assertIn("no JSON object", str(self.answered(200, b"<html>")))
        self.assertIn("no JSON object", str(self.answered(200, b"[" * 100_000)))

    def test_too_much(self) -> None:
        """As soon as it is: nothing more is read."""
        self.assertIn("too-large", str(self.answered(200, b" " * (LONGEST + 1))))
        self.assertTrue(self.connections.aborted)
        self.assertIn("answered 500", str(self.answered(500, b" " * 65537)))
        self.assertTrue(self.connections.aborted)

    def test_silence(self) -> None:
        asked = self.asked(Deferred())
        self.clock.advance(EXCHANGE)
        error = self.failureResultOf(asked, Unavailable).value
        self.assertIn("in time", str(error))

    def test_nobody_there(self) -> None:
        self.assertIn("is it running?", str(self.failed(Refused())))
        told = "cannot connect to the gateway: Connection refused; is it running?"
        self.assertEqual(str(self.failed(Refused(ECONNREFUSED))), told)
        told = "cannot connect to the gateway: Network is unreachable"
        self.assertEqual(str(self.failed(NoRouteError(ENETUNREACH))), told)
        self.assertIn("cannot reach the gateway: ", str(self.failed(ResponseFailed([]))))

    def test_pins_that_are_none(self) -> None:
        for reach in (
            Reach("https://x", "t", ("sha256/x",), "x"),
            Reach("https://x", "t", (), "\u00e9"),
        ):
            self.assertRaises(ConfigError, gateway, Clock(), reach)


class EventTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.heard: list[Message] = []
        self.reader = client.Events(self.heard.append, Clock())

    def test_in_any_pieces(self) -> None:
        text = b'retry: 2\nevent: hello\ndata: {"a":1}\n\n:\n\nid: 7\nevent: x\ndata: {"b": 2}\n\n'
        for at in range(len(text)):
            self.reader.dataReceived(text[at : at + 1])
        self.assertEqual(
            self.heard, [Message("hello", {"a": 1}, None), Message("x", {"b": 2}, "7")]
        )

    @given(st.lists(st.binary(max_size=30), max_size=5))
    def test_garbage(self, pieces: list[bytes]) -> None:
        """Nothing is raised, whatever comes."""
        reader = client.Events(lambda message: None, Clock())
        for each in pieces:
            reader.dataReceived(each)

    def test_a_message_without_end(self) -> None:
        self.reader.dataReceived(b"data: " + b"x" * client.MESSAGE)
        self.assertIsInstance(self.successResultOf(self.reader.ended), Unavailable)
        self.reader.dataReceived(b"\n\nevent: late\ndata: {}\n\n")
        self.assertEqual(self.heard, [])

    def test_the_end(self) -> None:
        self.reader.connectionLost(Failure(connectionDone.value))
        self.assertIn("ended", str(self.successResultOf(self.reader.ended)))
