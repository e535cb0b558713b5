"""Tests for ``rescriptum.siteproxy.client``: where it connects to, what it sends, its bounds."""

from collections.abc import Sequence
from ipaddress import ip_address

from attrs import define, field
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionAborted
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IResolutionReceiver,
)
from twisted.internet.protocol import Protocol
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from rescriptum.contract.proxying import LONGEST_BODY, LONGEST_HEAD
from rescriptum.contract.refusals import Rejected
from rescriptum.errors import Unavailable
from rescriptum.siteproxy.answer import Answer
from rescriptum.siteproxy.client import LOOKING_UP, ProxyClient
from rescriptum.siteproxy.rule import MOST_ADDRESSES, Allowed
from rescriptum.siteproxy.url import parsed


@implementer(IHostResolution)
@define
class Resolution:
    name: str

    def cancel(self) -> None:
        """Like most of them, it goes on."""


@implementer(IHostnameResolver)
@define
class Resolver:
    """:ivar waiting: who has asked and was told nothing yet."""

    waiting: list[tuple[str, IResolutionReceiver]] = field(factory=list)

    def resolveHostName(
        self,
        resolutionReceiver: IResolutionReceiver,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type[IAddress]] | None = None,
        transportSemantics: str = "TCP",
    ) -> IHostResolution:
        self.waiting.append((hostName, resolutionReceiver))
        return Resolution(hostName)

    def say(self, *addresses: IAddress) -> None:
        _, receiver = self.waiting.pop(0)
        for each in addresses:
            receiver.addressResolved(each)
        receiver.resolutionComplete()


class Transport(StringTransport):
    aborted = False

    def abortConnection(self) -> None:
        self.aborted = True


class ClientCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.resolver = Resolver()
        self.client = ProxyClient(self.reactor, self.resolver)

    def ask(
        self,
        url: str = "http://10.1.2.3/x",
        address: str = "10.1.2.3",
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        method: str = "GET",
    ) -> Deferred[Answer]:
        allowed = Allowed(parsed(url), method, ip_address(address))
        return Deferred.fromCoroutine(self.client.perform(allowed, headers, body, None))

    def connected(self) -> tuple[Protocol, Transport]:
        transport = Transport()
        factory = self.reactor.tcpClients[-1][2]
        protocol = factory.buildProtocol(IPv4Address("TCP", "10.1.2.3", 80))
        assert isinstance(protocol, Protocol)
        protocol.makeConnection(transport)
        return protocol, transport


class ClientTests(ClientCase):
    def test_it_connects_to_the_checked_address(self) -> None:
        """Whatever the host is called: nobody is asked for its addresses again."""
        for url, address, port in (
            ("http://switch-1.lab/", "10.1.2.3", 80),
            ("http://switch-1.lab:8080/", "fd12:3456::7", 8080),
            ("https://switch-1.lab/", "10.1.2.3", 443),
        ):
            asking = self.ask(url, address)
            self.assertEqual(self.reactor.tcpClients[-1][:2], (address, port))
            self.assertEqual(self.reactor.tcpClients[-1][3], 10)
            asking.addErrback(lambda _: None)
            asking.cancel()
        self.assertEqual(self.resolver.waiting, [])

    def test_what_is_sent(self) -> None:
        """The very text that was checked, the host that was written, and nothing of our own."""
        self.ask(
            "http://Switch-1.lab:8080//a/../b;?c=%2F",
            headers=[("X-A", "1"), ("x-a", "2")],
            body=b"body",
            method="POST",
        )
        _, transport = self.connected()
        head, _, body = transport.value().partition(b"\r\n\r\n")
        first, *fields = head.split(b"\r\n")
        self.assertEqual(first, b"POST //a/../b;?c=%2F HTTP/1.1")
        self.assertEqual(
            sorted(each.lower() for each in fields),
            [
                b"connection: close",
                b"content-length: 4",
                b"host: switch-1.lab:8080",
                b"x-a: 1",
                b"x-a: 2",
            ],
        )
        self.assertEqual(body, b"body")

    def test_every_path_as_it_is(self) -> None:
        for asked in ("/", "/?", "//", "/a;", "/a;b?c?d", "//h:x/", "//u@h/", "/%2e%2e/", "/*"):
            self.ask(f"http://10.1.2.3{asked}")
            _, transport = self.connected()
            line = transport.value().split(b"\r\n")[0]
            self.assertEqual(line, f"GET {asked} HTTP/1.1".encode())

    def test_an_answer(self) -> None:
        """A redirect is an answer like any other, and the connection is over after it."""
        asking = self.ask()
        protocol, transport = self.connected()
        protocol.dataReceived(
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nSet-Cookie: a\r\n"
            b"Set-Cookie: b\r\nContent-Length: 2\r\n\r\nhi"
        )
        answer = self.successResultOf(asking)
        self.assertEqual((answer.status, answer.body, answer.truncated), (302, b"hi", False))
        shown = [(each.name, each.value) for each in answer.headers]
        self.assertEqual(
            shown, [("Location", "http://127.0.0.1/"), ("Set-Cookie", "a"), ("Set-Cookie", "b")]
        )
        self.assertEqual(len(self.reactor.tcpClients), 1)
        self.assertTrue(transport.aborted)

    def test_a_body_of_just_as_much(self) -> None:
        """And of a byte more: cut, and the connection with it."""
        for length, truncated in ((LONGEST_BODY, False), (LONGEST_BODY + 1, True)):
            asking = self.ask()
            protocol, transport = self.connected()
            protocol.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length)
            protocol.dataReceived(b"x" * (LONGEST_BODY - 1))
            self.assertNoResult(asking)
            self.assertFalse(transport.aborted)
            protocol.dataReceived(b"x" * (length - LONGEST_BODY + 1))
            answer = self.successResultOf(asking)
            self.assertEqual((len(answer.body), answer.truncated), (LONGEST_BODY, truncated))
            self.assertTrue(transport.aborted)

    def test_a_head_without_end(self) -> None:
        """Of many fields, of many interim answers, or of one line."""
        start = b"HTTP/1.1 200 OK\r\n"
        for piece, first in (
            (b"A: b\r\n", start),
            (b"HTTP/1.1 100 Continue\r\n\r\n", b""),
            (b"a", start + b"A: "),
        ):
            asking = self.ask()
            protocol, transport = self.connected()
            protocol.dataReceived(first)
            given = len(first)
            while given + len(piece) <= LONGEST_HEAD:
                protocol.dataReceived(piece)
                given += len(piece)
            self.assertNoResult(asking)
            self.assertFalse(transport.aborted)
            protocol.dataReceived(piece)
            self.assertTrue(transport.aborted)
            protocol.connectionLost(Failure(ConnectionAborted()))
            self.assertEqual(self.failureResultOf(asking, Rejected).value.code, "too-large")

    def test_a_head_in_one_piece(self) -> None:
        """It may come in one read that is longer: it is counted nevertheless."""
        asking = self.ask()
        protocol, transport = self.connected()
        fields = b"A: b\r\n" * (LONGEST_HEAD // 2 + 1)
        protocol.dataReceived(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
        self.assertEqual(self.failureResultOf(asking, Rejected).value.code, "too-large")
        self.assertTrue(transport.aborted)

    def test_given_up(self) -> None:
        """Before it is connected, before the head and within the body: nothing stays."""
        for said in (None, b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"):
            allowed = Allowed(parsed("http://10.1.2.3/"), "GET", ip_address("10.1.2.3"))

            async def work(allowed: Allowed = allowed) -> dict[str, object]:
                await self.client.perform(allowed, (), b"", None)
                return {}

            asking = Deferred.fromCoroutine(self.client.within(5, work()))
            if said is not None:
                protocol, transport = self.connected()
                protocol.dataReceived(said)
            self.reactor.advance(4.9)
            self.assertNoResult(asking)
            self.reactor.advance(0.2)
            self.assertEqual(self.failureResultOf(asking, Rejected).value.code, "timeout")
            if said is not None:
                self.assertTrue(transport.aborted)
            else:
                self.assertEqual(self.reactor.connectors[-1].stoppedConnecting, True)


class ResolvingTests(ClientCase):
    def test_addresses(self) -> None:
        """In their order, each once, of both sorts."""
        asking = Deferred.fromCoroutine(self.client.resolve("switch-1.lab"))
        self.assertEqual(self.resolver.waiting[0][0], "switch-1.lab")
        four, six = IPv4Address("TCP", "10.1.2.3", 0), IPv6Address("TCP", "fc00::1", 0)
        self.resolver.say(six, four, six)
        self.assertEqual(self.successResultOf(asking), ("fc00::1", "10.1.2.3"))

    def test_none(self) -> None:
        asking = Deferred.fromCoroutine(self.client.resolve("a"))
        self.resolver.say()
        self.assertEqual(self.successResultOf(asking), ())

    def test_too_many(self) -> None:
        """One more than may be judged, and no more are kept."""
        asking = Deferred.fromCoroutine(self.client.resolve("a"))
        self.resolver.say(*(IPv4Address("TCP", f"10.0.{n}.1", 0) for n in range(255)))
        self.assertEqual(len(self.successResultOf(asking)), MOST_ADDRESSES + 1)

    def test_nobody_says(self) -> None:
        """It is given up; what comes too late is not heard."""
        asking = Deferred.fromCoroutine(self.client.resolve("a"))
        self.reactor.advance(LOOKING_UP - 0.1)
        self.assertNoResult(asking)
        self.reactor.advance(0.2)
        self.failureResultOf(asking, Unavailable)
        self.resolver.say(IPv4Address("TCP", "10.1.2.3", 0))
