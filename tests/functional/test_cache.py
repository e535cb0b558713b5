"""The image cache over real sockets and disks: links that are cut, servers that are odd."""

import errno
import os
import socket
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import cast
from unittest.mock import patch

from OpenSSL.SSL import Connection
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import (
    IProtocolFactory,
    IReactorFromThreads,
    IReactorTCP,
    IReactorTime,
    ITCPTransport,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.internet.tcp import Port
from twisted.protocols.portforward import ProxyClient, ProxyClientFactory, ProxyFactory, ProxyServer
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import SkipTest, TestCase
from twisted.web.iweb import IPolicyForHTTPS

from rescriptum.cache.client import HostPolicy, ImageClient
from rescriptum.cache.service import CacheService, CacheStatus
from rescriptum.cache.store import CacheDirectory
from rescriptum.contract.specs import CacheImage
from rescriptum.net.pinning import PinnedPolicy
from rescriptum.net.workers import WorkerPool
from rescriptum.values import Content, Extent, Listen
from rescriptum.web.reply import FileReply, Finished
from rescriptum.web.request import Request
from rescriptum.web.routing import Routes
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site

from ..certificates import ChainServer, issued

MIB = 1 << 20
DATA = os.urandom(3 * MIB)
TAG = "ETag: " + '"1"'


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


class _Far(ProxyClient):
    """The server's side of a relay: passes so many bytes, and cuts."""

    def dataReceived(self, data: bytes) -> None:
        assert self.peer is not None
        relay = cast(Relay, self.peer.factory)
        relay.passed += len(data)
        relay.connections[-1] += len(data)
        super().dataReceived(data)
        if relay.cuts and relay.connections[-1] >= relay.cuts[0]:
            relay.cuts.pop(0)
            for each in (self, self.peer):
                cast(ITCPTransport, each.transport).abortConnection()


class _FarFactory(ProxyClientFactory):
    noisy = False
    protocol = _Far


class _Near(ProxyServer):
    clientProtocolFactory = _FarFactory

    def connectionMade(self) -> None:
        cast(Relay, self.factory).connections.append(0)
        super().connectionMade()


class Relay(ProxyFactory):
    """
    :ivar cuts: after how many bytes of a connection it is cut, for each one that is.
    :ivar connections: how many bytes each has passed.
    """

    noisy = False
    protocol = _Near

    def __init__(self, port: int, cuts: list[int]) -> None:
        super().__init__("127.0.0.1", port)
        self.cuts = cuts
        self.passed = 0
        self.connections: list[int] = []


class Source:
    """One file, as our own listener sends it."""

    routes = Routes()

    def __init__(self, path: Path) -> None:
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        self.content = Content(path, (Extent(0, found.st_size),), version)

    @routes.get("image")
    def image(self, request: Request) -> FileReply:
        return FileReply(self.content)

    def finished(self, done: Finished) -> None:
        """Nobody reads it."""

    def closed(self, peer: tuple[str, int]) -> None:
        """Nor this."""


class Line(Protocol):
    """One connection of a server that says what the test wrote down."""

    factory: "Scripted"

    def __init__(self) -> None:
        self.heard = b""

    def dataReceived(self, data: bytes) -> None:
        self.heard += data
        head, end, self.heard = self.heard.partition(b"\r\n\r\n")
        if not end:
            self.heard = head
            return
        lines = head.decode("ascii").split("\r\n")
        self.factory.asked.append(lines)
        said = self.factory.replies.pop(0) if self.factory.replies else b""
        assert self.transport is not None
        if said:
            self.transport.write(said)
            self.transport.loseConnection()

    def connectionMade(self) -> None:
        self.factory.open.add(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.factory.open.discard(self)
        if self.factory.gone is not None and not self.factory.open:
            gone, self.factory.gone = self.factory.gone, None
            gone.callback(None)


class Scripted(Factory[Line]):
    """
    :ivar replies: one for each request; after them it falls silent.
    :ivar asked: the lines of each request's head.
    """

    noisy = False
    protocol = Line

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.asked: list[list[str]] = []
        self.open: set[Line] = set()
        self.gone: Deferred[None] | None = None

    def header(self, number: int, name: str) -> str | None:
        lines = (each.split(": ", 1) for each in self.asked[number][1:])
        return next((value for key, value in lines if key.lower() == name), None)


def reply(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}", *headers, "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def moved(to: str) -> bytes:
    return reply(b"elsewhere", f"Location: {to}", status="302 Found")


class CacheCase(TestCase):
    timeout = 60

    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()
        self.pool = WorkerPool(IReactorFromThreads(reactor), "cache", 3)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        self.writer = WorkerPool(IReactorFromThreads(reactor), "writer", 1)
        self.writer.start()
        self.addCleanup(self.writer.stop)
        self.begin(self.root / "cache")

    def begin(self, path: Path, spare: int = 0, policy: IPolicyForHTTPS | None = None) -> None:
        policy = policy or HostPolicy()
        client = ImageClient(IReactorTime(reactor), policy, self.pool, self.writer)
        self.path = path
        self.waiting: Deferred[None] | None = None
        self.service = CacheService(
            CacheDirectory(path, spare),
            client,
            0,
            frozenset,
            self.changed,
            IReactorTime(reactor).seconds,
            lambda: 0.0,
        )
        self.service.startService()
        self.addCleanup(self.service.stopService)

    def changed(self) -> None:
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            waiting.callback(None)

    def listen(self, factory: IProtocolFactory) -> int:
        tcp = IReactorTCP(reactor)
        port = tcp.listenTCP(0, factory, interface="127.0.0.1")  # type: ignore[arg-type]
        assert isinstance(port, Port)
        self.addCleanup(port.stopListening)
        return int(port.getHost().port)

    def serve(self, *replies: bytes) -> tuple[Scripted, str]:
        server = Scripted(*replies)
        return server, f"http://127.0.0.1:{self.listen(server)}/image"

    async def until(self, image: CacheImage, over: Callable[[CacheStatus], object]) -> CacheStatus:
        """Converge, again whenever there is something new, until it is ``over``."""
        while True:
            waiting = self.waiting = Deferred[None]()
            status = await self.service.converge([image])
            if over(status):
                return status
            await waiting

    async def ready(self, image: CacheImage) -> bytes:
        """:returns: the image that the cache has."""
        await self.until(image, lambda status: status.ready)
        content = self.service.find(image.sha256)
        assert content is not None
        return content.path.read_bytes()

    async def failed(self, image: CacheImage) -> tuple[str, str]:
        """:returns: code and reason of the first failure."""
        status = await self.until(image, lambda status: status.failed)
        self.assertIsNone(self.service.find(image.sha256))
        [trouble] = status.troubles
        return trouble.code, trouble.reason

    def names(self) -> list[str]:
        return sorted(each.name for each in self.path.iterdir())


class CutLinkTests(CacheCase):
    async def test_three_cuts(self) -> None:
        """
        A large image arrives, verified, and what has come before each cut is not sent again.
        """
        size = 192 * MIB
        path = self.root / "image"
        with path.open("wb") as file:
            file.truncate(size)
            for at in range(0, size, 16 * MIB):
                file.seek(at)
                file.write(os.urandom(4096))
        with path.open("rb") as file:
            expected = sha256()
            while piece := file.read(MIB):
                expected.update(piece)
        source = Source(path)
        site = Site(source, reactor=IReactorTime(reactor), limits=Limits.media(), workers=self.pool)
        listener = WebService(reactor, "source", Listen("127.0.0.1", 0), site, grace=0)
        listener.privilegedStartService()
        listener.startService()
        self.addCleanup(listener.stopService)
        relay = Relay(listener.address[1], [40 * MIB, 70 * MIB, 30 * MIB])
        image = CacheImage(expected.hexdigest(), f"http://127.0.0.1:{self.listen(relay)}/image")
        await self.until(image, lambda status: status.ready)
        self.assertEqual((len(relay.connections), relay.cuts), (4, []))
        self.assertLess(relay.passed, size + 24 * MIB)
        content = self.service.find(image.sha256)
        assert content is not None
        self.assertEqual(content.size, size)
        checked = CacheDirectory(self.path).check
        found = CacheDirectory(self.path).open()
        self.assertIsNotNone(checked(found.ready[0], lambda: True))

    async def test_a_link_that_is_cut_within_the_head(self) -> None:
        server, url = self.serve(b"HTTP/1.1 200 OK\r\nContent-", reply(DATA))
        self.assertEqual(await self.ready(CacheImage(digest(DATA), url)), DATA)
        self.assertEqual(len(server.asked), 2)


class OddServerTests(CacheCase):
    async def pulled(self, *replies: bytes) -> Scripted:
        server, url = self.serve(*replies)
        self.assertEqual(await self.ready(CacheImage(digest(DATA), url)), DATA)
        return server

    async def test_the_rest_is_asked_for(self) -> None:
        """Under the condition that it is still the same image."""
        half = reply(DATA[: 2 * MIB], TAG, length=len(DATA))
        said = f"Content-Range: bytes {2 * MIB}-{len(DATA) - 1}/{len(DATA)}"
        rest = reply(DATA[2 * MIB :], TAG, said, status="206 Partial Content")
        server = await self.pulled(half, rest)
        self.assertIsNone(server.header(0, "range"))
        self.assertEqual(server.header(1, "range"), f"bytes={2 * MIB}-")
        self.assertEqual(server.header(1, "if-range"), '"1"')

    async def test_an_image_that_changes_meanwhile(self) -> None:
        """Begins anew: the two are never spliced."""
        half = reply(os.urandom(2 * MIB), TAG, length=len(DATA))
        server = await self.pulled(half, reply(DATA, 'ETag: "2"'))
        self.assertEqual(server.header(1, "if-range"), '"1"')

    async def test_a_server_that_ignores_the_condition(self) -> None:
        """And sends the rest of another image: it is thrown away."""
        half = reply(os.urandom(2 * MIB), TAG, length=len(DATA))
        said = f"Content-Range: bytes {2 * MIB}-{len(DATA) - 1}/{len(DATA)}"
        rest = reply(DATA[2 * MIB :], 'ETag: "2"', said, status="206 Partial Content")
        server = await self.pulled(half, rest, reply(DATA))
        self.assertEqual([server.header(each, "range") is None for each in range(3)], [1, 0, 1])

    async def test_without_a_tag(self) -> None:
        """Or with a weak one: only the whole is the whole."""
        for tag in ("X: y", "ETag: W/" + '"1"'):
            self.begin(self.root / tag[0])
            server = await self.pulled(reply(DATA[: 2 * MIB], tag, length=len(DATA)), reply(DATA))
            self.assertIsNone(server.header(1, "range"))

    async def test_stored_bytes(self) -> None:
        """What a server says of a coding is not undone: the digest is of what is stored."""
        server = await self.pulled(reply(DATA, "Content-Encoding: gzip"))
        self.assertEqual(server.header(0, "accept-encoding"), "identity")

    async def test_without_a_length(self) -> None:
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in (DATA[:100], DATA[100:]))
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        await self.pulled(head + chunks + b"0\r\n\r\n")

    async def test_until_the_end_of_the_connection(self) -> None:
        await self.pulled(b"HTTP/1.0 200 OK\r\n\r\n" + DATA)

    async def test_redirects(self) -> None:
        """Are followed, and who is told where takes no credentials along."""
        there, url = self.serve(moved("/b"), moved("/c"), reply(DATA))
        here, first = self.serve(moved(url))
        image = CacheImage(digest(DATA), first.replace("//", "//user:pass%40@"))
        self.assertEqual(await self.ready(image), DATA)
        self.assertEqual(here.header(0, "authorization"), "Basic dXNlcjpwYXNzQA==")
        paths = [each[0].split(" ")[1] for each in there.asked]
        self.assertEqual(paths, ["/image", "/b", "/c"])
        for number in range(3):
            self.assertIsNone(there.header(number, "authorization"))

    async def test_too_many_redirects(self) -> None:
        server, url = self.serve(*[moved("/image")] * 9)
        code, reason = await self.failed(CacheImage(digest(DATA), url))
        self.assertEqual((code, reason), ("refused", "more than 3 redirects"))
        self.assertEqual(len(server.asked), 4)

    async def test_a_redirect_to_something_else(self) -> None:
        _, url = self.serve(moved("file:///etc/passwd"))
        code, reason = await self.failed(CacheImage(digest(DATA), url))
        self.assertEqual(code, "refused")
        self.assertIn("only http:// and https://", reason)

    async def test_a_head_without_end(self) -> None:
        """It is memory: up to a bound it is read, and a longer one is none."""
        many = [f"X-{number}: {'x' * 8000}" for number in range(300)]
        await self.pulled(reply(DATA, *many[:100]))
        self.begin(self.root / "another")
        _, url = self.serve(reply(DATA, *many))
        code, _ = await self.failed(CacheImage(digest(DATA), url))
        self.assertEqual(code, "unavailable")

    async def test_refusals(self) -> None:
        _, url = self.serve(reply(b"", status="404 Not Found"))
        said = await self.failed(CacheImage(digest(DATA), url))
        self.assertEqual(said, ("refused", "the server answers 404"))

    async def test_nobody_there(self) -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            closed = bound.getsockname()[1]
            said = await self.failed(CacheImage(digest(DATA), f"http://127.0.0.1:{closed}/x"))
        self.assertEqual(said, ("unavailable", "cannot connect: Connection refused"))

    async def test_wrong_bytes(self) -> None:
        """Are never in the cache, under no name."""
        other = os.urandom(len(DATA))
        _, url = self.serve(reply(other))
        code, reason = await self.failed(CacheImage(digest(DATA), url))
        self.assertEqual(code, "image-unverified")
        self.assertIn(digest(other), reason)
        self.assertEqual(self.names(), [])

    async def test_stopping_while_nobody_answers(self) -> None:
        """Leaves no connection, and nothing on the disk."""
        for said in (b"", reply(DATA[:MIB], length=len(DATA))[:-1]):
            server, url = self.serve()
            image = CacheImage(digest(DATA), url)
            await self.service.converge([image])
            while not server.asked:
                await deferLater(reactor, 0.01, lambda: None)
            if said:
                for each in server.open:
                    assert each.transport is not None
                    each.transport.write(said)
                while not (self.path / f".pull-{image.sha256}").exists():
                    await deferLater(reactor, 0.01, lambda: None)
            gone = server.gone = Deferred[None]()
            await self.service.stopService()
            await gone
            self.assertEqual(self.names(), [])
            self.begin(self.root / "another")


class FullDiskTests(CacheCase):
    async def test_a_small_disk(self) -> None:
        """Is told, whether the length is known before or not, and is full of nothing of ours."""
        small = self.root / "small"
        small.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(small)]
        if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
            raise SkipTest("a file system can be mounted by root alone")
        self.addCleanup(subprocess.run, ["umount", "-l", str(small)], check=True)
        for said in (reply(DATA), b"HTTP/1.0 200 OK\r\n\r\n" + DATA):
            self.begin(small / "cache")
            _, url = self.serve(said)
            code, _ = await self.failed(CacheImage(digest(DATA), url))
            self.assertEqual(code, "disk-full")
            await self.service.stopService()
            self.assertEqual(self.names(), [])

    async def test_a_disk_that_fails_at_the_end(self) -> None:
        """All of it is here: the next try puts it in its place, and asks for nothing."""
        server, url = self.serve(reply(DATA))
        rename = os.rename
        failures = [OSError(errno.EIO, "Input/output error")]

        def once(*names: Path) -> None:
            if failures:
                raise failures.pop()
            rename(*names)

        with patch("os.rename", once):
            self.assertEqual(await self.ready(CacheImage(digest(DATA), url)), DATA)
        self.assertEqual((failures, len(server.asked)), ([], 1))

    async def test_what_is_to_stay_free(self) -> None:
        """An image that would take it is not begun: nothing of it is asked to be sent on."""
        self.begin(self.root / "full", spare=1 << 60)
        _, url = self.serve(reply(DATA))
        code, reason = await self.failed(CacheImage(digest(DATA), url))
        self.assertEqual(code, "disk-full")
        self.assertIn("room for 0", reason)


class TLSTests(CacheCase):
    def serve_tls(self) -> str:
        authority = issued("CA", authority=True)
        chain = [issued("images", authority, names=["127.0.0.1"]), authority]
        server = TLSMemoryBIOFactory(ChainServer(chain), False, Scripted(reply(DATA)))
        return f"https://127.0.0.1:{self.listen(server)}/image"

    async def test_an_image(self) -> None:
        def trusting(connection: Connection) -> None:
            """Whoever it is."""

        self.begin(self.root / "cache", policy=PinnedPolicy(trusting))
        self.assertEqual(await self.ready(CacheImage(digest(DATA), self.serve_tls())), DATA)

    async def test_a_server_that_nobody_vouches_for(self) -> None:
        """Is asked for nothing."""
        code, reason = await self.failed(CacheImage(digest(DATA), self.serve_tls()))
        self.assertEqual(code, "chain-invalid")
        self.assertIn("certificate verify failed", reason)
