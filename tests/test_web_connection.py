"""Tests for ``rescriptum.web.connection``: deadlines, in no time at all."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.address import IPv4Address
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.interfaces import Fence
from rescriptum.values import Content, Extent
from rescriptum.web.connection import HTTPConnection
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import Answer, Routes
from rescriptum.web.site import TURNED_AWAY, Limits, Site

from .webclient import InlineWorkers

_T = TypeVar("_T")
GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"


class Transport(StringTransport):
    """Remembers what became of it; its buffer is full when the test says so."""

    aborted = False

    def abortConnection(self) -> None:
        self.aborted = self.disconnecting = True


class StuckWorkers:
    """Work that the test lets go on."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    async def run(self, work: Callable[[], _T]) -> _T:
        done: Deferred[_T] = Deferred()
        self.waiting.append(lambda: done.callback(work()))
        return await done


class ShutFence:
    """Satisfies :class:`rescriptum.interfaces.Fence`; how often it was told of an answer."""

    epoch = 7
    told = 0

    def __init__(self) -> None:
        self.shut = False

    def is_open(self) -> bool:
        return not self.shut

    def sent(self) -> None:
        self.told += 1


class Application:
    routes = Routes()

    def __init__(self) -> None:
        self.done: list[Finished] = []
        self.gone: list[tuple[str, int]] = []
        self.later: Deferred[Answer] = Deferred()
        self.content: Content | None = None
        self.fence: Fence | None = None

    @routes.get("text")
    def text(self, request: Request) -> Reply:
        return Reply(b"text")

    @routes.get("waits")
    async def waits(self, request: Request) -> Answer:
        return await self.later

    @routes.get("deaf")
    async def deaf(self, request: Request) -> Answer:
        with contextlib.suppress(CancelledError):
            await Deferred()
        return await self.later

    @routes.get("file")
    def file(self, request: Request) -> FileReply:
        assert self.content is not None
        return FileReply(self.content, fence=self.fence)

    @routes.get("split")
    def split(self, request: Request) -> Reply:
        return Reply(b"", headers=(("X", "a\r\nSet-Cookie: b"),))

    def finished(self, done: Finished) -> None:
        self.done.append(done)

    def closed(self, peer: tuple[str, int]) -> None:
        self.gone.append(peer)


class ConnectionCase(SynchronousTestCase):
    limits = Limits(
        header_seconds=10, body_seconds=20, stall_seconds=40, keepalive_seconds=75, connections=3
    )

    def setUp(self) -> None:
        self.clock = Clock()
        self.application = Application()
        self.start(self.limits)

    def start(self, limits: Limits) -> None:
        self.site = Site(
            self.application, reactor=self.clock, limits=limits, workers=InlineWorkers()
        )

    def connect(self, port: int = 50000) -> tuple[HTTPConnection, Transport]:
        connection = self.site.buildProtocol(IPv4Address("TCP", "192.0.2.7", port))
        assert connection is not None
        transport = Transport()
        connection.makeConnection(transport)
        return connection, transport

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.25] * int(seconds * 4))

    def status(self, transport: Transport) -> str:
        value: bytes = transport.value()
        transport.clear()
        return value.decode("latin-1").split("\r\n")[0]


class DeadlineTests(ConnectionCase):
    def test_a_client_that_says_nothing(self) -> None:
        """It goes without a word, and without a line: it asked nothing."""
        _, transport = self.connect()
        self.wait(9.5)
        self.assertFalse(transport.disconnecting)
        self.wait(1)
        self.assertTrue(transport.disconnecting)
        self.assertEqual((transport.value(), self.application.done), (b"", []))

    def test_half_a_head(self) -> None:
        """A byte now and then does not move the deadline."""
        connection, transport = self.connect()
        for byte in b"GET / HTT":
            connection.dataReceived(bytes([byte]))
            self.wait(1)
        self.assertFalse(transport.aborted)
        self.wait(2)
        self.assertTrue(transport.aborted)
        [done] = self.application.done
        self.assertEqual((done.request, done.status), (None, 0))
        self.assertEqual((done.outcome, done.reason), (Outcome.TIMED_OUT, "connection timed out"))

    def test_half_a_body(self) -> None:
        """A header deadline does not cover the body: it has its own."""
        connection, transport = self.connect()
        connection.dataReceived(b"POST /text HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
        self.assertEqual(self.site.bodies, 3)
        self.wait(15)
        self.assertFalse(transport.aborted)
        self.wait(6)
        self.assertTrue(transport.aborted)
        self.assertEqual(self.site.bodies, 0)

    def test_all_of_it_together(self) -> None:
        """Where a total is set it counts from the first byte, whatever came since."""
        self.start(Limits(header_seconds=10, body_seconds=60, total_seconds=12))
        connection, transport = self.connect()
        connection.dataReceived(b"POST /waits HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
        self.wait(11.5)
        self.assertFalse(transport.aborted)
        self.wait(1)
        self.assertTrue(transport.aborted)

    def test_firmware_may_think_before_its_next_request(self) -> None:
        """W154: at least a minute on an idle connection, and then it is closed."""
        connection, transport = self.connect()
        for _ in range(3):
            connection.dataReceived(GET % b"/text")
            self.assertEqual(self.status(transport), "HTTP/1.1 200 OK")
            self.wait(74)
        self.assertFalse(transport.disconnecting)
        self.wait(2)
        self.assertTrue(transport.disconnecting)
        self.assertFalse(transport.aborted)

    def test_a_route_that_takes_too_long_is_cancelled(self) -> None:
        """The client is told to come again, and the connection goes on."""
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/waits")
        self.wait(41)
        self.assertEqual(self.status(transport), "HTTP/1.1 503 Service Unavailable")
        connection.dataReceived(GET % b"/text")
        self.assertEqual(self.status(transport), "HTTP/1.1 200 OK")
        self.assertEqual([each.status for each in self.application.done], [503, 200])

    def test_a_route_that_does_not_let_itself_be_cancelled(self) -> None:
        """Its client does not wait for it; what it returns in the end goes nowhere."""
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/deaf")
        self.wait(42)
        self.assertEqual(self.status(transport), "HTTP/1.1 503 Service Unavailable")
        self.application.later.callback(Reply(b"late"))
        self.assertEqual(transport.value(), b"")
        connection.dataReceived(GET % b"/text")
        self.assertEqual(self.status(transport), "HTTP/1.1 200 OK")

    def test_a_client_that_takes_nothing(self) -> None:
        """A reply may take for ever while it moves, and stand still for so long (40 s here)."""
        path = Path(self.mktemp())
        path.write_bytes(b"x" * (1 << 20))
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        self.application.content = Content(path, (Extent(0, 1 << 20),), version)
        connection, transport = self.connect()
        transport.producerState = "producing"
        original = transport.write

        def write(data: bytes) -> None:
            original(data)
            if len(data) > 1000:
                assert transport.producer is not None
                transport.producer.pauseProducing()

        transport.write = write  # type: ignore[method-assign]
        connection.dataReceived(GET % b"/file")
        for _ in range(5):
            self.wait(39)
            self.assertFalse(transport.aborted)
            assert transport.producer is not None
            transport.producer.resumeProducing()
        self.wait(51)
        self.assertTrue(transport.aborted)
        [done] = self.application.done
        self.assertEqual((done.outcome, done.status), (Outcome.TIMED_OUT, 200))
        self.assertEqual(done.sent, 6 * 65536)

    def test_nothing_is_left_behind(self) -> None:
        """The timer goes with the last connection."""
        connection, _ = self.connect()
        connection.dataReceived(GET % b"/text")
        connection.connectionLost()
        self.wait(1)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual((len(self.site), self.site.idle), (0, {}))


class ReplyTests(ConnectionCase):
    def test_the_date_is_the_wall_clocks(self) -> None:
        """Whatever clock the reactor's timers go by."""
        self.site = Site(
            self.application,
            reactor=self.clock,
            limits=self.limits,
            workers=InlineWorkers(),
            now=lambda: 784_111_777.0,
        )
        for path in (b"/text", b"/nowhere"):
            connection, transport = self.connect()
            connection.dataReceived(GET % path)
            self.assertIn(b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", transport.value())
        self.assertEqual({each.at for each in self.application.done}, {784_111_777.0})

    def test_a_route_cannot_end_a_header(self) -> None:
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/split")
        self.assertNotIn(b"Cookie", transport.value())
        self.assertEqual(self.status(transport), "HTTP/1.1 500 Internal Server Error")
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_an_access_log_that_fails_ends_nothing(self) -> None:
        def finished(done: Finished) -> None:
            raise KeyError("a column")

        self.application.finished = finished  # type: ignore[method-assign]
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/text" * 2)
        self.assertEqual(transport.value().count(b"200 OK"), 2)
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 2)

    def test_a_full_buffer_holds_the_next_request_back(self) -> None:
        """Who asks and does not read costs one reply, not a thousand."""
        connection, transport = self.connect()
        assert transport.producer is not None
        transport.producer.pauseProducing()
        connection.dataReceived(GET % b"/text" * 500)
        self.assertEqual(transport.value().count(b"200 OK"), 1)
        transport.producer.resumeProducing()
        self.clock.pump([0] * 40)
        self.assertEqual(transport.value().count(b"200 OK"), 500)

    def test_others_get_their_turn(self) -> None:
        """A thousand requests in one piece are answered over many turns of the reactor."""
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/text" * 100)
        self.assertEqual(transport.value().count(b"200 OK"), 16)
        self.clock.pump([0] * 10)
        self.assertEqual(transport.value().count(b"200 OK"), 100)

    def test_a_client_that_leaves_while_its_file_is_opened(self) -> None:
        """The descriptor is given back when the thread has it."""
        path = Path(self.mktemp())
        path.write_bytes(b"x" * 10)
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        self.application.content = Content(path, (Extent(0, 10),), version)
        workers = StuckWorkers()
        self.site = Site(self.application, reactor=self.clock, limits=self.limits, workers=workers)
        connection, _ = self.connect()
        connection.dataReceived(GET % b"/file")
        connection.connectionLost()
        [done] = self.application.done
        self.assertEqual(done.outcome, Outcome.STOPPED)
        workers.waiting[0]()
        self.assertEqual(len(self.site.files), 1)
        self.wait(1)
        self.assertEqual(len(self.site.files), 0)

    def test_a_fence_is_asked_when_the_file_is_open(self) -> None:
        """Not before: it may have closed while a thread had the disk to wait for."""
        path = Path(self.mktemp())
        path.write_bytes(b"x" * 10)
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        self.application.content = Content(path, (Extent(0, 10),), version)
        fence = self.application.fence = ShutFence()
        workers = StuckWorkers()
        self.site = Site(self.application, reactor=self.clock, limits=self.limits, workers=workers)
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/file")
        fence.shut = True
        workers.waiting[0]()
        self.assertIn(b"503 Service Unavailable\r\n", transport.value())
        self.assertIn(b"Retry-After: 5\r\n", transport.value())
        self.assertNotIn(b"ETag", transport.value())
        self.assertEqual(fence.told, 0)

        fence.shut = False
        transport.clear()
        connection.dataReceived((GET % b"/file").replace(b"GET", b"HEAD") + GET % b"/file")
        self.assertEqual(transport.value().count(b"200 OK\r\n"), 2)
        self.assertEqual(fence.told, 2)

    def test_a_file_that_has_gone_takes_no_transfer(self) -> None:
        """However many ask for it, the listener's transfers are free for others."""
        extents = (Extent(0, 1 << 30),)
        self.application.content = Content(Path("none"), extents, (1, 2, 1 << 30, 4))
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/file" * 5)
        self.assertEqual(transport.value().count(b"404 Not Found\r\n"), 5)
        self.assertEqual(self.site.transfers, 0)

    def test_a_body_is_asked_for_only_if_it_would_be_taken(self) -> None:
        """Whoever waits to be told to go on is refused at once, or in the middle of its chunks."""
        self.start(Limits(body_bytes=10))
        for line, body, expected in (
            (b"Content-Length: 10", b"x" * 10, [b"HTTP/1.1 100 Continue", b"HTTP/1.1 405"]),
            (b"Content-Length: 11", b"", [b"HTTP/1.1 413"]),
            (
                b"Transfer-Encoding: chunked",
                b"5\r\nxxxxx\r\n6\r\n",
                [b"HTTP/1.1 100 Continue", b"HTTP/1.1 413"],
            ),
        ):
            connection, transport = self.connect()
            head = b"POST /text HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n%b\r\n\r\n"
            connection.dataReceived(head % line)
            connection.dataReceived(body or b" ")
            lines = [each for each in transport.value().split(b"\r\n") if each[:5] == b"HTTP/"]
            self.assertEqual(len(lines), len(expected), line)
            for each, beginning in zip(lines, expected, strict=True):
                self.assertTrue(each.startswith(beginning), each)
            connection.connectionLost()
            self.assertEqual(self.site.bodies, 0)


class CapacityTests(ConnectionCase):
    def test_the_longest_silent_connection_makes_room(self) -> None:
        first, one = self.connect(1)
        _, two = self.connect(2)
        self.wait(1)
        first.dataReceived(GET % b"/text")
        self.connect(3)
        _, four = self.connect(4)
        self.assertEqual([one.disconnecting, two.disconnecting], [False, True])
        self.assertEqual(four.value(), b"")

    def test_a_crowd_that_arrives_at_once_is_not_thrown_out_by_itself(self) -> None:
        """Who came this very moment had no time to ask: the newest is told to come again."""
        transports = [self.connect(port)[1] for port in range(5)]
        self.assertEqual(
            [self.status(each) for each in transports],
            ["", "", "", *["HTTP/1.1 503 Service Unavailable"] * 2],
        )
        self.assertEqual([each.disconnecting for each in transports], [False] * 5)
        self.wait(1)
        self.assertEqual([each.disconnecting for each in transports], [False] * 3 + [True] * 2)

    def test_those_who_are_turned_away_are_bounded(self) -> None:
        """More than that at once are closed without a word, until those are gone."""
        for port in range(3 + TURNED_AWAY):
            self.connect(port)
        address = IPv4Address("TCP", "192.0.2.7", 50000)
        self.assertIsNone(self.site.buildProtocol(address))

    def test_noise_is_counted(self) -> None:
        """A thousand clients that speak no HTTP are one line, and another when they stop."""
        with capturedLogs() as events:
            for port in range(1000):
                connection, transport = self.connect(port)
                connection.dataReceived(b"\xff")
                self.assertEqual(self.status(transport), "HTTP/1.1 400 Bad Request")
                connection.connectionLost()
            self.wait(30)
        self.assertEqual(len(self.application.done), 1)
        self.assertEqual([each["count"] for each in events if "count" in each], [999])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class StopTests(ConnectionCase):
    def test_idle_connections_go_at_once(self) -> None:
        connection, transport = self.connect()
        stopped = self.site.stop(30)
        self.assertTrue(transport.disconnecting)
        self.assertNoResult(stopped)
        connection.connectionLost()
        self.successResultOf(stopped)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertIsNone(self.site.buildProtocol(None))

    def test_a_reply_that_was_begun_is_the_last(self) -> None:
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/waits")
        stopped = self.site.stop(30)
        self.assertFalse(transport.disconnecting)
        self.application.later.callback(Reply(b"done"))
        self.assertIn(b"done", transport.value())
        self.assertTrue(transport.disconnecting)
        connection.connectionLost()
        self.successResultOf(stopped)
