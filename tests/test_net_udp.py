"""Tests for ``rescriptum.net.udp``: real sockets, and a reactor that a test turns by hand."""

import errno
import select
import socket
import time
from unittest import skipUnless

from twisted.internet.interfaces import IReadDescriptor
from twisted.internet.testing import MemoryReactor
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from rescriptum.errors import Unavailable
from rescriptum.net.udp import BATCH, LINUX, UDP, Arrival, UDPChannel, UDPListener, Way
from rescriptum.values import Listen

from .descriptors import without_descriptors

LOOPBACK = "127.0.0.1"


class UDPCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.reactor = MemoryReactor()
        self.udp = UDP(self.reactor, time.monotonic)
        self.arrived: list[Arrival] = []

    def client(self, host: str = LOOPBACK) -> socket.socket:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.bind((host, 0))
        sock.settimeout(5)
        self.addCleanup(sock.close)
        return sock

    def listen(self, host: str = LOOPBACK) -> UDPListener:
        listener = self.udp.listen(Listen(host, 0), self.arrived.append)
        self.addCleanup(listener.close)
        return listener

    def arrival(self, sock: socket.socket, local: str = LOOPBACK) -> Arrival:
        return Arrival(b"", sock.getsockname(), local)

    def connect(self, sock: socket.socket, ports: tuple[int, int] | None = None) -> UDPChannel:
        channel = self.udp.connect(self.arrival(sock), ports)
        self.addCleanup(channel.close)
        return channel


class ListenerTests(UDPCase):
    def test_is_a_reader_while_it_is_open(self) -> None:
        """Closing twice does not matter."""
        listener = self.listen()
        verifyObject(IReadDescriptor, listener)
        self.assertEqual(self.reactor.getReaders(), [listener])
        listener.close()
        listener.close()
        self.assertEqual(self.reactor.getReaders(), [])

    def test_knows_which_address_was_asked(self) -> None:
        """Also where it is bound to all of them."""
        listener = self.listen("0.0.0.0")
        for host in (LOOPBACK, "127.0.0.2"):
            client = self.client()
            client.sendto(b"hello", (host, listener.port))
            listener.doRead()
            arrival = self.arrived.pop()
            self.assertEqual(arrival.datagram, b"hello")
            self.assertEqual(arrival.peer, client.getsockname())
            self.assertEqual((arrival.local, arrival.unicast), (host, True))
            self.assertTrue(arrival.interface)
            self.assertEqual(arrival.version, 4)

    @skipUnless(socket.has_ipv6, "no IPv6 here")
    def test_knows_it_of_ipv6_too(self) -> None:
        """And leaves IPv4 to another socket."""
        listener = self.listen("::")
        try:
            client = self.client("::1")
        except OSError as e:
            self.skipTest(f"no IPv6 here: {e}")
        client.sendto(b"hello", ("::1", listener.port))
        self.client().sendto(b"hello", (LOOPBACK, listener.port))
        listener.doRead()
        [arrival] = self.arrived
        self.assertEqual((arrival.local, arrival.version), ("::1", 6))

    def test_takes_a_bounded_number_a_turn(self) -> None:
        """The rest of the reactor waits for no storm."""
        listener, client = self.listen(), self.client()
        for _ in range(BATCH + 5):
            client.sendto(b"x", (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(len(self.arrived), BATCH)
        listener.doRead()
        self.assertEqual(len(self.arrived), BATCH + 5)

    def test_long_datagrams_are_cut(self) -> None:
        """Nobody sends a request of more than a kilobyte."""
        listener, client = self.listen(), self.client()
        client.sendto(b"x" * 5000, (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(len(self.arrived[0].datagram), 1024)

    def test_a_storm_is_taken_before_it_is_dealt_with(self) -> None:
        """One that comes alone is dealt with first; whoever answers is told when that was all."""
        log: list[str] = []

        def received(arrival: Arrival) -> None:
            log.append(arrival.datagram.decode())
            if arrival.datagram in (b"0", b"1"):  # while these are dealt with
                client.sendto(b"late", (LOOPBACK, listener.port))

        way = Way(drained=lambda: log.append("-"))
        listener = self.udp.listen(Listen(LOOPBACK, 0), received, way)
        self.addCleanup(listener.close)
        client = self.client()
        listener.doRead()
        for number in range(3):
            client.sendto(b"%d" % number, (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(log, ["0", "-", "1", "2", "late", "-"])
        log.clear()
        client.sendto(b"3", (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(log, ["late", "3", "-"])

    @skipUnless(hasattr(select, "epoll"), "a private epoll is Linux's")
    def test_a_nested_one_is_read_by_the_private_epoll(self) -> None:
        """And out of it when it is closed."""
        way = Way(nested=True)
        listener = self.udp.listen(Listen(LOOPBACK, 0), self.arrived.append, way)
        [nest] = self.reactor.getReaders()
        self.assertIsNot(nest, listener)
        self.client().sendto(b"hello", (LOOPBACK, listener.port))
        nest.doRead()
        self.assertEqual([each.datagram for each in self.arrived], [b"hello"])
        listener.close()
        self.assertEqual(self.reactor.getReaders(), [])

    def test_a_failure_while_answering_is_logged(self) -> None:
        def drained() -> None:
            raise ZeroDivisionError

        listener = self.udp.listen(Listen(LOOPBACK, 0), self.arrived.append, Way(drained=drained))
        self.addCleanup(listener.close)
        self.client().sendto(b"x", (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_answers_from_the_address_that_it_is_told(self) -> None:
        listener, client = self.listen("0.0.0.0"), self.client()
        for local in ("127.0.0.2", "127.0.0.3"):
            listener.send(b"hello", client.getsockname(), local)
            self.assertEqual(client.recvfrom(99), (b"hello", (local, listener.port)))
        listener.send(b"hello", client.getsockname())
        self.assertEqual(client.recvfrom(99)[1], (LOOPBACK, listener.port))

    @skipUnless(LINUX, "the filter is Linux's")
    def test_hears_all_but_one(self) -> None:
        """The kernel keeps that one's datagrams away."""
        listener = self.udp.listen(
            Listen("0.0.0.0", 0), self.arrived.append, Way(deaf_to="127.0.0.2")
        )
        self.addCleanup(listener.close)
        for host in ("127.0.0.2", "127.0.0.3"):
            self.client(host).sendto(host.encode(), (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual([each.datagram for each in self.arrived], [b"127.0.0.3"])

    @skipUnless(LINUX, "devices are Linux's")
    def test_may_be_bound_to_a_device(self) -> None:
        """And share a port with others that do."""
        way = Way("lo", everybody=True, shared=True)
        first, second = (
            self.udp.listen(Listen(LOOPBACK, port), self.arrived.append, way) for port in (0, 0)
        )
        for each in (first, second):
            self.addCleanup(each.close)
        third = self.udp.listen(Listen(LOOPBACK, first.port), self.arrived.append, way)
        self.addCleanup(third.close)
        with self.assertRaises(OSError):
            self.udp.listen(Listen(LOOPBACK, 0), self.arrived.append, Way("nosuchdevice"))
        with self.assertRaises(OSError):
            self.udp.listen(Listen(LOOPBACK, first.port), self.arrived.append)

    def test_a_failure_of_ours_costs_one_datagram(self) -> None:
        """It is logged; the next one is taken."""
        taken = []

        def received(arrival: Arrival) -> None:
            taken.append(arrival.datagram)
            raise ZeroDivisionError

        listener = self.udp.listen(Listen(LOOPBACK, 0), received)
        self.addCleanup(listener.close)
        client = self.client()
        for each in (b"1", b"2"):
            client.sendto(each, (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(taken, [b"1", b"2"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 2)

    def test_may_be_closed_by_who_takes_a_datagram(self) -> None:
        """Then nothing more is taken."""
        listener = self.udp.listen(Listen(LOOPBACK, 0), lambda _: listener.close())
        client = self.client()
        for _ in range(3):
            client.sendto(b"x", (LOOPBACK, listener.port))
        listener.doRead()
        self.assertEqual(self.reactor.getReaders(), [])

    def test_a_taken_port_is_an_error(self) -> None:
        """Of the operating system, and nothing is left open."""
        taken = self.listen()
        with self.assertRaises(OSError) as caught:
            self.udp.listen(Listen(LOOPBACK, taken.port), self.arrived.append)
        self.assertEqual(caught.exception.errno, errno.EADDRINUSE)
        self.assertEqual(self.reactor.getReaders(), [taken])


class ChannelTests(UDPCase):
    def test_is_bound_to_the_address_that_was_asked(self) -> None:
        """And hears its peer alone."""
        client, stranger = self.client(), self.client()
        channel = self.udp.connect(self.arrival(client, "127.0.0.3"), None)
        self.addCleanup(channel.close)
        channel.send(b"hello")
        _, address = client.recvfrom(99)
        self.assertEqual(address[0], "127.0.0.3")
        stranger.sendto(b"no", address)
        client.sendto(b"yes", address)
        self.assertEqual(channel.recv(99), b"yes")
        self.assertRaises(BlockingIOError, channel.recv, 99)

    def test_tells_what_the_way_carries(self) -> None:
        """Linux knows that loopback carries much; elsewhere Ethernet is taken for granted."""
        mtu = self.connect(self.client()).mtu
        self.assertTrue(mtu > 9000 if LINUX else mtu == 1500, mtu)

    def test_tells_when_the_peer_is_gone(self) -> None:
        """The kernel reports what comes back."""
        client = self.client()
        channel = self.connect(client)
        client.close()
        channel.send(b"x")
        self.assertRaises(ConnectionRefusedError, channel.recv, 99)

    def test_calls_back_until_it_is_closed(self) -> None:
        """Closing twice does not matter."""
        client = self.client()
        channel = self.connect(client)
        heard: list[bytes] = []
        channel.watch(lambda: heard.append(channel.recv(99)), lambda: None)
        channel.send(b"x")
        _, address = client.recvfrom(9)
        client.sendto(b"1", address)
        [reader] = self.reactor.getReaders()
        select.select([reader], [], [], 5)
        reader.doRead()
        self.assertEqual(heard, [b"1"])
        client.sendto(b"2", address)
        self.udp.flush()
        self.assertEqual(heard, [b"1", b"2"])
        channel.close()
        channel.close()
        self.assertEqual(self.reactor.getReaders(), [])

    def test_ports_are_used_in_turn_within_their_range(self) -> None:
        """Late datagrams of the last transfer find nobody; when all are taken, that is said."""
        client = self.client()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind((LOOPBACK, 0))
            first = free.getsockname()[1]
        ports = (first, min(first + 2, 65535))
        seen = []
        for _ in range(4):
            try:
                channel = self.connect(client, ports)
            except Unavailable:
                break
            channel.send(b"x")
            _, address = client.recvfrom(9)
            seen.append(address[1])
        self.assertEqual(len(set(seen)), len(seen))
        self.assertTrue(1 <= len(seen) <= 3, seen)
        self.assertTrue(all(ports[0] <= each <= ports[1] for each in seen), seen)

    def test_no_descriptor_left_is_unavailable(self) -> None:
        """A host that is out of them is silent; it writes no traceback for each datagram."""
        client = self.client()
        without_descriptors(self)
        with self.assertRaises(Unavailable):
            self.udp.connect(self.arrival(client), None)

    def test_an_address_that_is_not_ours_is_unavailable(self) -> None:
        """It went away between the request and the answer."""
        arrival = self.arrival(self.client(), "192.0.2.1")
        self.assertRaises(Unavailable, self.udp.connect, arrival, None)
