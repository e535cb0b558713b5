"""Tests for ``rescriptum.agent.client`` against TLS servers that misbehave, on loopback."""

import json
import os
from collections.abc import Awaitable, Callable
from functools import cache
from typing import cast

from hyperlink import DecodedURL
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IPushProducer, IReactorTCP
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import Clock, deferLater
from twisted.internet.tcp import Port
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from rescriptum.agent.client import EXCHANGE, GatewayClient, Session
from rescriptum.contract.certificates import certificate_pin
from rescriptum.contract.frames import Accepted, Ack, Heartbeat, Ping, Received, Release
from rescriptum.contract.joining import Attestor, Joined, JoinRequest, Keys, Role
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import Problem, SecretAnswer, SecretRequest, Welcome
from rescriptum.contract.structure import LONGEST_DOCUMENT, rendered
from rescriptum.errors import RescriptumError, Unavailable, Unverified
from rescriptum.net.connections import Connections
from rescriptum.net.pinning import gateway_policy
from tests.certificates import ChainServer, Issued, issued

NAME = "gw.internal"
SESSION = Session("s1", "token-of-s1")
KEYS = {"signing": {"kty": "OKP"}, "encryption": {"kty": "OKP"}}


def reply(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def frame(seq: int) -> bytes:
    return json.dumps({"seq": seq, "type": "ping", "ack": {"beat": 9, "epoch": 2}}).encode() + b"\n"


BEGUN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Line(Protocol):
    """
    One connection of the server.

    :ivar heard: all that came. :ivar gone: fires when it is over.
    """

    def __init__(self) -> None:
        self.heard = b""
        self.gone: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        cast(Server, self.factory).lines.append(self)

    def dataReceived(self, data: bytes) -> None:
        self.heard += data
        server = cast(Server, self.factory)
        head, end, body = self.heard.partition(b"\r\n\r\n")
        length = next(
            (int(each[16:]) for each in head.split(b"\r\n") if each.startswith(b"Content-Length:")),
            0,
        )
        if end and len(body) >= length:
            server.requests.append((head, body))
            self.heard = b""
            assert self.transport is not None
            self.transport.write(server.says)
            if server.hangs_up:
                self.transport.loseConnection()
            waiting, server.asked = server.asked, Deferred()
            waiting.callback(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.gone.callback(None)


class Server(Factory):
    """
    :ivar says: to each request. :ivar hangs_up: whether it closes then.
    :ivar asked: fires with the connection that the next request comes on.
    """

    protocol = Line
    noisy = False

    def __init__(self) -> None:
        self.says = b""
        self.hangs_up = False
        self.requests: list[tuple[bytes, bytes]] = []
        self.lines: list[Line] = []
        self.asked: Deferred[Line] = Deferred()


@cache
def pinned() -> tuple[Issued, ...]:
    """:returns: the chain of the right gateway."""
    root = issued("root", authority=True)
    return issued("leaf", root, names=[NAME]), root


class ClientCase(TestCase):
    def setUp(self) -> None:
        self.chain = pinned()
        self.server = Server()
        self.clock = Clock()
        self.port = self.listen(self.chain)
        self.client = self.to(self.port)
        self.addCleanup(lambda: Deferred.fromCoroutine(self.over()))

    async def over(self) -> None:
        await self.client.close()
        await gatherResults([each.gone for each in self.server.lines])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def listen(self, chain: tuple[Issued, ...] | None) -> int:
        factory: object = self.server
        if chain is not None:
            factory = TLSMemoryBIOFactory(ChainServer(chain), False, self.server)
        tcp = IReactorTCP(reactor)
        port = tcp.listenTCP(0, factory, interface="127.0.0.1")  # type: ignore[arg-type]
        assert isinstance(port, Port)
        self.addCleanup(port.stopListening)
        return int(port.getHost().port)

    def to(self, port: int, scheme: str = "https", cleartext: bool = False) -> GatewayClient:
        pin = certificate_pin(self.chain[-1].certificate).text
        connections = Connections(reactor, gateway_policy([pin], NAME), cleartext)
        url = DecodedURL.from_text(f"{scheme}://127.0.0.1:{port}/")
        return GatewayClient(url, connections, self.clock)

    async def refused(self, asking: Awaitable[object]) -> RescriptumError:
        try:
            got = await asking
        except RescriptumError as e:
            return e
        raise AssertionError(f"it said {got!r}")


class UnaryTests(ClientCase):
    async def test_each_call(self) -> None:
        """Each goes where it belongs, says who asks, and its answer is read by its type."""
        signed = JoinRequest(Role.SITE, "lyon", Attestor.TOKEN, "e.e.e", "j.j.j", {}, "boot")
        secret = SecretRequest("token-1", "w", "s", "c1", 2)
        welcome = Welcome("s1", "t", 5000, 15000, 1_700_000_000)
        accepted = Accepted(Ack(9, 2), ("c1",), (1,), ("c2",))
        calls: list[tuple[str, object, Callable[[], Awaitable[object]]]] = [
            ("GET /v1/keys", Keys({"kty": "OKP"}, {"kty": "OKP"}), self.client.keys),
            ("POST /v1/join", Joined("a.b.c"), lambda: self.client.join(signed)),
            ("POST /v1/sessions", welcome, lambda: self.client.hello("h.h.h")),
            (
                "POST /v1/sessions/s1/frames",
                accepted,
                lambda: self.client.frames(SESSION, [Heartbeat(9, 2), Release(1)]),
            ),
            (
                "POST /v1/sessions/s1/secrets",
                SecretAnswer("hush"),
                lambda: self.client.secret(SESSION, secret),
            ),
        ]
        for line, answer, call in calls:
            self.server.says = reply(rendered(answer))
            self.assertEqual(await call(), answer)
            head, body = self.server.requests[-1]
            self.assertTrue(head.startswith(f"{line} HTTP/1.1\r\n".encode()), head)
            inside = b"s1" in head.split(b"\r\n")[0]
            self.assertEqual(b"Authorization: Bearer token-of-s1" in head, inside)
            if line.endswith("frames"):
                self.assertEqual(
                    json.loads(body),
                    [
                        {"type": "heartbeat", "beat": 9, "epoch": 2},
                        {"type": "release", "epoch": 1},
                    ],
                )
        self.assertEqual(len(self.server.lines), 1)  # kept alive

    async def test_refused(self) -> None:
        """The gateway's own code is what the caller hears, of codes that there are."""
        cases = [
            ("403 F", "token-used", Rejected, "token-used"),
            ("401 U", "unknown-session", Rejected, "unknown-session"),
            ("409 C", "stale-epoch", Rejected, "stale-epoch"),
            ("503 S", "store-unavailable", Unavailable, "unavailable"),
            ("403 F", "unheard-of", Unavailable, "unavailable"),
        ]
        for status, code, kind, heard in cases:
            self.server.says = reply(rendered(Problem(code, "why", "what")), status)
            error = await self.refused(self.client.keys())
            self.assertIsInstance(error, kind)
            self.assertEqual(error.code, heard)
            self.assertIn("why", str(error))

    async def test_what_is_no_answer(self) -> None:
        """Each is an error of ours with its reason."""
        cases = [
            (reply(b"<html>", "502 Bad Gateway"), Unavailable, "502"),
            (reply(b"", "302 Found", "Location: https://192.0.2.1/"), Unavailable, "redirects"),
            (reply(b"not JSON"), Rejected, "malformed-json"),
            (reply(b'{"signing":{}}'), Rejected, "missing: encryption"),
            (reply(b"{}", "200 OK", "Content-Encoding: gzip"), Rejected, "missing"),
            (b"SSH-2.0\r\n", Unavailable, "cannot reach"),
        ]
        for says, kind, text in cases:
            self.server.says = says
            error = await self.refused(self.client.keys())
            self.assertIsInstance(error, kind, repr(says))
            self.assertIn(text, str(error))
        self.server.hangs_up = True
        for says in (b"", reply(rendered(KEYS))[:-1]):
            self.server.says = says
            error = await self.refused(self.client.keys())
            self.assertIsInstance(error, Unavailable, repr(says))

    async def test_the_largest_answer(self) -> None:
        """4 MiB are taken; with one byte more the connection is gone before the end."""
        fitting = rendered(KEYS) + b" " * (LONGEST_DOCUMENT - len(rendered(KEYS)))
        self.server.says = reply(fitting)
        self.assertIsInstance(await self.client.keys(), Keys)
        self.server.says = BEGUN + chunk(fitting) + chunk(b" ")  # and no end
        error = await self.refused(self.client.keys())
        self.assertEqual(error.code, "too-large")
        await self.server.lines[-1].gone

    async def test_slow(self) -> None:
        """Nothing within 30 seconds, in any part of the answer; the connection is gone then."""
        for says in (b"", b"HTTP/1.1 200 OK\r\n", BEGUN + chunk(b"{")):
            self.server.says = says
            asked = self.server.asked
            asking = Deferred.fromCoroutine(self.client.keys())
            line = await asked
            await deferLater(reactor, 0.05, lambda: None)
            self.clock.advance(EXCHANGE - 1)
            self.assertNoResult(asking)
            self.clock.advance(1)
            error = await self.refused(asking)
            self.assertIn("in time", str(error))
            await line.gone

    async def test_frames_have_less_time(self) -> None:
        """A heartbeat that has no answer must not stand in the way of the next one."""
        asked = self.server.asked
        asking = Deferred.fromCoroutine(self.client.frames(SESSION, [Heartbeat(1)], 5))
        await asked
        self.clock.advance(5)
        self.assertIsInstance(await self.refused(asking), Unavailable)

    async def test_another_gateway(self) -> None:
        """Not a byte of the request reaches a server that is not the pinned one."""
        evil = issued("root", authority=True)
        chain = issued("leaf", evil, names=[NAME]), evil
        client = self.to(self.listen(chain))
        for call in (client.keys(), client.hello("h.h.h")):
            error = await self.refused(call)
            self.assertIsInstance(error, Unverified)
            self.assertEqual(error.code, "pin-mismatch")
        self.assertEqual(self.server.requests, [])
        await client.close()

    async def test_cleartext(self) -> None:
        """``http://`` is refused, but where tests allow it."""
        port = self.listen(None)
        error = await self.refused(self.to(port, "http").keys())
        self.assertIn("https://", str(error))
        self.server.says = reply(rendered(KEYS))
        client = self.to(port, "http", cleartext=True)
        self.assertIsInstance(await client.keys(), Keys)
        await client.close()

    async def test_nobody_there(self) -> None:
        """A closed port is told as such."""
        error = await self.refused(self.to(1).keys())
        self.assertIn("cannot connect to the gateway: Connection refused", str(error))

    async def test_no_environment_proxy(self) -> None:
        """What the environment says of proxies is nobody's business here."""
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
            self.patch_environ(name, "http://127.0.0.1:1")
        self.server.says = reply(rendered(KEYS))
        self.assertIsInstance(await self.client.keys(), Keys)

    def patch_environ(self, name: str, value: str) -> None:
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(
            lambda: os.environ.pop(name) if before is None else os.environ.update({name: before})
        )

    async def test_a_token_that_no_header_carries(self) -> None:
        """A session's token is printable ASCII, or the session is not used."""
        for token in ("é", "a\r\nb", "a\x00"):
            with self.assertRaises(Rejected):
                Session.of(Welcome("s1", token, 5000, 15000, 1))
        self.assertNotIn("hush", repr(Session("s1", "hush")))


class StreamTests(ClientCase):
    def setUp(self) -> None:
        super().setUp()
        self.frames: list[Received] = []
        self.came: Deferred[None] = Deferred()

    def took(self, received: Received) -> None:
        self.frames.append(received)
        came, self.came = self.came, Deferred()
        came.callback(None)

    async def test_frames(self) -> None:
        """They come one by one, on a connection of their own, until the gateway ends it."""
        self.server.says = BEGUN + chunk(frame(1))
        came = self.came
        asked = self.server.asked
        stream = self.client.stream(SESSION, self.took, 15)
        line = await asked
        head, _ = self.server.requests[0]
        self.assertTrue(head.startswith(b"GET /v1/sessions/s1/frames HTTP/1.1\r\n"))
        self.assertIn(b"Authorization: Bearer token-of-s1", head)
        await came
        came = self.came
        assert line.transport is not None
        line.transport.write(chunk(frame(2)))
        await came
        self.assertEqual(
            self.frames, [Received(1, Ping(), Ack(9, 2)), Received(2, Ping(), Ack(9, 2))]
        )
        line.transport.write(b"0\r\n\r\n")
        error = await stream.ended
        self.assertIn("ended the stream", str(error))

    async def test_refused(self) -> None:
        """A session that is over is told by its code."""
        self.server.says = reply(rendered(Problem("unknown-session", "", "")), "401 U")
        error = await self.client.stream(SESSION, self.took, 15).ended
        self.assertEqual(error.code, "unknown-session")

    async def test_another_gateway(self) -> None:
        """As for every other call."""
        evil = issued("root", authority=True)
        client = self.to(self.listen((issued("leaf", evil, names=[NAME]), evil)))
        error = await client.stream(SESSION, self.took, 15).ended
        self.assertIsInstance(error, Unverified)
        self.assertEqual(self.server.requests, [])

    async def test_it_never_begins(self) -> None:
        """Silence before the answer is silence."""
        asked = self.server.asked
        stream = self.client.stream(SESSION, self.took, 15)
        line = await asked
        self.clock.advance(15)
        self.assertIsInstance(await stream.ended, Unavailable)
        await line.gone

    async def test_silence(self) -> None:
        """The connection of a stream that fell silent is gone."""
        self.server.says = BEGUN + chunk(frame(1))
        came, asked = self.came, self.server.asked
        stream = self.client.stream(SESSION, self.took, 15)
        line = await asked
        await came
        self.clock.advance(15)
        self.assertIn("no frame for 15 seconds", str(await stream.ended))
        await line.gone

    async def test_given_up(self) -> None:
        """At any time: before the connection, the answer, a frame; each is gone at once."""
        stream = self.client.stream(SESSION, self.took, 15)
        stream.abort()
        self.assertIn("given up", str(await stream.ended))
        asked = self.server.asked
        stream = self.client.stream(SESSION, self.took, 15)
        line = await asked
        stream.abort()
        await stream.ended
        await line.gone
        self.assertEqual(self.frames, [])

    async def test_a_relay_that_keeps_bytes(self) -> None:
        """
        Bytes of the old stream that come after it was given up are not heard, and a peer that
        does not say good-bye does not hold the connection.
        """
        self.server.says = BEGUN + chunk(frame(1))
        came, asked = self.came, self.server.asked
        stream = self.client.stream(SESSION, self.took, 15)
        line = await asked
        await came
        assert line.transport is not None
        transport = cast(IPushProducer, line.transport)
        transport.pauseProducing()  # reads nothing any more: no alert, no end
        line.transport.write(chunk(frame(2)))
        stream.abort()
        await stream.ended
        line.transport.write(chunk(frame(3)))
        transport.resumeProducing()
        await line.gone
        self.assertEqual([each.seq for each in self.frames], [1])
