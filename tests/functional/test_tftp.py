"""TFTP over real sockets: the server, its client, and the oldest client there is."""

import os
import socket
import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorFDSet, IReactorTime
from twisted.logger import LogEvent, LogLevel, capturedLogs
from twisted.trial.unittest import SkipTest, TestCase

from rescriptum.errors import Unavailable
from rescriptum.net.udp import UDP, UDP_SEGMENT
from rescriptum.testing import Everybody, MemoryLoaders, MemoryWorkers
from rescriptum.tftp.client import Fetched, fetch, probe
from rescriptum.tftp.download import RefusedByServer, TooLarge
from rescriptum.tftp.protocol import Limits, TFTPServer
from rescriptum.tftp.service import TFTPService
from rescriptum.tftp.store import LARGEST
from rescriptum.tftp.wire import Acknowledgement, Error, OptionAcknowledgement, ReadRequest, decode
from rescriptum.values import Content, Extent, Listen

LOOPBACK = "127.0.0.1"


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


def content(path: Path) -> Content:
    found = path.stat()
    version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return Content(path, (Extent(0, found.st_size),), version)


def later(seconds: float) -> Deferred[None]:
    done: Deferred[None] = Deferred()
    IReactorTime(reactor).callLater(seconds, done.callback, None)
    return done


class Plain:
    """A client of blocking sockets that never block: what a test says, byte by byte."""

    def __init__(self, server: tuple[str, int], host: str = LOOPBACK) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, 0))
        self.socket.setblocking(False)
        self.server = server
        self.peer = server

    def say(self, datagram: bytes) -> None:
        self.socket.sendto(datagram, self.peer)

    async def hears(self, seconds: float = 5) -> bytes:
        """:returns: the next datagram; what is said from then on goes where it came from."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                datagram, self.peer = self.socket.recvfrom(70000)
            except BlockingIOError:
                await later(0.005)
            else:
                return datagram
        return b""


class LoopbackCase(TestCase):
    """A server on a free port, as the root composes it."""

    timeout = 60
    nested = True
    fast = True
    offload = True

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.data = os.urandom(1048677)
        self.path.write_bytes(self.data)
        self.files: dict[bytes, Content | bytes] = {
            b"big": content(self.path),
            b"small": b"#!ipxe\n",
            b"empty": b"",
        }
        self.service = self.serve(Listen(LOOPBACK, 0))

    def serve(
        self,
        at: Listen,
        limits: Limits | None = None,
        ports: tuple[int, int] | None = None,
    ) -> TFTPService:
        clock = IReactorTime(reactor)
        self.udp = UDP(IReactorFDSet(reactor), time.monotonic, nested=self.nested)
        self.server = TFTPServer(
            clock,
            self.udp,
            MemoryLoaders(self.files),
            admission=Everybody(),
            workers=MemoryWorkers(),
            monotonic=time.monotonic,
            limits=limits or Limits(per_peer=64),
            ports=ports,
            fast=self.fast,
            offload=self.offload,
        )
        service = TFTPService(clock, self.server, at, grace=0.2)
        service.privilegedStartService()
        service.startService()
        self.addCleanup(service.stopService)
        return service

    @property
    def port(self) -> int:
        return self.service.listening[0].port

    def fetch(
        self, name: bytes, host: str = LOOPBACK, /, **options: int
    ) -> Coroutine[Deferred[Any], Any, Fetched]:
        return fetch(
            reactor,
            host,
            self.port,
            name,
            limit_bytes=1 << 25,
            timeout=10,
            blksize=options.get("blksize"),
            windowsize=options.get("windowsize"),
            tsize=bool(options.get("tsize")),
        )


class FetchTests(LoopbackCase):
    """Nested epoll, the fast path, segmentation offload: what is built on Linux."""

    async def test_files_arrive_whole(self) -> None:
        """Any size of block and window, from memory and from a disk."""
        for name, data in ((b"big", self.data), (b"small", b"#!ipxe\n"), (b"empty", b"")):
            for options in (
                {},
                {"blksize": 1468, "tsize": 1},
                {"blksize": 1432, "windowsize": 4},
                {"windowsize": 16},
                {"blksize": 1468, "windowsize": 64},
                {"blksize": 100, "windowsize": 8},
            ):
                fetched = await self.fetch(name, **options)
                self.assertEqual(fetched.data, data, (name, options))
                self.assertEqual(len(fetched.options), len(options))

    async def test_a_file_too_large_for_memory_arrives(self) -> None:
        """It is read while it is sent."""
        path = Path(self.mktemp())
        path.write_bytes(os.urandom(1 << 20) * (LARGEST >> 20) + b"end")
        self.files[b"huge"] = content(path)
        fetched = await self.fetch(b"huge", blksize=1468, windowsize=64)
        self.assertEqual(fetched.data, path.read_bytes())

    async def test_many_at_once(self) -> None:
        """64 clients, all at the same moment, all complete; nothing is left afterwards."""
        fetches = [
            Deferred.fromCoroutine(self.fetch(b"big", blksize=1468, windowsize=1 + n % 16))
            for n in range(64)
        ]
        for success, fetched in await DeferredList(fetches):
            self.assertTrue(success, fetched)
            assert isinstance(fetched, Fetched)
            self.assertEqual(fetched.data, self.data)
        await self.server.idle()

    async def test_loss_is_recovered(self) -> None:
        """A client that loses whole windows and single blocks still gets its file."""
        client = Plain((LOOPBACK, self.port))
        client.say(
            ReadRequest(b"big", options=((b"windowsize", b"16"), (b"blksize", b"1024"))).encode()
        )
        self.assertIsInstance(decode(await client.hears()), OptionAcknowledgement)
        client.say(Acknowledgement(0).encode())
        got: list[bytes] = []
        count, since, gap = 0, 0, False
        while not got or len(got[-1]) == 1024:
            datagram = await client.hears(3)
            count += 1
            if not datagram:  # the server waits: say where we are
                client.say(Acknowledgement(len(got)).encode())
                since, gap = 0, False
            elif count % 97 == 0 or 200 < count < 216:
                continue
            elif int.from_bytes(datagram[2:4], "big") == len(got) + 1:
                got.append(datagram[4:])
                since, gap = since + 1, False
                if since == 16 or len(got[-1]) < 1024:
                    client.say(Acknowledgement(len(got)).encode())
                    since = 0
            elif not gap:
                client.say(Acknowledgement(len(got)).encode())
                since, gap = 0, True
        self.assertEqual(b"".join(got), self.data)
        client.socket.close()

    async def test_a_client_that_vanishes_frees_its_place(self) -> None:
        """The kernel tells that its port is closed, at once and not after half a minute."""
        client = Plain((LOOPBACK, self.port))
        client.say(ReadRequest(b"big").encode())
        await client.hears()
        client.say(Acknowledgement(1).encode())
        client.socket.close()
        for _ in range(100):
            if self.server.transfers == 0:
                break
            await later(0.02)
        self.assertEqual(self.server.transfers, 0)

    async def test_hostile_datagrams_cost_nothing(self) -> None:
        """At both kinds of port; the server goes on, and no traceback is logged."""
        client = Plain((LOOPBACK, self.port))
        running = Plain((LOOPBACK, self.port))
        running.say(ReadRequest(b"big").encode())
        first = await running.hears()
        with capturedLogs() as events:
            for length in (0, 1, 2, 3, 4, 30, 512, 1024, 1025, 9000):
                for start in (b"", b"\0\1", b"\0\2", b"\0\3", b"\0\4", b"\0\6", b"\0\1a\0octet\0"):
                    noise = (start + os.urandom(length))[: max(length, len(start))]
                    client.socket.sendto(noise, client.server)
                    running.say(noise[:1] + b"\x09" + noise)
            await later(0.2)
        self.assertEqual([each for each in events if each["log_level"] >= LogLevel.error], [])
        running.say(Acknowledgement(1).encode())
        self.assertEqual(await running.hears(), b"\0\3\0\2" + self.data[512:1024])
        self.assertEqual(first[4:], self.data[:512])
        fetched = await self.fetch(b"small")
        self.assertEqual(fetched.data, b"#!ipxe\n")
        client.socket.close()
        running.say(Error(0).encode())
        running.socket.close()

    async def test_strangers_do_not_reach_a_transfer(self) -> None:
        """Its socket is connected: another port's acknowledgement or error is dropped (W125)."""
        client, stranger = Plain((LOOPBACK, self.port)), Plain((LOOPBACK, self.port))
        client.say(ReadRequest(b"big").encode())
        await client.hears()
        stranger.peer = client.peer
        for datagram in (Acknowledgement(1).encode(), Error(0, b"no").encode()):
            stranger.say(datagram)
        self.assertEqual(await client.hears(0.1), b"")
        client.say(Acknowledgement(1).encode())
        self.assertEqual((await client.hears())[:4], b"\0\3\0\2")
        client.say(Error(0).encode())
        client.socket.close()
        stranger.socket.close()

    async def test_another_address_of_this_host_answers_as_itself(self) -> None:
        """A listener on all addresses answers from the one that was asked (field case B28)."""
        self.service = self.serve(Listen("0.0.0.0", 0))
        for host in ("127.0.0.1", "127.0.0.2", "127.9.9.9"):
            client = Plain((host, self.port))
            client.say(ReadRequest(b"small").encode())
            self.assertEqual((await client.hears())[4:], b"#!ipxe\n")
            self.assertEqual(client.peer[0], host)
            self.assertNotEqual(client.peer[1], self.port)
            client.say(Acknowledgement(1).encode())
            client.peer = client.server
            client.say(ReadRequest(b"missing").encode())
            self.assertEqual((await client.hears())[:4], b"\0\5\0\1")
            self.assertEqual(client.peer[0], host)
            client.socket.close()

    async def test_a_missing_file_is_told_at_once(self) -> None:
        """In less than a tenth of a second (field case B31)."""
        began = time.monotonic()
        with self.assertRaises(RefusedByServer) as caught:
            await self.fetch(b"autoexec.ipxe")
        self.assertEqual(caught.exception.number, 1)
        self.assertTrue(time.monotonic() - began < 0.1)


class FlatTests(FetchTests):
    """Without a private epoll, as where there is none."""

    nested = False


class SlowTests(FetchTests):
    """Each acknowledgement decided the long way, each block sent by itself."""

    fast = False
    offload = False


class IPv6Tests(LoopbackCase):
    def setUp(self) -> None:
        if not has_ipv6():
            raise SkipTest("no IPv6 here")
        super().setUp()

    async def test_files_arrive_whole(self) -> None:
        """In windows too; a block leaves room for the longer header (W113)."""
        self.service = self.serve(Listen("::1", 0))
        for windowsize in (1, 16):
            fetched = await self.fetch(b"big", "::1", blksize=1468, windowsize=windowsize)
            self.assertEqual(fetched.data, self.data)

    async def test_all_addresses_means_both_families(self) -> None:
        """One port for IPv6 and IPv4, and each answers as it was asked."""
        self.service = self.serve(Listen("::", 0))
        for host in ("::1", LOOPBACK):
            fetched = await self.fetch(b"small", host)
            self.assertEqual(fetched.data, b"#!ipxe\n")


class OffloadTests(LoopbackCase):
    async def test_the_kernel_cuts_windows_here(self) -> None:
        """So the tests above went through segmentation offload where this kernel has it."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            try:
                sock.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 516)
            except OSError:
                raise SkipTest("no segmentation offload here") from None
            receiver = Plain((LOOPBACK, 9))
            sock.connect(receiver.socket.getsockname())
            sock.send(bytes(516 * 3 + 7))
            self.assertEqual([len(await receiver.hears()) for _ in range(4)], [516, 516, 516, 7])
            receiver.socket.close()


class PortTests(LoopbackCase):
    async def test_data_leaves_from_the_chosen_ports(self) -> None:
        """And when all of them are taken, the request meets silence (W135)."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind((LOOPBACK, 0))
            port = free.getsockname()[1]
        self.service = self.serve(Listen(LOOPBACK, 0), ports=(port, port))
        client, second = Plain((LOOPBACK, self.port)), Plain((LOOPBACK, self.port))
        client.say(ReadRequest(b"big").encode())
        await client.hears()
        self.assertEqual(client.peer[1], port)
        second.say(ReadRequest(b"big").encode())
        self.assertEqual(await second.hears(0.2), b"")
        client.say(Error(0).encode())
        await later(0.05)
        second.say(ReadRequest(b"small").encode())
        self.assertEqual((await second.hears())[4:], b"#!ipxe\n")
        second.say(Acknowledgement(1).encode())
        client.socket.close()
        second.socket.close()


class BoundTests(LoopbackCase):
    async def test_the_65th_is_not_answered(self) -> None:
        """64 in all, from addresses of their own; when one ends there is room again."""
        self.service = self.serve(Listen(LOOPBACK, 0), Limits())
        clients = [Plain((LOOPBACK, self.port), f"127.0.1.{n}") for n in range(1, 66)]
        for client in clients:
            client.say(ReadRequest(b"big").encode())
        for client in clients[:64]:
            self.assertEqual(len(await client.hears()), 516)
        self.assertEqual(await clients[64].hears(0.1), b"")
        clients[0].say(Error(0).encode())
        clients[64].say(ReadRequest(b"big").encode())
        self.assertEqual(len(await clients[64].hears()), 516)
        for client in clients:
            client.say(Error(0).encode())
            client.socket.close()

    async def test_stopping_leaves_nothing(self) -> None:
        """No socket, no timer: trial would find them; the client is told."""
        client = Plain((LOOPBACK, self.port))
        client.say(ReadRequest(b"big").encode())
        await client.hears()
        await self.service.stopService()
        self.assertEqual((await client.hears())[:2], b"\0\5")
        client.socket.close()


class ClientTests(LoopbackCase):
    async def test_a_probe_is_polite(self) -> None:
        """It learns what there is to learn, and the server logs no failure."""
        with capturedLogs() as events:
            asked = await probe(
                reactor, LOOPBACK, self.port, b"big", blksize=1468, tsize=True, timeout=5
            )
            plain = await probe(reactor, LOOPBACK, self.port, b"small", timeout=5)
            await later(0.1)
        self.assertEqual((asked.size, asked.blksize), (len(self.data), 1468))
        self.assertEqual((plain.size, plain.blksize, plain.options), (7, 512, ()))
        self.assertEqual(self.server.transfers, 0)
        self.assertFalse(any(problems(events)), events)

    async def test_silence_is_unavailable(self) -> None:
        """Within the time that was given."""
        silent = Plain((LOOPBACK, 9))
        _, port = silent.socket.getsockname()
        with self.assertRaises(Unavailable):
            await fetch(reactor, LOOPBACK, port, b"f", limit_bytes=9, timeout=1.2)
        self.assertEqual([len(await silent.hears(1)) for _ in range(2)], [10, 10])
        silent.socket.close()

    async def test_a_file_past_the_bound_is_not_fetched(self) -> None:
        """Whatever the server says of its size."""
        with self.assertRaises(TooLarge):
            await fetch(reactor, LOOPBACK, self.port, b"big", limit_bytes=9999, timeout=5)
        await later(0.1)
        self.assertEqual(self.server.transfers, 0)

    async def test_a_fetch_can_be_cancelled(self) -> None:
        """Nothing is left of it."""
        silent = Plain((LOOPBACK, 9))
        _, port = silent.socket.getsockname()
        fetching = Deferred.fromCoroutine(
            fetch(reactor, LOOPBACK, port, b"f", limit_bytes=9, timeout=30)
        )
        await silent.hears()
        fetching.cancel()
        fetching.addErrback(lambda _: None)
        await fetching
        silent.socket.close()


def problems(events: Sequence[LogEvent]) -> Iterator[LogEvent]:
    return (each for each in events if each.get("problem"))
