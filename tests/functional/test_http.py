"""The HTTP listener over real sockets, asked by a client that hides nothing."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorThreads, IReactorTime
from twisted.internet.task import deferLater
from twisted.internet.tcp import Port
from twisted.internet.threads import deferToThread
from twisted.internet.utils import getProcessOutputAndValue
from twisted.logger import capturedLogs
from twisted.trial.unittest import SkipTest, TestCase

from rescriptum.errors import ConfigError, NotFound
from rescriptum.net.workers import WorkerPool
from rescriptum.values import Content, Extent, Listen
from rescriptum.web.intake import FREE
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import Answer, Application, Mounted, Routes
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site
from rescriptum.web.tls import Certificate

from ..certificates import write_certificate
from ..webclient import RawClient, Told, ask

_T = TypeVar("_T")
CLOCK = IReactorTime(global_reactor)
THREADS = IReactorThreads(global_reactor)
MIB = 1 << 20


class Files:
    """Serves a directory's files, pieces of them, and a few odd things."""

    routes = Routes()

    def __init__(self, root: Path) -> None:
        self.root = root
        self.done: list[Finished] = []
        self.gone: list[tuple[str, int]] = []
        self.later: Deferred[Answer] = Deferred()
        self.waiting = 0
        self.asked = 0

    def content(self, name: str) -> Content:
        path = self.root / name
        if not path.is_file():
            raise NotFound(name)
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        return Content(path, (Extent(0, found.st_size),), version, modified=1_700_000_000)

    @routes.get("file/<name>")
    def file(self, request: Request, name: str) -> FileReply:
        return FileReply(self.content(name), about=name)

    @routes.get("steady/<name>")
    def steady(self, request: Request, name: str) -> FileReply:
        self.asked += 1
        return FileReply(self.content(name), about=name, steady=True)

    @routes.get("inside/<name>")
    def inside(self, request: Request, name: str) -> FileReply:
        """124 bytes in three pieces."""
        whole = self.content(name)
        extents = (Extent(5000, 100), Extent(300, 23), Extent(9000, 1))
        headers = (("X-Part", "inside"), ("X-Nothing", ""))
        return FileReply(
            Content(whole.path, extents, whole.version, "application/efi"), headers=headers
        )

    @routes.get("gone")
    def gone_file(self, request: Request) -> FileReply:
        return FileReply(Content(self.root / "none", (Extent(0, 5),), (1, 1, 5, 1)))

    @routes.get("text")
    def text(self, request: Request) -> Reply:
        return Reply(b"#!ipxe\nshell\n", "text/plain; charset=us-ascii", about="text")

    @routes.get("large/<size>")
    def large(self, request: Request, size: str) -> Reply:
        return Reply(b"x" * int(size))

    @routes.get("waits")
    async def waits(self, request: Request) -> Answer:
        self.waiting += 1
        return await self.later

    @routes.get("fails")
    def fails(self, request: Request) -> Reply:
        raise KeyError("a secret")

    @routes.post("echo")
    async def echo(self, request: Request) -> Reply:
        return Reply(request.body)

    def finished(self, done: Finished) -> None:
        self.done.append(done)

    def closed(self, peer: tuple[str, int]) -> None:
        self.gone.append(peer)


class NobodyButUs:
    def __init__(self, *hosts: str) -> None:
        self.hosts = hosts

    def admits(self, host: str) -> bool:
        return host in self.hosts


class ListenerCase(TestCase):
    """A directory of files, and listeners of every kind on it."""

    def setUp(self) -> None:
        self.addCleanup(self.nothing_is_open)  # after all others
        self.root = Path(self.mktemp())
        self.root.mkdir()
        self.bytes = os.urandom(3 * MIB + 17)
        (self.root / "x.iso").write_bytes(self.bytes)
        self.files = Files(self.root)
        self.workers = WorkerPool(THREADS, "files", 4)
        self.workers.start()
        self.addCleanup(self.workers.stop)

    def serve(
        self,
        limits: Limits | None = None,
        *,
        application: Application | Mounted | None = None,
        admission: NobodyButUs | None = None,
        listen: str = "127.0.0.1:0",
        tls: Certificate | None = None,
        grace: float = 0,
    ) -> WebService:
        self.site = Site(
            application or self.files,
            reactor=CLOCK,
            limits=limits or Limits(),
            admission=admission,
            workers=self.workers,
        )
        service = WebService(global_reactor, "media", Listen.parse(listen), self.site, tls, grace)
        service.privilegedStartService()
        service.startService()
        self.addCleanup(self.stop, service)
        return service

    def stop(self, service: WebService) -> Deferred[None] | None:
        return service.stopService() if service.running else None

    def stock(self) -> int:
        """A listener on Twisted's own transport: the copying path without TLS."""
        self.site = Site(self.files, reactor=CLOCK, limits=Limits(), workers=self.workers)
        port = Port(0, self.site, interface="127.0.0.1", reactor=global_reactor)
        port.startListening()
        self.addCleanup(self.site.stop, 0)
        self.addCleanup(port.stopListening)
        return int(port.getHost().port)

    def certificate(self) -> Certificate:
        return Certificate(*write_certificate(self.root))

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(400):
            if holds():
                return
            await deferLater(CLOCK, 0.02)
        self.fail("it did not come to that within eight seconds")

    def nothing_is_open(self) -> None:
        """However its transfer ended, no file stays open when the listener has stopped."""
        links = Path("/proc/self/fd")
        if links.is_dir():
            found = [os.path.realpath(each) for each in links.iterdir()]
            root = str(self.root.resolve())
            self.assertEqual([each for each in found if each.startswith(root)], [])

    async def outcome(self, count: int = 1) -> Finished:
        await self.until(lambda: len(self.files.done) >= count)
        self.assertEqual(len(self.files.done), count)
        return self.files.done[-1]


def request(target: str, *lines: str, method: str = "GET", version: str = "1.1") -> bytes:
    return "\r\n".join((f"{method} {target} HTTP/{version}", "Host: x", *lines, "", "")).encode()


#: Method, target, headers. The one table that every way out has to agree on.
CASES = [
    (method, target, lines)
    for method in ("GET", "HEAD")
    for target, lines in (
        ("/file/x.iso", ()),
        ("//file/./x.iso", ()),
        ("http://elsewhere:1/file/x.iso?a=b", ()),
        ("/file/x.iso", ("Range: bytes=0-0",)),
        ("/file/x.iso", ("Range: bytes=-10",)),
        ("/file/x.iso", ("Range: bytes=-0",)),
        ("/file/x.iso", ("Range: bytes=u-u",)),
        ("/file/x.iso", ("Range: bytes=0-1,5-6",)),
        ("/file/x.iso", ("Range: bytes=1000000-1999999",)),
        ("/file/x.iso", ("Range: bytes=3000000-99999999999",)),
        ("/file/x.iso", ("Range: bytes=0-9", 'If-Range: "other"')),
        ("/file/x.iso", ("If-None-Match: *",)),
        ("/file/x.iso", ('If-Match: "other"',)),
        ("/file/x.iso", ("If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT",)),
        ("/inside/x.iso", ()),
        ("/inside/x.iso", ("Range: bytes=98-101",)),
        ("/inside/x.iso", ("Range: bytes=100-5",)),
        ("/inside/x.iso", ("Range: bytes=120-",)),
        ("/file/none", ()),
        ("/file/..", ()),
        ("/file/a/b", ()),
        ("/gone", ()),
        ("/text", ()),
        ("/large/1500000", ()),
        ("/echo", ()),
        ("/fails", ()),
        ("/health", ()),
        ("/health?x", ()),
        ("/%zz", ()),
    )
]


class SameAnswersTests(ListenerCase):
    def expected(self, method: str, target: str, lines: tuple[str, ...]) -> Told:
        if target.startswith("/health"):
            body = b"OK\n" if method == "GET" else b""
            headers = (("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", "3"))
            return Told(200, headers, body)
        pairs = tuple((n.lower(), v) for n, _, v in (each.partition(": ") for each in lines))
        if target == "/gone":  # whether there is a file is seen when it is opened
            told = ask(self.files, "/no/such", method=method)
        else:
            path = target.removeprefix("http://elsewhere:1")
            told = ask(self.files, path, method=method, headers=pairs)
        return told

    async def agree(self, port: int, tls: bool = False) -> None:
        for method, target, lines in CASES:
            expected = self.expected(method, target, lines)
            for pieces in (0, 7):

                def play(
                    data: bytes = request(target, *lines, method=method),
                    method: str = method,
                    pieces: int = pieces,
                ) -> tuple[Told, Told, bytes]:
                    # The text behind it shows that not one byte was too many (W185).
                    with RawClient(port, tls=tls) as client:
                        client.send(data, pieces)
                        told = client.reply(method)
                        client.send(request("/text", "Connection: close"))
                        return told, client.reply(), client.rest()

                told, after, rest = await deferToThread(play)
                case = (method, target, lines, pieces)
                names = [name for name, _ in told.headers]
                self.assertEqual(names[:2], ["Server", "Date"], case)
                self.assertEqual(told.status, expected.status, case)
                self.assertEqual(told.headers[2:], expected.headers, case)
                self.assertEqual(told.body, expected.body, case)
                self.assertEqual((after.status, after.body), (200, b"#!ipxe\nshell\n"), case)
                self.assertEqual(rest, b"", case)
                self.flushLoggedErrors(KeyError)

    def test_without_copying(self) -> Deferred[None]:
        """Files by sendfile(2), the rest straight on the socket."""
        return Deferred.fromCoroutine(self.agree(self.serve().address[1]))

    def test_through_a_transports_buffer(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self.agree(self.stock()))

    def test_through_tls(self) -> Deferred[None]:
        service = self.serve(tls=self.certificate())
        return Deferred.fromCoroutine(self.agree(service.address[1], tls=True))


class ConversationTests(ListenerCase):
    async def play(self, port: int, script: Callable[[RawClient], _T]) -> _T:
        def run() -> _T:
            with RawClient(port) as client:
                return script(client)

        return await deferToThread(run)

    async def test_ranges_in_the_same_words(self) -> None:
        """
        W163: thousands of ranges of one image differ in two numbers only. Each is answered as if
        it were alone, whatever stands between them, and the route is not asked for every one.
        """
        ranges = [(0, 0), (5, 9), (3, 3), (60, 10**9), (10**9, 2 * 10**9), (9, 3), (1, 50)] * 3
        asked: list[tuple[str, tuple[str, ...]]] = []
        for at, (first, last) in enumerate(ranges):
            asked.append(("/steady/x.iso", (f"Range: bytes={first}-{last}",)))
            if at % 5 == 4:
                asked.append(("/text", ()))
                asked.append(("/file/x.iso", (f"Range: bytes={first}-{last}",)))

        def script(client: RawClient) -> list[Told]:
            told = []
            for target, lines in asked:
                client.send(request(target, *lines))
                told.append(client.reply())
            return told

        for port in (self.serve().address[1], self.stock()):
            self.files.asked = 0
            told = await self.play(port, script)
            self.assertLess(self.files.asked, len(ranges))
            for (target, lines), each in zip(asked, told, strict=True):
                pairs = tuple(tuple(line.lower().split(": ", 1)) for line in lines)
                expected = ask(self.files, target, headers=pairs)  # type: ignore[arg-type]
                self.assertEqual(each.status, expected.status, lines)
                self.assertEqual(each.headers[2:], expected.headers, lines)
                self.assertEqual(each.body, expected.body, lines)
        told_of = [each for each in self.files.done if each.about == "x.iso"]
        self.assertGreaterEqual(len(told_of), 2 * len(ranges))

    async def test_head_and_get_at_once(self) -> None:
        """B35: both are answered, on the same connection, and nothing says that it ends."""

        def script(client: RawClient) -> tuple[Told, Told]:
            client.send(request("/file/x.iso", method="HEAD") + request("/file/x.iso"))
            return client.reply("HEAD"), client.reply()

        for port in (self.serve().address[1], self.stock()):
            head, get = await self.play(port, script)
            self.assertEqual(head.headers[2:], get.headers[2:])
            self.assertIsNone(head.header("Connection"))
            self.assertEqual(head.header("Accept-Ranges"), "bytes")  # B40, W188
            self.assertEqual(get.body, self.bytes)

    async def test_hundreds_of_requests_at_once(self) -> None:
        """In order, whatever they are; the client reads nothing before it has sent them all."""
        wanted = ["/text", "/inside/x.iso", "/large/100000", "/none"] * 60

        def script(client: RawClient) -> list[int]:
            client.send(b"".join(request(each) for each in wanted))
            return [len(client.reply().body) for _ in wanted]

        for port in (self.serve().address[1], self.stock()):
            sizes = await self.play(port, script)
            self.assertEqual(sizes, [13, 124, 100000, 14] * 60)

    async def test_requests_while_a_file_is_under_way(self) -> None:
        """What arrives meanwhile is kept, and only so much of it."""
        many = 3000

        def script(client: RawClient) -> tuple[Told, bool, int]:
            client.send(request("/file/x.iso"))
            client.socket.settimeout(2)
            sent = 0
            try:
                for _ in range(many):
                    client.send(request("/text", "X-Filler: " + "x" * 4000))
                    sent += 1
            except TimeoutError:
                pass
            client.socket.settimeout(10)
            return client.reply(), sent < many, client.reply().status

        first, held_back, second = await self.play(self.serve().address[1], script)
        self.assertEqual(first.body, self.bytes)
        self.assertTrue(held_back)
        self.assertEqual(second, 200)

    async def test_old_clients(self) -> None:
        """HTTP/1.0 ends with its reply, unless it asks otherwise and is told so."""

        def script(client: RawClient) -> tuple[Told, Told, bytes]:
            client.send(request("/text", "Connection: keep-alive", version="1.0"))
            kept = client.reply()
            client.send(b"GET /text HTTP/1.0\r\n\r\n")
            return kept, client.reply(), client.rest()

        kept, last, rest = await self.play(self.serve().address[1], script)
        self.assertEqual(kept.header("Connection"), "keep-alive")
        self.assertEqual((last.header("Connection"), rest), ("close", b""))
        self.assertEqual(last.body, b"#!ipxe\nshell\n")

    async def test_bodies(self) -> None:
        """Counted, in chunks, in pieces, after being told to go on; up to the bound."""
        limits = Limits(body_bytes=100_000)
        body = self.bytes[:100_000]

        def script(client: RawClient) -> list[Told]:
            told = []
            client.send(request("/echo", "Content-Length: 100000", method="POST") + body)
            told.append(client.reply())
            client.send(
                request("/echo", "Content-Length: 100000", "Expect: 100-continue", method="POST")
            )
            told.append(client.reply())
            client.send(body, 1000)
            told.append(client.reply())
            client.send(
                request("/echo", "Transfer-Encoding: chunked", method="POST")
                + b"".join(
                    b"3e8\r\n%b\r\n" % body[at : at + 1000] for at in range(0, 100_000, 1000)
                )
                + b"0\r\n\r\n",
                4096,
            )
            told.append(client.reply())
            return told

        told = await self.play(self.serve(limits).address[1], script)
        self.assertEqual([each.status for each in told], [200, 100, 200, 200])
        self.assertEqual([each.body == body for each in told], [True, False, True, True])
        self.assertEqual(self.site.bodies, 0)

    async def test_bodies_over_their_bound(self) -> None:
        """
        Refused from the header, or as soon as the chunks add up to it. The client is still
        sending: it gets the reply all the same, and then the end of the connection.
        """
        limits = Limits(body_bytes=1000)
        for line, rest in (
            ("Content-Length: 1001", b"x" * 500),
            ("Content-Length: 99999999999", b"x" * 200_000),
            ("Transfer-Encoding: chunked", b"200\r\n" + b"x" * 512 + b"\r\n200\r\n" + b"x" * 9999),
        ):

            def script(
                client: RawClient, data: bytes = request("/echo", line, method="POST") + rest
            ) -> tuple[Told, bytes]:
                client.send(data)
                return client.reply(), client.rest()

            told, after = await self.play(self.serve(limits).address[1], script)
            self.assertEqual((told.status, after), (413, b""), line)
            self.assertEqual(told.header("Connection"), "close")
            self.assertEqual(self.files.done[-1].status, 413)
            self.assertEqual(self.site.bodies, 0)

    async def test_all_bodies_together_are_bounded(self) -> None:
        limits = Limits(all_bodies_bytes=50_000)

        def script(client: RawClient) -> tuple[Told, bytes]:
            client.send(request("/echo", "Content-Length: 100000", method="POST") + b"x" * 60_000)
            return client.reply(), client.rest()

        told, _ = await self.play(self.serve(limits).address[1], script)
        self.assertEqual((told.status, told.header("Retry-After")), (503, "5"))
        self.assertEqual(self.site.bodies, 0)

    async def test_small_bodies_are_always_received(self) -> None:
        """A stranger who never ends a long one keeps nobody's heartbeat out."""
        limits = Limits(all_bodies_bytes=50_000)
        port = self.serve(limits).address[1]

        def received(count: int) -> None:
            for _ in range(1000):
                if self.site.bodies >= count:
                    return
                time.sleep(0.01)
            raise AssertionError(f"{self.site.bodies} bytes of bodies, not {count}")

        def script(client: RawClient) -> list[int]:
            client.send(request("/echo", "Content-Length: 100000", method="POST") + b"x" * 49_990)
            received(49_990)
            statuses = []
            for size in (100, FREE, FREE + 1):
                with RawClient(port) as other:
                    head = request("/echo", f"Content-Length: {size + 9}", method="POST")
                    other.send(head + b"x" * size)
                    if size <= FREE:
                        received(49_990 + size)
                        other.send(b"x" * 9)
                    statuses.append(other.reply().status)
            return statuses

        self.assertEqual(await self.play(port, script), [200, 200, 503])

    async def test_what_is_no_request(self) -> None:
        """An answer at once, the end of the connection, and one line for a thousand of them."""
        port = self.serve().address[1]
        for data, status in (
            (b"\x16\x03\x01\x02\x00\x01", 400),
            (b"GET / HTTP/1.1\n\n", 400),
            (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            (request("/", "Content-Length: 1", "Transfer-Encoding: chunked"), 400),
            (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000, 431),
            (b"GET /" + b"x" * 20_000, 414),
            (request("/echo", "Transfer-Encoding: chunked", method="POST") + b"zz\r\n", 400),
        ):

            def script(client: RawClient, data: bytes = data) -> tuple[Told, bytes]:
                client.send(data)
                return client.reply(), client.rest()

            told, after = await self.play(port, script)
            self.assertEqual((told.status, after), (status, b""), data[:40])
            self.assertEqual(told.header("Connection"), "close")
        unreadable = [each for each in self.files.done if each.request is None]
        self.assertEqual(len(unreadable), 1)
        self.assertEqual(unreadable[0].reason, "a TLS hello on a plain port")

    async def test_the_allow_list_comes_first(self) -> None:
        """Before routes and before /health; each refusal is told to the access log."""

        def script(client: RawClient) -> list[int]:
            client.send(request("/text") + request("/health") + request("/none"))
            return [client.reply().status for _ in range(3)]

        port = self.serve(admission=NobodyButUs("192.0.2.1")).address[1]
        self.assertEqual(await self.play(port, script), [403, 403, 403])
        self.assertEqual([each.status for each in self.files.done], [403, 403, 403])
        port = self.serve(admission=NobodyButUs("127.0.0.1")).address[1]
        self.assertEqual(await self.play(port, script), [200, 200, 404])
        # What monitors ask all day is no exchange of the application's.
        self.assertEqual([each.status for each in self.files.done[3:]], [200, 404])

    async def test_each_exchange_is_told_once(self) -> None:
        """And the connection's end, to the applications that had some, once."""
        other = Files(self.root)
        service = self.serve(
            application=Mounted(self.files, {"text": other, "echo": Files(self.root)})
        )

        def script(client: RawClient) -> None:
            client.send(request("/file/x.iso", "Range: bytes=5-9") + request("/text") * 2)
            for _ in range(3):
                client.reply()

        await self.play(service.address[1], script)
        await self.until(lambda: other.gone)
        [done] = self.files.done
        self.assertEqual((done.status, done.sent, done.size), (206, 5, len(self.bytes)))
        self.assertEqual((done.outcome, done.about), (Outcome.SENT, "x.iso"))
        self.assertEqual(done.peer[0], "127.0.0.1")
        self.assertEqual([each.about for each in other.done], ["text", "text"])
        self.assertEqual((self.files.gone, other.gone), ([done.peer], [done.peer]))

    async def test_qemu_opens_an_image(self) -> None:
        """B40: a client that refuses a server without ranges, and compares every byte."""
        qemu = shutil.which("qemu-img")
        if qemu is None:
            raise SkipTest("qemu-img is not installed")
        image = self.root / "x.iso"
        image.write_bytes(self.bytes[: 3 * MIB])
        url = f"http://127.0.0.1:{self.serve().address[1]}/file/x.iso"
        arguments = ["compare", "-f", "raw", "-F", "raw", url, str(image)]
        out, err, code = await getProcessOutputAndValue(qemu, arguments, env=os.environ)
        if b"Unknown protocol" in err:
            raise SkipTest("this qemu-img has no curl")
        self.assertEqual((code, out), (0, b"Images are identical.\n"), err)


class TransferTests(ListenerCase):
    """Files that are too large for any buffer between us and the client."""

    def setUp(self) -> None:
        super().setUp()
        self.large = self.root / "large"
        with self.large.open("wb") as file:
            for _ in range(24):
                file.write(os.urandom(MIB))

    def begin(self, port: int, target: str = "/file/large", tls: bool = False) -> RawClient:
        """A client that has asked, and reads nothing yet."""
        client = RawClient(port, tls=tls)
        self.addCleanup(client.__exit__)
        client.send(request(target))
        return client

    def fetch(self, port: int, tls: bool) -> Told:
        return self.begin(port, tls=tls).reply()

    def kinds(self) -> list[tuple[int, bool]]:
        plain = self.serve().address[1]
        tls = self.serve(tls=self.certificate()).address[1]
        return [(plain, False), (tls, True)]

    async def under_way(self) -> None:
        await self.until(lambda: self.site.transfers == 1)

    async def test_a_reader_that_leaves(self) -> None:
        for port, tls in self.kinds():
            self.files.done.clear()
            self.files.gone.clear()
            client = await deferToThread(self.begin, port, tls=tls)
            await deferToThread(client.more)
            client.socket.close()
            done = await self.outcome()
            self.assertEqual(done.outcome, Outcome.STOPPED)
            self.assertEqual((done.status, done.size), (200, 24 * MIB))
            self.assertLess(done.sent, 24 * MIB)
            await self.until(lambda: self.files.gone)
            self.assertEqual(self.files.gone, [done.peer])
        await self.until(lambda: not self.site.transfers and not len(self.site))

    async def test_a_file_that_shrinks(self) -> None:
        """The connection is dropped: half a reply is never made to look whole (W165)."""
        for port, tls in self.kinds():
            self.files.done.clear()
            with self.large.open("r+b") as file:
                file.truncate(24 * MIB)
            client = await deferToThread(self.begin, port, tls=tls)
            await deferToThread(client.more)
            with self.large.open("r+b") as file:
                file.truncate(MIB)
            data = await deferToThread(client.rest)
            self.assertLess(len(data), 24 * MIB)
            done = await self.outcome()
            self.assertEqual(done.outcome, Outcome.FAILED)
            self.assertIn("shorter", done.reason)

    async def test_a_file_that_is_replaced(self) -> None:
        """Who reads the old one gets the old one to its end; the next gets the new one."""
        old = self.large.read_bytes()
        for port, tls in self.kinds():
            client = await deferToThread(self.begin, port, tls=tls)
            await deferToThread(client.reply_begins)
            new = self.root / "new"
            new.write_bytes(self.bytes)
            new.rename(self.large)
            told = await deferToThread(client.reply)
            self.assertEqual(told.body, old)
            again = await deferToThread(self.fetch, port, tls)
            self.assertEqual(again.body, self.bytes)
            self.large.write_bytes(old)

    async def test_a_file_that_is_written_to(self) -> None:
        """A content that no longer describes its file is not sent, but asked for again."""
        stale = self.files.content("x.iso")
        self.files.content = lambda name: stale  # type: ignore[method-assign]
        (self.root / "x.iso").write_bytes(b"other")
        port = self.serve().address[1]
        told = await deferToThread(lambda: self.begin(port, "/file/x.iso").reply())
        self.assertEqual((told.status, told.header("Retry-After")), (503, "1"))

    async def test_cold_pages(self) -> None:
        """A file that is on the disk alone arrives whole; the disk is waited for in threads."""
        expected = self.large.read_bytes()
        for port, tls in self.kinds():
            with self.large.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            told = await deferToThread(self.fetch, port, tls)
            self.assertEqual(told.body, expected)

    async def test_more_than_there_are_transfers_for(self) -> None:
        """503 with ``Retry-After``, on a connection that goes on; small replies go on too."""
        port = self.serve(Limits.media(transfers=1)).address[1]
        first = await deferToThread(self.begin, port)
        await self.under_way()

        def second() -> tuple[Told, Told, Told]:
            client = self.begin(port)
            refused = client.reply()
            client.send(request("/inside/x.iso") + request("/text"))
            return refused, client.reply(), client.reply()

        with capturedLogs() as events:
            refused, part, text = await deferToThread(second)
            await deferToThread(second)
        self.assertEqual((refused.status, refused.header("Retry-After")), (503, "5"))
        self.assertIsNone(refused.header("Connection"))
        self.assertEqual((part.status, text.status), (200, 200))
        lines = [each for each in events if each.get("of") == "transfers"]
        self.assertEqual(len(lines), 1)
        await deferToThread(first.reply)
        await self.until(lambda: self.site.transfers == 0)
        told = await deferToThread(lambda: self.begin(port).reply())
        self.assertEqual(told.status, 200)

    async def test_stopping_lets_transfers_end(self) -> None:
        """No newcomers, idle connections gone at once, the running one gets its grace."""
        service = self.serve(grace=20)
        port = service.address[1]
        idle = await deferToThread(self.begin, port, "/text")
        await deferToThread(idle.reply)
        client = await deferToThread(self.begin, port)
        await self.under_way()
        stopped = service.stopService()
        assert stopped is not None
        self.assertEqual(await deferToThread(idle.rest), b"")
        refused = deferToThread(RawClient, port)
        await self.assertFailure(refused, ConnectionRefusedError)
        self.assertFalse(stopped.called)
        told = await deferToThread(client.reply)
        self.assertEqual(len(told.body), 24 * MIB)
        self.assertEqual(await deferToThread(client.rest), b"")
        await stopped
        self.assertEqual((len(self.site), len(self.site.files)), (0, 0))

    async def test_stopping_waits_no_longer_than_its_grace(self) -> None:
        for tls in (None, self.certificate()):
            self.files.done.clear()
            service = self.serve(grace=0.1, tls=tls)
            await deferToThread(self.begin, service.address[1], tls=tls is not None)
            await self.under_way()
            await service.stopService()
            done = await self.outcome()
            self.assertEqual(
                (done.outcome, done.reason), (Outcome.STOPPED, "the server is stopping")
            )
            self.assertEqual((len(self.site), len(self.site.files)), (0, 0))


class WaitingTests(ListenerCase):
    async def test_a_client_that_leaves_cancels_its_route(self) -> None:
        cancelled: list[object] = []
        self.files.later = Deferred(cancelled.append)
        port = self.serve().address[1]
        client = await deferToThread(RawClient, port)
        client.send(request("/waits"))
        await self.until(lambda: self.files.waiting)
        client.socket.close()
        done = await self.outcome()
        self.assertEqual((done.outcome, done.status), (Outcome.STOPPED, 0))
        self.assertEqual(cancelled, [self.files.later])

    async def test_a_route_that_takes_too_long(self) -> None:
        """It is cancelled, and the client told to come again."""
        port = self.serve(Limits(total_seconds=0.5)).address[1]
        client = await deferToThread(RawClient, port)
        self.addCleanup(client.__exit__)
        client.send(request("/waits"))
        told = await deferToThread(client.reply)
        self.assertEqual((told.status, told.header("Retry-After")), (503, "5"))


class CapacityTests(ListenerCase):
    async def test_half_open_connections_do_not_stop_the_next_answer(self) -> None:
        """A listener that is full of clients who say nothing lets the longest silent one go."""
        port = self.serve(Limits(connections=100, header_seconds=60)).address[1]
        silent = await deferToThread(lambda: [RawClient(port) for _ in range(100)])
        for each in silent:
            self.addCleanup(each.__exit__)
        await self.until(lambda: len(self.site) == 100)
        tick = self.site.tick
        await self.until(lambda: self.site.tick > tick)

        def ask_all() -> list[int]:
            statuses = []
            for _ in range(20):
                with RawClient(port) as client:
                    client.send(request("/text"))
                    statuses.append(client.reply().status)
            return statuses

        self.assertEqual(await deferToThread(ask_all), [200] * 20)
        self.assertEqual(await deferToThread(silent[0].rest), b"")
        self.assertLessEqual(len(self.site), 100)

    async def test_no_room_at_all(self) -> None:
        """
        Where every connection has a reply under way a newcomer is told 503 at once, even while
        it is sending, and the line about it is written once.
        """
        port = self.serve(Limits(connections=2)).address[1]
        busy = await deferToThread(lambda: [RawClient(port) for _ in range(2)])
        for each in busy:
            self.addCleanup(each.__exit__)
            each.send(request("/waits"))
        await self.until(lambda: not self.site.idle and len(self.site) == 2)

        def newcomer() -> tuple[Told, bytes]:
            with RawClient(port) as client:
                client.send(request("/echo", "Content-Length: 90000", method="POST") + b"x" * 90000)
                return client.reply(), client.rest()

        with capturedLogs() as events:
            told = await deferToThread(lambda: [newcomer() for _ in range(5)])
        for reply, rest in told:
            self.assertEqual((reply.status, reply.header("Retry-After")), (503, "5"))
            self.assertEqual((reply.header("Connection"), rest), ("close", b""))
        self.assertEqual(len([each for each in events if each.get("of") == "connections"]), 1)
        self.assertEqual(self.files.done, [])
        self.files.later.callback(Reply(b"done"))
        self.assertEqual((await deferToThread(busy[0].reply)).body, b"done")
        self.flushLoggedErrors(TypeError)  # two awaited one Deferred


class BindingTests(ListenerCase):
    def test_a_port_that_is_taken(self) -> None:
        """The start fails, and says which listener and why."""
        taken = self.serve().address[1]
        error = self.assertRaises(ConfigError, self.serve, listen=f"127.0.0.1:{taken}")
        self.assertEqual(
            str(error), f"media: cannot listen on 127.0.0.1:{taken}: Address already in use"
        )

    async def test_ipv6(self) -> None:
        port = self.serve(listen="[::1]:0").address[1]

        def script() -> int:
            with RawClient(port, "::1") as client:
                client.send(request("/text"))
                return client.reply().status

        self.assertEqual(await deferToThread(script), 200)
        self.assertEqual(self.files.done[0].peer[0], "::1")

    async def test_ipv4_on_an_ipv6_listener(self) -> None:
        """It is IPv4 to the allow-list and to the log."""
        port = self.serve(listen="[::]:0", admission=NobodyButUs("127.0.0.1")).address[1]

        def script() -> int:
            with RawClient(port) as client:
                client.send(request("/text"))
                return client.reply().status

        self.assertEqual(await deferToThread(script), 200)
        self.assertEqual(self.files.done[0].peer[0], "127.0.0.1")
