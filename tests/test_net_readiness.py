"""Tests for ``rescriptum.net.readiness``."""

import select
import socket
from collections.abc import Callable
from unittest import skipUnless

from twisted.internet.interfaces import IReadDescriptor
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactor
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from rescriptum.net.readiness import NEAR, SPINS, WAKEUPS, Nest, Readers, Readiness, readiness


class Pair:
    """Two ends: what one says makes the other readable."""

    def __init__(self) -> None:
        self.mine, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.mine.setblocking(False)
        self.heard: list[bytes] = []
        self.broken = 0
        self.then: Callable[[], None] = lambda: None

    def ready(self) -> None:
        self.heard.append(self.mine.recv(99))
        self.then()

    def failed(self) -> None:
        self.broken += 1

    def close(self) -> None:
        self.mine.close()
        self.theirs.close()


class ReadersTests(SynchronousTestCase):
    """Without epoll; all of this holds with it, too."""

    nested = False

    def setUp(self) -> None:
        self.reactor = MemoryReactor()
        self.clock = Clock()
        self.pairs = [Pair(), Pair()]
        self.subject = self.make()
        for each in self.pairs:
            self.addCleanup(each.close)
            self.subject.watch(each.mine.fileno(), each.ready, each.failed)

    def make(self) -> Readiness:
        return readiness(self.reactor, self.clock.seconds, nested=self.nested)

    def turn(self) -> None:
        """One turn of the reactor."""
        for reader in self.reactor.getReaders():
            # As a reactor does: not for one that was removed meanwhile.
            if reader in self.reactor.getReaders() and select.select([reader], [], [], 0)[0]:
                reader.doRead()

    def test_is_what_was_asked_for(self) -> None:
        """A private epoll only where it is wanted."""
        self.assertIsInstance(self.subject, Nest if self.nested else Readers)

    def test_calls_who_can_read(self) -> None:
        """Each datagram, and nobody else."""
        first, second = self.pairs
        first.theirs.send(b"1")
        first.theirs.send(b"2")
        self.turn()
        self.turn()
        self.assertEqual((first.heard, second.heard), ([b"1", b"2"], []))

    def test_a_failure_stays_with_its_socket(self) -> None:
        """It is logged, its owner is told, the other one is served."""
        first, second = self.pairs

        def fail() -> None:
            raise ZeroDivisionError

        first.then = fail
        for each in self.pairs:
            each.theirs.send(b"1")
        self.turn()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual((first.broken, second.broken), (1, 0))
        self.assertEqual(second.heard, [b"1"])

    def test_nobody_is_called_after_unwatch(self) -> None:
        """Not even within the turn in which both could read; twice does not matter."""
        first, second = self.pairs

        def leave() -> None:
            for each in self.pairs:
                self.subject.unwatch(each.mine.fileno())

        first.then = second.then = leave
        for each in self.pairs:
            each.theirs.send(b"1")
        self.turn()
        self.turn()
        leave()
        self.assertEqual(len(first.heard) + len(second.heard), 1)

    def test_the_reactor_is_left_alone_without_sockets(self) -> None:
        """The last one takes the reader with it, and a new one brings it back."""
        first, _ = self.pairs
        for each in self.pairs:
            self.subject.unwatch(each.mine.fileno())
        self.assertEqual(self.reactor.getReaders(), [])
        self.subject.watch(first.mine.fileno(), first.ready, first.failed)
        first.theirs.send(b"1")
        self.turn()
        self.assertEqual(first.heard, [b"1"])

    def test_flush_does_what_can_be_done(self) -> None:
        """Without waiting for the reactor; with nothing to do, nothing."""
        self.subject.flush()
        for each in self.pairs:
            each.theirs.send(b"1")
        self.subject.flush()
        self.assertEqual([each.heard for each in self.pairs], [[b"1"]] * 2)
        for each in self.pairs:
            self.subject.unwatch(each.mine.fileno())
        self.subject.flush()

    def test_its_readers_are_readers(self) -> None:
        """As the reactor wants them."""
        for reader in self.reactor.getReaders():
            verifyObject(IReadDescriptor, reader)


@skipUnless(hasattr(select, "epoll"), "no epoll here")
class NestTests(ReadersTests):
    nested = True

    def test_is_one_reader_for_all(self) -> None:
        """Whatever their number."""
        self.assertEqual(self.reactor.getReaders(), [self.subject])

    def test_gives_the_reactor_its_turn(self) -> None:
        """A client that always has something to say does not stop the rest."""
        first, _ = self.pairs

        def more() -> None:
            self.clock.advance(0.0005)
            first.theirs.send(b"more")

        first.then = more
        first.theirs.send(b"1")
        self.turn()
        self.assertTrue(2 <= len(first.heard) <= 10, len(first.heard))


class CountingEpoll:
    """``select.epoll`` that counts."""

    polls = 0

    def __init__(self) -> None:
        self._real = _epoll()
        self.register, self.unregister = self._real.register, self._real.unregister
        self.fileno, self.close = self._real.fileno, self._real.close

    def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
        CountingEpoll.polls += 1
        return self._real.poll(timeout, most)


_epoll = select.epoll


class SpinTests(SynchronousTestCase):
    """How often it looks again before the reactor sleeps."""

    def setUp(self) -> None:
        self.patch(select, "epoll", CountingEpoll)
        self.clock = Clock()
        self.pair = Pair()
        self.addCleanup(self.pair.close)
        self.nest = Nest(MemoryReactor(), self.clock.seconds)
        self.nest.watch(self.pair.mine.fileno(), self.pair.ready, self.pair.failed)
        self.addCleanup(self.nest.unwatch, self.pair.mine.fileno())

    def polls(self, after: float) -> int:
        """How often it polled for one datagram that came so much later than the last."""
        self.clock.advance(after)
        self.pair.theirs.send(b"1")
        CountingEpoll.polls = 0
        self.nest.doRead()
        return CountingEpoll.polls

    def test_looks_again_while_answers_are_near(self) -> None:
        """That is what makes lockstep fast between neighbours."""
        for _ in range(3 * WAKEUPS):
            self.assertEqual(self.polls(NEAR / 2), 1 + SPINS + 1)

    def test_stops_where_they_are_far(self) -> None:
        """On a network it gains nothing; it begins again when one came soon."""
        for _ in range(WAKEUPS):
            self.polls(NEAR * 5)
        self.assertEqual(self.polls(NEAR * 5), 2)
        for _ in range(WAKEUPS):
            self.polls(NEAR / 2)
        self.assertEqual(self.polls(NEAR * 5), 1 + SPINS + 1)
