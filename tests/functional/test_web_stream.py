"""Long answers over real sockets: plain, TLS 1.2 and TLS 1.3, and Twisted's own transport."""

import socket
import ssl
import struct
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, cast

from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.internet.tcp import Connection, Port
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from rescriptum.values import Listen
from rescriptum.web.connection import HTTPConnection
from rescriptum.web.liveness import SILENCE
from rescriptum.web.reply import Finished, Outcome, Reply, StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import Routes
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site
from rescriptum.web.stream import Stream
from rescriptum.web.tls import Certificate

from ..certificates import write_certificate
from ..webclient import InlineWorkers, RawClient, Told

CLOCK = IReactorTime(global_reactor)
FRAME = b"x" * 2047 + b"\n"


def request(
    target: str = "/stream", *lines: str, method: str = "GET", version: str = "1.1"
) -> bytes:
    return "\r\n".join((f"{method} {target} HTTP/{version}", "Host: x", *lines, "", "")).encode()


class Narrator:
    routes = Routes()

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.ends: list[str] = []
        self.done: list[Finished] = []

    @routes.get("stream")
    def stream(self, request: Request) -> StreamReply:
        return StreamReply("application/x-ndjson", self.opened)

    def opened(self, stream: Stream) -> None:
        stream.ended = self.ends.append
        self.streams.append(stream)

    @routes.get("short")
    def short(self, request: Request) -> StreamReply:
        def opened(stream: Stream) -> None:
            self.opened(stream)
            stream.finish(b"short")

        return StreamReply("text/plain", opened)

    @routes.get("text")
    def text(self, request: Request) -> Reply:
        return Reply(b"text")

    def finished(self, done: Finished) -> None:
        self.done.append(done)

    def closed(self, peer: tuple[str, int]) -> None:
        pass


class WatchedSite(Site):
    """Knows its connections."""

    seen: ClassVar[list[HTTPConnection]]

    def made(self, connection: HTTPConnection) -> None:
        self.seen.append(connection)
        super().made(connection)


class StreamCase(TestCase):
    #: Of TLS; None without.
    newest: ClassVar[ssl.TLSVersion | None] = None
    #: Whether the listener is one of Twisted's own: no transport of ours is beneath.
    stock: ClassVar[bool] = False

    def setUp(self) -> None:
        self.narrator = Narrator()
        self.site = WatchedSite(
            self.narrator, reactor=CLOCK, limits=Limits(), workers=InlineWorkers()
        )
        self.site.seen = []  # type: ignore[misc]
        self.stopping: Deferred[None] | None = None
        tls = None
        if self.newest is not None:
            directory = Path(self.mktemp())
            directory.mkdir()
            tls = Certificate(*write_certificate(directory))
        if self.stock:
            port = Port(0, self.site, interface="127.0.0.1", reactor=global_reactor)
            port.startListening()
            self.addCleanup(port.stopListening)
            self.port = port.getHost().port
            self.stop: Callable[[], Deferred[None]] = lambda: self.site.stop(0.2)
        else:
            listen = Listen.parse("127.0.0.1:0")
            service = WebService(global_reactor, "gateway", listen, self.site, tls, 0.2)
            service.privilegedStartService()
            service.startService()
            self.port = service.address[1]
            self.stop = service.stopService
        self.addCleanup(self.stopped)

    def stopped(self) -> Deferred[None]:
        if self.stopping is None:
            self.stopping = self.stop()
        return self.stopping

    def client(self) -> RawClient:
        """Connected; nothing is asked yet."""
        if self.newest is None:
            return RawClient(self.port)
        return RawClient(self.port, tls=True, newest=self.newest)

    async def open(self, data: bytes = b"") -> tuple[RawClient, Stream]:
        """A client that has read the head, and nothing else."""
        client = await deferToThread(self.client)
        self.addCleanup(client.__exit__)
        client.send(data or request())
        await self.until(lambda: self.narrator.streams)
        await deferToThread(self.head, client)
        return client, self.narrator.streams[-1]

    def head(self, client: RawClient) -> bytes:
        while b"\r\n\r\n" not in client.spare:
            more = client.more()
            self.assertTrue(more)
            client.spare += more
        head, _, client.spare = client.spare.partition(b"\r\n\r\n")
        return head

    def body(self, client: RawClient, size: int) -> bytes:
        """Whatever comes, in bytes as they come."""
        while len(client.spare) < size:
            more = client.more()
            self.assertTrue(more, client.spare[:100])
            client.spare += more
        data, client.spare = client.spare[:size], client.spare[size:]
        return data

    def accepted(self) -> socket.socket:
        """The other end of the first client's socket, beneath TLS."""
        transport = self.site.seen[0].transport
        return cast(Connection, getattr(transport, "transport", transport)).socket

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(400):
            if holds():
                return
            await deferLater(CLOCK, 0.02)
        self.fail("it did not come to that within eight seconds")

    async def ended(self, reason: str) -> None:
        """So, and nobody is told another time; the connection is gone too."""
        await self.until(lambda: self.narrator.ends and not len(self.site))
        await deferLater(CLOCK, 0)
        self.assertEqual((self.narrator.ends, self.site.streams), ([reason], 0))


class PlainTests(StreamCase):
    async def test_every_byte(self) -> None:
        """What is written comes at once, chunk by chunk; then the connection goes on."""
        client, stream = await self.open()
        stream.write(b"one\n")
        self.assertEqual(await deferToThread(self.body, client, 9), b"4\r\none\n\r\n")
        stream.write(FRAME)
        stream.write(b"two")
        expected = b"800\r\n" + FRAME + b"\r\n3\r\ntwo\r\n"
        self.assertEqual(await deferToThread(self.body, client, len(expected)), expected)
        stream.finish(b"end")
        client.send(request("/text", "Connection: close"))

        def script() -> tuple[bytes, Told, bytes]:
            return self.body(client, 13), client.reply(), client.rest()

        last, told, rest = await deferToThread(script)
        self.assertEqual(last, b"3\r\nend\r\n0\r\n\r\n")
        self.assertEqual((told.status, told.body, rest), (200, b"text", b""))
        client.socket.close()
        await self.ended("closed")
        self.assertEqual(self.narrator.done[0].sent, 4 + 2048 + 3 + 3)
        self.assertEqual(self.narrator.done[0].outcome, Outcome.SENT)

    async def test_finished_at_once(self) -> None:
        """Whoever opens it may end it; requests that came with it are answered in order."""
        client = await deferToThread(self.client)
        self.addCleanup(client.__exit__)
        client.send(request("/short") * 3 + request("/text"))

        def script() -> tuple[list[bytes], Told]:
            bodies = []
            for _ in range(3):
                self.head(client)
                bodies.append(self.body(client, 15))
            return bodies, client.reply()

        bodies, told = await deferToThread(script)
        self.assertEqual(bodies, [b"5\r\nshort\r\n0\r\n\r\n"] * 3)
        self.assertEqual(told.body, b"text")
        await self.until(lambda: self.narrator.ends == ["closed"] * 3)

    async def test_old_clients(self) -> None:
        client, stream = await self.open(request(version="1.0"))
        stream.write(b"one")
        stream.finish(b"two")
        self.assertEqual(await deferToThread(client.rest), b"onetwo")
        client.socket.close()
        await self.ended("closed")

    async def test_head(self) -> None:
        client = await deferToThread(self.client)
        self.addCleanup(client.__exit__)
        client.send(request(method="HEAD") + request("/text"))

        def script() -> tuple[Told, Told]:
            return client.reply("HEAD"), client.reply()

        head, text = await deferToThread(script)
        self.assertEqual((head.status, head.header("Transfer-Encoding")), (200, "chunked"))
        self.assertEqual((head.header("Cache-Control"), text.body), ("no-store", b"text"))
        self.assertEqual(self.narrator.streams, [])

    async def test_more_than_any_buffer_holds(self) -> None:
        """A client that reads gets all of it, in order, though the wire is full all the time."""
        client, stream = await self.open()
        frames = [b"%09d\n" % at * 1000 for at in range(2000)]
        expected = b"".join(b"2710\r\n%b\r\n" % each for each in frames) + b"0\r\n\r\n"
        reading = deferToThread(self.body, client, len(expected))
        for frame in frames:
            await self.until(lambda: stream.waiting < Stream.ROOM - 20_000)
            stream.write(frame)
            await deferLater(CLOCK, 0)
        stream.finish()
        data = await reading
        self.assertTrue(data == expected)
        client.socket.close()
        await self.ended("closed")

    async def test_a_slow_reader(self) -> None:
        """It is dropped as soon as more would wait than there is room for."""
        client, stream = await self.open()
        most = written = 0
        while not self.narrator.ends:
            for _ in range(8):
                stream.write(FRAME)
                most = max(most, stream.waiting)
            written += 8
            self.assertLess(written, 20_000)
            await deferLater(CLOCK, 0)
        self.assertLessEqual(most, Stream.ROOM)
        await self.ended("slow-reader")
        self.assertEqual(self.narrator.done[0].reason, "slow-reader")
        data = await deferToThread(client.rest)
        self.assertNotIn(b"\r\n0\r\n\r\n", data)

    async def test_a_client_that_resets(self) -> None:
        client, stream = await self.open()
        stream.write(b"one")
        linger = struct.pack("ii", 1, 0)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.socket.close()
        await self.ended("lost")
        self.assertEqual(self.narrator.done[0].outcome, Outcome.STOPPED)

    async def test_a_client_that_closes(self) -> None:
        """Nothing has to be written for that to be seen."""
        client, _ = await self.open()
        client.socket.close()
        await self.ended("lost")

    async def test_a_client_that_closes_its_half(self) -> None:
        """Whoever says no more is one that has left."""
        client, _ = await self.open()
        socket.socket.shutdown(client.socket, socket.SHUT_WR)
        await self.ended("lost")
        self.assertNotIn(b"0\r\n\r\n", await deferToThread(client.rest))

    async def test_a_client_that_sends_on(self) -> None:
        """What it sends is not read; and that it has gone is seen with what is written next."""
        client, stream = await self.open()
        client.socket.settimeout(1)

        def script() -> bool:
            try:
                for _ in range(40):
                    client.send(b"x" * (1 << 20))
            except TimeoutError:
                return True
            return False

        self.assertTrue(await deferToThread(script))
        self.assertEqual(self.narrator.ends, [])
        linger = struct.pack("ii", 1, 0)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.socket.close()
        for _ in range(400):
            if self.narrator.ends:
                break
            stream.write(b"one")
            await deferLater(CLOCK, 0.02)
        await self.ended("lost")

    async def test_aborting(self) -> None:
        """The client is reset, whether it reads or not; its goodbye is not waited for."""
        client, stream = await self.open()
        stream.abort("superseded")
        await self.ended("superseded")
        reading = deferToThread(socket.socket.recv, client.socket, 1)  # beneath TLS
        await self.assertFailure(reading, ConnectionResetError)
        done = self.narrator.done[0]
        self.assertEqual((done.outcome, done.reason), (Outcome.FAILED, "superseded"))

    async def test_the_servers_end(self) -> None:
        client, stream = await self.open()
        stream.write(b"one")
        stopped = self.stopped()

        def script() -> bytes:
            data = client.rest()
            client.socket.close()
            return data

        self.assertEqual(await deferToThread(script), b"3\r\none\r\n0\r\n\r\n")
        await stopped
        await self.ended("stopping")
        self.assertEqual(self.narrator.done[0].outcome, Outcome.SENT)

    async def test_the_servers_end_waits_for_nobody(self) -> None:
        """A client that takes nothing is dropped when the grace is over."""
        client, stream = await self.open()
        # The kernel takes little, and does not change its mind.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.accepted().setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        while stream.waiting < Stream.ROOM - 4096:
            stream.write(FRAME)
            await deferLater(CLOCK, 0)
        await self.stopped()
        await self.ended("stopping")
        self.assertEqual(self.narrator.done[0].outcome, Outcome.STOPPED)

    async def test_clients_that_are_cut_off(self) -> None:
        """The kernel looks for them while there is a stream, and not a moment longer."""
        if not hasattr(socket, "TCP_USER_TIMEOUT"):
            self.skipTest("this system does not tell")

        def options() -> tuple[int, int, int]:
            found = self.accepted()
            unconfirmed = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            asked = found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            silent = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            return unconfirmed, asked, silent

        client, stream = await self.open()
        self.assertEqual(options(), (SILENCE * 1000, 1, SILENCE))
        stream.finish()
        self.assertEqual(options()[:2], (0, 0))
        await deferToThread(self.body, client, 5)


class TLS12Tests(PlainTests):
    newest = ssl.TLSVersion.TLSv1_2


class TLS13Tests(PlainTests):
    newest = ssl.TLSVersion.TLSv1_3


class StockTests(PlainTests):
    stock = True
