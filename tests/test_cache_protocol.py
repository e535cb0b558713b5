"""Tests for ``rescriptum.cache.protocol``."""

from collections.abc import Sequence

from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss

from rescriptum.cache.protocol import BATCH, LEAST, MOST, PACE, SILENCE, Body
from rescriptum.cache.store import DiskFull
from rescriptum.errors import Unavailable
from rescriptum.testing import MemoryWorkers

DONE = Failure(ResponseDone())
BROKEN = Failure(ResponseFailed([Failure(ConnectionLost())]))
CHUNK = b"x" * 65536


class BodyTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.workers = Clock(), MemoryWorkers()
        self.written: list[bytes] = []
        self.full = False
        self.aborted = 0
        self.transport = StringTransport()
        self.body = Body(self.write, self.workers, self.clock, self.abort)
        self.body.makeConnection(self.transport)

    def write(self, chunks: Sequence[bytes]) -> None:
        if self.full:
            raise DiskFull("the disk is full")
        self.written.append(b"".join(chunks))

    def abort(self) -> None:
        """As a connection does it: what is torn down is told so at once."""
        self.aborted += 1
        self.body.connectionLost(BROKEN)

    def come(self, size: int) -> None:
        for _ in range(size // len(CHUNK)):
            self.body.dataReceived(CHUNK)

    def trouble(self) -> str:
        return str(self.failureResultOf(self.body.ended, Unavailable).value)

    def test_a_whole_body(self) -> None:
        """By pieces that are worth a worker's while; the rest when it is over."""
        self.come(BATCH - len(CHUNK))
        self.assertEqual(self.written, [])
        self.come(2 * len(CHUNK))
        self.assertEqual([len(each) for each in self.written], [BATCH])
        self.body.connectionLost(DONE)
        self.assertEqual([len(each) for each in self.written], [BATCH, len(CHUNK)])
        self.assertIsNone(self.successResultOf(self.body.ended))
        self.assertEqual((self.clock.getDelayedCalls(), self.aborted), ([], 0))

    def test_nothing_at_all(self) -> None:
        self.body.connectionLost(DONE)
        self.assertIsNone(self.successResultOf(self.body.ended))

    def test_without_a_length(self) -> None:
        """Whether that was all, the digest says."""
        self.come(BATCH)
        self.body.connectionLost(Failure(PotentialDataLoss()))
        self.assertIsNone(self.successResultOf(self.body.ended))

    def test_what_has_come_stays(self) -> None:
        """Where it breaks off too; and nobody is told before it is written."""
        self.workers.held = True
        self.come(BATCH + len(CHUNK))
        self.body.connectionLost(BROKEN)
        self.assertNoResult(self.body.ended)
        self.workers.proceed()
        self.assertEqual([len(each) for each in self.written], [BATCH, len(CHUNK)])
        self.assertIn("broke off", self.trouble())

    def test_in_order(self) -> None:
        """However much comes while a worker is at it."""
        self.workers.held = True
        self.come(BATCH)
        self.body.dataReceived(b"a" * BATCH)
        self.body.dataReceived(b"b" * BATCH)
        self.workers.proceed()
        self.assertEqual(b"".join(self.written), b"x" * BATCH + b"a" * BATCH + b"b" * BATCH)

    def test_a_disk_that_is_slower(self) -> None:
        """It holds the server back, and a bounded number of bytes waits for it."""
        self.workers.held = True
        self.come(MOST)
        self.assertEqual(self.transport.producerState, "paused")
        self.workers.proceed()
        self.assertEqual(self.transport.producerState, "producing")
        self.assertGreater(MOST, LEAST + BATCH)

    def test_a_server_that_falls_silent(self) -> None:
        self.come(PACE * 4)
        self.clock.advance(SILENCE)
        self.assertEqual(self.aborted, 0)
        self.body.dataReceived(b"x" * (PACE - 1))
        self.clock.advance(SILENCE)
        self.assertEqual(self.aborted, 1)
        self.assertIn("16 KiB in 30 seconds", self.trouble())
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(len(b"".join(self.written)), PACE * 4 + PACE - 1)

    def test_a_server_that_is_held_back(self) -> None:
        """It is we who are silent; and it has its time again afterwards."""
        self.workers.held = True
        self.come(MOST)
        for _ in range(5):
            self.clock.advance(SILENCE)
        self.workers.proceed()
        self.clock.advance(SILENCE)
        self.assertEqual(self.aborted, 0)
        self.clock.advance(SILENCE)
        self.assertEqual(self.aborted, 1)
        self.trouble()

    def test_a_full_disk(self) -> None:
        """Ends it, as what it is."""
        self.full = True
        self.come(3 * BATCH)
        self.assertEqual(self.aborted, 1)
        self.failureResultOf(self.body.ended, DiskFull)

    def test_a_full_disk_while_more_waits(self) -> None:
        """It is over when the writer has nothing of it any more, by what came first."""
        self.workers.held = True
        self.come(3 * BATCH)
        self.full = True
        self.workers.proceed()
        self.assertEqual((self.aborted, self.written), (1, []))
        self.failureResultOf(self.body.ended, DiskFull)

    def test_a_full_disk_at_the_end(self) -> None:
        self.full = True
        self.come(len(CHUNK))
        self.body.connectionLost(DONE)
        self.failureResultOf(self.body.ended, DiskFull)
        self.assertEqual(self.aborted, 0)

    def test_given_up(self) -> None:
        self.come(len(CHUNK))
        self.body.stop()
        self.assertEqual(self.aborted, 1)
        self.assertIn("given up", self.trouble())
        self.body.stop()
        self.assertEqual(self.aborted, 1)
