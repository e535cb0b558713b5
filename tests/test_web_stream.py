"""Tests for ``rescriptum.web.chunked`` and what is around it: long answers, in no time at all."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.testing import MemoryStream
from rescriptum.web.connection import HTTPConnection
from rescriptum.web.reply import Finished, Outcome, Reply, StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import Answer, Routes, answer
from rescriptum.web.site import Limits, Site
from rescriptum.web.stream import Stream

from .webclient import PEER, InlineWorkers

GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
STREAM = GET % b"/stream"


class Transport(StringTransport):
    """Remembers what became of it."""

    aborted = False

    def abortConnection(self) -> None:
        self.aborted = self.disconnecting = True

    def taken(self) -> bytes:
        """:returns: what was written since this was last asked."""
        data: bytes = self.value()
        self.clear()
        return data

    def body(self) -> bytes:
        """:returns: the same, without the head of one reply."""
        return self.taken().partition(b"\r\n\r\n")[2]

    def fill(self, stream: Stream | None = None) -> None:
        """The buffer is full; of ``stream``, with one byte that it still took."""
        assert self.producer is not None
        self.producer.pauseProducing()
        if stream is not None:
            stream.write(b".")
            self.clear()

    def drain(self) -> None:
        assert self.producer is not None
        self.producer.resumeProducing()


class Narrator:
    """Says what the test has it say."""

    routes = Routes()

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.ends: list[str] = []
        self.done: list[Finished] = []
        self.later: Deferred[Answer] = Deferred()
        self.headers: tuple[tuple[str, str], ...] = ()
        self.room = Stream.ROOM
        self.script: Callable[[Stream], None] = lambda stream: None
        self.texts = 0

    @routes.get("stream")
    def stream(self, request: Request) -> StreamReply:
        return StreamReply("application/x-ndjson", self.opened, self.headers, "told", self.room)

    def opened(self, stream: Stream) -> None:
        self.streams.append(stream)
        stream.ended = self.ends.append
        self.script(stream)

    @routes.get("later")
    async def waits(self, request: Request) -> Answer:
        return await self.later

    @routes.get("text")
    def text(self, request: Request) -> Reply:
        self.texts += 1
        return Reply(b"text")

    def finished(self, done: Finished) -> None:
        self.done.append(done)

    def closed(self, peer: tuple[str, int]) -> None:
        pass


class StreamCase(SynchronousTestCase):
    limits = Limits(stall_seconds=40, keepalive_seconds=75, total_seconds=50)

    def setUp(self) -> None:
        self.clock = Clock()
        self.narrator = Narrator()
        self.start(self.limits)

    def start(self, limits: Limits) -> None:
        self.site = Site(
            self.narrator,
            reactor=self.clock,
            limits=limits,
            workers=InlineWorkers(),
            now=self.clock.seconds,
        )

    def connect(self) -> tuple[HTTPConnection, Transport]:
        connection = self.site.buildProtocol(IPv4Address("TCP", *PEER))
        assert connection is not None
        transport = Transport()
        connection.makeConnection(transport)
        return connection, transport

    def open(self, request: bytes = STREAM) -> tuple[HTTPConnection, Transport, Stream]:
        """A stream whose head is taken already."""
        connection, transport = self.connect()
        connection.dataReceived(request)
        transport.clear()
        return connection, transport, self.narrator.streams[-1]

    def turn(self) -> None:
        self.clock.advance(0)

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.25] * int(seconds * 4))

    def ended(self, *reasons: str) -> None:
        """So, in the next turn; nobody is told another time, and no place is taken any more."""
        self.turn()
        self.turn()
        self.assertEqual(self.narrator.ends, list(reasons))
        self.assertEqual(self.site.streams, 0)

    def outcome(self) -> tuple[Outcome, str, int]:
        [done] = self.narrator.done
        self.assertEqual((done.status, done.about, done.peer), (200, "told", PEER))
        return done.outcome, done.reason, done.sent


class FramingTests(StreamCase):
    def test_every_byte(self) -> None:
        """One chunk a write, none for nothing; the end; and the next reply of the connection."""
        connection, transport = self.connect()
        self.narrator.headers = (("X-Site", "one"),)
        connection.dataReceived(STREAM)
        [stream] = self.narrator.streams
        self.assertEqual(
            transport.taken().split(b"\r\n"),
            [
                b"HTTP/1.1 200 OK",
                b"Server: rescriptum",
                b"Date: Thu, 01 Jan 1970 00:00:00 GMT",
                b"Content-Type: application/x-ndjson",
                b"Cache-Control: no-store",
                b"X-Site: one",
                b"Transfer-Encoding: chunked",
                b"",
                b"",
            ],
        )
        stream.write(b'{"a":1}\n')
        stream.write(b"")
        stream.write(b"\r\n" * 9)
        self.assertEqual(transport.taken(), b'8\r\n{"a":1}\n\r\n12\r\n' + b"\r\n" * 10)
        stream.finish(b"end")
        self.assertEqual(transport.taken(), b"3\r\nend\r\n0\r\n\r\n")
        connection.dataReceived(GET % b"/text")
        self.turn()
        self.assertEqual(transport.body(), b"text")
        self.ended("closed")
        self.assertEqual(self.narrator.done.pop().sent, 4)
        self.assertEqual(self.outcome(), (Outcome.SENT, "", 8 + 18 + 3))

    @given(st.lists(st.binary(max_size=40)), st.binary(max_size=40))
    def test_any_bytes(self, pieces: list[bytes], last: bytes) -> None:
        self.setUp()
        _, transport, stream = self.open()
        for piece in pieces:
            stream.write(piece)
        stream.finish(last)
        chunks = [b"%x\r\n%b\r\n" % (len(each), each) for each in (*pieces, last) if each]
        self.assertEqual(transport.taken(), b"".join(chunks) + b"0\r\n\r\n")

    def test_the_head_goes_out_first(self) -> None:
        """Whoever opens the stream may speak at once, and be done at once."""
        connection, transport = self.connect()
        heads: list[bytes] = []

        def script(stream: Stream) -> None:
            heads.append(transport.taken())
            stream.write(b"one")
            stream.finish()

        self.narrator.script = script
        connection.dataReceived(STREAM + GET % b"/text")
        self.assertEqual(heads[0][-4:], b"\r\n\r\n")
        data = transport.taken()
        self.assertTrue(data.startswith(b"3\r\none\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), data)
        self.assertTrue(data.endswith(b"text"), data)
        self.ended("closed")

    def test_old_clients(self) -> None:
        """HTTP/1.0 knows no chunks: the end of the connection is that of the reply."""
        for line in (b"", b"Connection: keep-alive\r\n"):
            connection, transport = self.connect()
            connection.dataReceived(b"GET /stream HTTP/1.0\r\n%b\r\n" % line)
            head = transport.taken()
            self.assertNotIn(b"Transfer-Encoding", head)
            self.assertNotIn(b"Content-Length", head)
            self.assertIn(b"\r\nConnection: close\r\n", head)
            stream = self.narrator.streams[-1]
            stream.write(b"one")
            stream.write(b"two")
            self.assertFalse(transport.disconnecting)
            stream.finish(b"three")
            self.assertEqual(transport.taken(), b"onetwothree")
            self.assertTrue(transport.disconnecting)
            self.assertFalse(transport.aborted)
            connection.connectionLost()
        self.ended("closed", "closed")

    def test_a_client_that_wants_no_more(self) -> None:
        """With ``Connection: close`` the end of the chunks is that of the connection too."""
        request = b"GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        _, transport, stream = self.open(request)
        stream.finish(b"one")
        self.assertEqual(transport.taken(), b"3\r\none\r\n0\r\n\r\n")
        self.assertTrue(transport.disconnecting)
        self.ended("closed")

    def test_head(self) -> None:
        """What GET would begin with, and no stream; there is room for it where none is for GET."""
        self.start(Limits(streams=0))
        for version, line in (
            (b"1.1", b"\r\nTransfer-Encoding: chunked\r\n"),
            (b"1.0", b"\r\nConnection: close\r\n"),
        ):
            connection, transport = self.connect()
            connection.dataReceived(b"HEAD /stream HTTP/%b\r\nHost: x\r\n\r\n" % version)
            data = transport.taken()
            self.assertTrue(data.startswith(b"HTTP/1.1 200 OK\r\n"), data)
            self.assertTrue(data.endswith(b"\r\n\r\n"), data)
            self.assertIn(line, data)
            self.assertEqual(transport.disconnecting, version == b"1.0")
        self.assertEqual(self.narrator.streams, [])
        self.assertEqual([each.sent for each in self.narrator.done], [0, 0])
        self.assertEqual([each.about for each in self.narrator.done], ["told", "told"])

    def test_a_route_that_had_to_wait(self) -> None:
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/later")
        self.narrator.later.callback(StreamReply("text/plain", self.narrator.opened))
        transport.clear()
        self.narrator.streams[0].write(b"x")
        self.assertEqual(transport.taken(), b"1\r\nx\r\n")

    def test_a_route_cannot_end_a_header(self) -> None:
        self.narrator.headers = (("X", "a\r\nSet-Cookie: b"),)
        connection, transport = self.connect()
        connection.dataReceived(STREAM)
        self.assertTrue(transport.taken().startswith(b"HTTP/1.1 500 "))
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assertEqual((self.narrator.streams, self.site.streams), ([], 0))


class EndingTests(StreamCase):
    def test_after_the_end_all_is_ignored(self) -> None:
        """However it ended; and who is told is told once."""
        ends: tuple[Callable[[HTTPConnection, Stream], None], ...] = (
            lambda connection, stream: stream.finish(),
            lambda connection, stream: stream.abort("superseded"),
            lambda connection, stream: connection.connectionLost(),
        )
        for end in ends:
            self.setUp()
            connection, transport, stream = self.open()
            end(connection, stream)
            before = transport.taken()
            stream.write(b"more")
            stream.finish(b"more")
            stream.abort("again")
            self.assertEqual((transport.taken(), stream.waiting), (b"", 0))
            self.turn()
            connection.connectionLost()
            self.assertEqual(len(self.narrator.done), 1)
            self.assertIn(before, (b"0\r\n\r\n", b""))
            self.assertEqual(len(self.narrator.ends), 1)
            self.ended(*self.narrator.ends)

    def test_aborting(self) -> None:
        """The connection is dropped within the call; who is told hears of it after it."""
        _, transport, stream = self.open()
        stream.write(b"one")
        stream.abort("superseded")
        self.assertEqual((transport.aborted, self.narrator.ends), (True, []))
        self.assertEqual(transport.taken(), b"3\r\none\r\n")
        self.ended("superseded")
        self.assertEqual(self.outcome(), (Outcome.FAILED, "superseded", 3))

    def test_a_client_that_leaves(self) -> None:
        connection, _, stream = self.open()
        stream.write(b"one")
        connection.connectionLost()
        self.ended("lost")
        self.assertEqual(self.outcome(), (Outcome.STOPPED, "the client left", 3))

    def test_a_client_that_left_before(self) -> None:
        """Its stream is never opened."""
        connection, _ = self.connect()
        connection.dataReceived(GET % b"/later")
        connection.connectionLost()
        self.assertEqual((self.narrator.streams, self.site.streams), ([], 0))

    def test_a_stream_that_cannot_be_opened(self) -> None:
        """The head is out: all that is left is to drop the connection."""

        def script(stream: Stream) -> None:
            raise KeyError("x")

        self.narrator.script = script
        _, transport, _ = self.open()
        self.assertTrue(transport.aborted)
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)
        self.ended("see the log")

    def test_who_is_told_may_fail(self) -> None:
        def told(reason: str) -> None:
            raise KeyError(reason)

        connection, _, stream = self.open()
        stream.ended = told
        connection.connectionLost()
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)
        self.assertEqual((len(self.site), self.site.streams), (0, 0))

    def test_the_next_request_waits_for_a_turn(self) -> None:
        """Who ends a stream is not called with the next request from within that."""
        connection, _, stream = self.open()
        connection.dataReceived(GET % b"/text" + STREAM)
        stream.finish()
        self.assertEqual(self.narrator.texts, 0)
        connection.dataReceived(GET % b"/text")
        self.assertEqual(self.narrator.texts, 0)
        self.turn()
        self.assertEqual((self.narrator.texts, len(self.narrator.streams)), (1, 2))
        self.narrator.streams[1].finish()
        self.turn()
        self.assertEqual(self.narrator.texts, 2)
        self.ended("closed", "closed")

    def test_a_connection_that_goes_in_that_turn(self) -> None:
        connection, _, stream = self.open()
        connection.dataReceived(GET % b"/text")
        stream.finish()
        connection.connectionLost()
        self.turn()
        self.assertEqual(self.narrator.texts, 0)
        self.assertEqual(self.outcome()[0], Outcome.SENT)
        self.assertEqual(len(self.site), 0)


class RoomTests(StreamCase):
    def test_a_slow_reader(self) -> None:
        """What may wait is bounded to the byte, its framing included."""
        self.narrator.room = 100
        _, transport, stream = self.open()
        transport.fill(stream)
        stream.write(b"x" * 94)
        self.assertEqual((transport.taken(), stream.waiting), (b"", 100))
        self.turn()
        self.assertEqual((transport.aborted, self.narrator.ends), (False, []))
        stream.write(b"x")
        self.assertEqual((transport.aborted, stream.waiting), (True, 0))
        self.assertEqual(self.narrator.ends, [], "nobody is told from within a write")
        self.ended("slow-reader")
        self.assertEqual(self.outcome(), (Outcome.FAILED, "slow-reader", 0))

    def test_the_last_words_count_too(self) -> None:
        self.narrator.room = 100
        for size, end in ((89, "closed"), (90, "slow-reader")):
            self.narrator.ends.clear()
            _, transport, stream = self.open()
            transport.fill(stream)
            stream.finish(b"x" * size)
            self.assertEqual(transport.aborted, end == "slow-reader")
            self.turn()
            self.assertEqual(self.narrator.ends, [end])

    def test_more_than_there_is_room_for_at_once(self) -> None:
        """A client that keeps up gets any number of bytes, but not all of them in one turn."""
        _, transport, stream = self.open()
        original = transport.write

        def write(data: bytes) -> None:
            original(data)
            transport.fill()

        transport.write = write  # type: ignore[method-assign]
        stream.write(b"x" * (Stream.ROOM - 100))
        self.assertEqual(len(transport.taken()), 64 * 1024)
        self.assertFalse(transport.aborted)
        stream.write(b"x" * (64 * 1024))
        self.assertFalse(transport.aborted)
        stream.write(b"x" * 100)
        self.assertTrue(transport.aborted)
        self.ended("slow-reader")

    def test_what_waited_goes_out_in_order(self) -> None:
        _, transport, stream = self.open()
        transport.fill(stream)
        stream.write(b"two")
        stream.write(b"y" * 70_000)
        stream.finish(b"end")
        self.assertEqual(transport.taken(), b"")
        self.assertEqual(self.narrator.done, [])
        transport.drain()
        expected = b"3\r\ntwo\r\n11170\r\n" + b"y" * 70_000 + b"\r\n3\r\nend\r\n0\r\n\r\n"
        self.assertEqual(transport.taken(), expected)
        self.assertEqual(self.outcome(), (Outcome.SENT, "", 1 + 70_006))
        self.ended("closed")

    def test_bytes_that_did_not_leave_are_not_counted(self) -> None:
        """Nor as many others as their framing is long: the log tells no more than is sure."""
        connection, transport, stream = self.open()
        stream.write(b"x" * 100)
        transport.fill(stream)
        stream.write(b"y" * 1000)
        connection.connectionLost()
        self.ended("lost")
        self.assertEqual(self.outcome(), (Outcome.STOPPED, "the client left", 101 - 7))

    def test_what_a_client_sends_meanwhile(self) -> None:
        """It is kept, and not read any more where it is too much, until the stream is over."""
        connection, transport, stream = self.open()
        for _ in range(5):
            connection.dataReceived(GET % (b"/text?" + b"x" * 4000))
        self.assertEqual((self.narrator.texts, transport.producerState), (0, "paused"))
        stream.write(b"one")
        self.assertEqual(transport.taken(), b"3\r\none\r\n")
        stream.finish()
        self.assertEqual(transport.producerState, "producing")
        self.turn()
        self.assertEqual(self.narrator.texts, 5)


class TimeTests(StreamCase):
    def test_no_deadline_holds_for_a_stream(self) -> None:
        """Neither the whole time of a reply nor that of standing still; nor is it idle."""
        connection, transport, stream = self.open()
        self.wait(3600)
        self.assertFalse(transport.disconnecting)
        stream.write(b"one")
        self.assertEqual(transport.taken(), b"3\r\none\r\n")
        self.assertEqual(self.site.idle, {})
        stream.finish()
        self.wait(74)
        self.assertFalse(transport.disconnecting)
        self.wait(2)
        self.assertTrue(transport.disconnecting)
        connection.connectionLost()
        self.ended("closed")
        self.wait(1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_a_client_that_does_not_take_the_end(self) -> None:
        """From the end on a stream is a reply like any other, and may stand still for so long."""
        _, transport, stream = self.open()
        self.wait(3600)
        transport.fill()
        stream.finish(b"end")
        self.wait(39)
        self.assertFalse(transport.aborted)
        self.wait(20)
        self.assertTrue(transport.aborted)
        self.ended("closed")
        self.assertEqual(self.outcome()[:2], (Outcome.TIMED_OUT, "connection timed out"))

    def test_the_servers_end(self) -> None:
        """The stream is ended in good order, and the connection after it."""
        connection, transport, stream = self.open()
        stopped = self.site.stop(30)
        self.assertEqual((transport.taken(), transport.disconnecting), (b"0\r\n\r\n", True))
        stream.write(b"more")
        self.assertEqual((transport.taken(), transport.aborted), (b"", False))
        self.ended("stopping")
        self.assertNoResult(stopped)
        connection.connectionLost()
        self.successResultOf(stopped)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.ended("stopping")

    def test_the_servers_end_has_a_grace(self) -> None:
        """A client that takes nothing is waited for no longer than that."""
        connection, transport, _ = self.open()
        transport.fill()
        stopped = self.site.stop(30)
        self.wait(29)
        self.assertFalse(transport.disconnecting)
        self.wait(1)
        self.assertTrue(transport.aborted)
        connection.connectionLost()
        self.successResultOf(stopped)
        self.ended("stopping")
        self.assertEqual(self.outcome()[:2], (Outcome.STOPPED, "the server is stopping"))

    def test_no_stream_begins_at_the_end(self) -> None:
        connection, transport = self.connect()
        connection.dataReceived(GET % b"/later")
        self.site.stop(30)
        self.narrator.later.callback(StreamReply("text/plain", self.narrator.opened))
        self.assertTrue(transport.taken().startswith(b"HTTP/1.1 503 "))
        self.assertTrue(transport.disconnecting)
        self.assertEqual(self.narrator.streams, [])


class CapacityTests(StreamCase):
    def test_so_many_at_once(self) -> None:
        """More are told to come again, on a connection that goes on; each end frees a place."""
        self.start(Limits(streams=2))
        first = self.open()
        self.open()
        third, transport = self.connect()
        with capturedLogs() as events:
            third.dataReceived(STREAM)
        self.assertEqual([each.get("of") for each in events], ["streams"])
        head, _, body = transport.taken().partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n"), head)
        self.assertIn(b"\r\nRetry-After: 5", head)
        self.assertEqual(body, b"503 Service Unavailable\n")
        [done] = self.narrator.done
        self.assertEqual((done.about, done.reason), ("told", "all streams are taken"))
        first[2].finish()
        third.dataReceived(STREAM)
        self.assertEqual((len(self.narrator.streams), self.site.streams), (3, 2))

    def test_a_stream_is_a_connection(self) -> None:
        """And none that could make room for another."""
        self.start(Limits(connections=1))
        _, first, _ = self.open()
        self.wait(1)
        _, second = self.connect()
        self.assertTrue(second.taken().startswith(b"HTTP/1.1 503 "))
        self.assertFalse(first.disconnecting)


class DoubleTests(SynchronousTestCase):
    """``MemoryStream`` behaves as a stream does."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.ends: list[str] = []
        narrator = Narrator()
        waiting = Deferred.fromCoroutine(answer(narrator, Request("GET", "/stream", PEER)))
        reply = self.successResultOf(waiting)
        assert isinstance(reply, StreamReply)
        self.stream = MemoryStream(self.clock, 10)
        reply.opened(self.stream)
        self.stream.ended = self.ends.append

    def ended(self, reason: str) -> None:
        self.assertEqual((self.stream.end, self.ends), (reason, []))
        self.stream.write(b"more")
        self.stream.finish(b"more")
        self.stream.abort("more")
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual(self.ends, [reason])
        self.assertNotIn(b"more", self.stream.sent)

    def test_finishing(self) -> None:
        self.stream.write(b"one")
        self.stream.write(b"")
        self.stream.finish(b"two")
        self.assertEqual(self.stream.sent, [b"one", b"two"])
        self.ended("closed")

    def test_the_other_ends(self) -> None:
        for end, reason in (
            (lambda: self.stream.abort("superseded"), "superseded"),
            (lambda: self.stream.lose(), "lost"),
            (lambda: self.stream.stop(), "stopping"),
        ):
            self.setUp()
            end()
            self.ended(reason)

    def test_a_slow_reader(self) -> None:
        """As much as there is room for waits; what waits arrives when it reads again."""
        self.stream.write(b"one")
        self.stream.slow = True
        self.stream.write(b"01234567")
        self.stream.write(b"89")
        self.assertEqual((self.stream.sent, self.stream.waiting), ([b"one"], 10))
        self.stream.slow = False
        self.assertEqual(self.stream.sent, [b"one", b"01234567", b"89"])
        self.stream.slow = True
        self.stream.write(b"0123456789a")
        self.assertEqual(self.stream.waiting, 0)
        self.ended("slow-reader")
