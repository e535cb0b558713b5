"""Tests for ``rescriptum.boot.client`` against servers that misbehave, on loopback."""

from treq.client import HTTPClient
from twisted.internet import reactor
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IReactorTCP, IReactorTime
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.trial.unittest import TestCase
from twisted.web.client import Agent, HTTPConnectionPool

from rescriptum.boot import client
from rescriptum.boot.client import ChainClient
from rescriptum.boot.observed import Answer, Heard, Silent


class Says(Protocol):
    """A server that answers the first bytes of a request with bytes of its own."""

    answer = b""
    close = True

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(self.answer)
        if self.close:
            self.transport.loseConnection()


class ChainClientTests(TestCase):
    def setUp(self) -> None:
        self.patch(client, "PATIENCE", 0.6)

    async def ask(
        self, answer: bytes, method: str = "GET", *, close: bool = True, limit: int = 1000
    ) -> Answer:
        """:returns: what the client makes of a server that says ``answer``."""
        protocol = type("Server", (Says,), {"answer": answer, "close": close})
        factory = ServerFactory()
        factory.protocol = protocol
        port = IReactorTCP(reactor).listenTCP(0, factory, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        pool = HTTPConnectionPool(reactor, persistent=False)
        asking = ChainClient(HTTPClient(Agent(reactor, pool=pool)), IReactorTime(reactor))
        address = port.getHost()
        assert isinstance(address, IPv4Address)
        url = f"http://127.0.0.1:{address.port}/x"
        return await (asking.head(url) if method == "HEAD" else asking.get(url, limit))

    async def silent(self, answer: bytes, *, close: bool = True, limit: int = 1000) -> str:
        heard = await self.ask(answer, close=close, limit=limit)
        assert isinstance(heard, Silent), heard
        return heard.reason

    async def test_an_answer(self) -> None:
        """Status, type without interpretation, length and body."""
        heard = await self.ask(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/efi\r\nContent-Length: 2\r\n\r\nMZ"
        )
        self.assertEqual(heard, Heard(200, "application/efi", 2, b"MZ"))

    async def test_head(self) -> None:
        """The length of a HEAD is that of the body which does not come; none is None."""
        for header, length in ((b"Content-Length: 7\r\n", 7), (b"", None)):
            heard = await self.ask(b"HTTP/1.1 200 OK\r\n" + header + b"\r\n", "HEAD")
            self.assertEqual(heard, Heard(200, "", length))

    async def test_redirects_are_reported(self) -> None:
        """Firmware does not follow them (W153): neither does this."""
        heard = await self.ask(
            b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"
        )
        assert isinstance(heard, Heard)
        self.assertEqual(heard.status, 302)

    async def test_nobody_there(self) -> None:
        """A closed port is a value with the reason."""
        asking = ChainClient(HTTPClient(Agent(reactor)), IReactorTime(reactor))
        heard = await asking.get("http://127.0.0.1:1/", 10)
        assert isinstance(heard, Silent)
        self.assertIn("refused", heard.reason)

    async def test_silence(self) -> None:
        """Before the headers and within the body: neither waits for ever."""
        self.assertIn("nothing within", await self.silent(b"", close=False))
        half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nMZ"
        self.assertIn("silent", await self.silent(half, close=False))

    async def test_half_a_body(self) -> None:
        """A connection that ends early is no answer."""
        half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nMZ"
        self.assertIn("broke off", await self.silent(half))

    async def test_more_than_was_asked_for(self) -> None:
        """A body is taken up to its bound, and not one byte further."""
        large = b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001
        self.assertIn("more than", await self.silent(large))
        fitting = large.replace(b"1001", b"1000")[:-1]
        heard = await self.ask(fitting)
        assert isinstance(heard, Heard)
        self.assertEqual(len(heard.body), 1000)

    async def test_no_http(self) -> None:
        """Whatever else answers there is a value too."""
        for junk in (b"SSH-2.0-OpenSSH\r\n", b"\0\xff" * 40, b"HTTP/1.1 nothing\r\n\r\n"):
            self.assertTrue(await self.silent(junk))
