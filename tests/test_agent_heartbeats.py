"""Tests for ``rescriptum.agent.heartbeats``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.heartbeats import Heartbeats
from rescriptum.boot.lease import AgentLease
from rescriptum.contract.frames import Heartbeat


class HeartbeatsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.lease = AgentLease(100)
        self.sent: list[tuple[float, Heartbeat]] = []
        self.beats = Heartbeats(
            self.lease,
            self.clock.seconds,
            self.clock.callLater,
            lambda beat: self.sent.append((self.clock.seconds(), beat)),
        )

    def test_standby(self) -> None:
        """One at once, then one each few seconds, of ever new numbers, of no epoch."""
        self.beats.begin(5)
        self.clock.pump([1] * 10)
        self.assertEqual(
            self.sent, [(0, Heartbeat(100)), (5, Heartbeat(101)), (10, Heartbeat(102))]
        )

    def test_a_new_epoch(self) -> None:
        """One at once, and each second until it is proved; then by a third of its ttl."""
        self.beats.begin(5)
        self.clock.advance(2)
        self.lease.section(True, 7, 6000)
        self.beats.hurry()
        self.clock.pump([1, 1])
        self.assertEqual([at for at, _ in self.sent], [0, 2, 3, 4])
        self.assertEqual(self.sent[-1][1], Heartbeat(103, 7))
        self.lease.acknowledged(102, 7)
        self.clock.pump([1] * 5)
        self.assertEqual([at for at, _ in self.sent[4:]], [5, 7, 9])

    def test_the_time_is_taken_before_it_is_sent(self) -> None:
        """What is proved is a moment before anything of the heartbeat leaves."""
        slow = Heartbeats(
            self.lease, self.clock.seconds, self.clock.callLater, lambda _: self.clock.advance(0.5)
        )
        self.lease.section(True, 1, None)
        slow.begin(60)
        self.lease.acknowledged(100, 1)
        self.assertEqual(self.lease.last_heard, 0)
        slow.stop()

    def test_stopped(self) -> None:
        """No timer is left; it may begin again, with numbers that go on."""
        self.beats.begin(5)
        self.beats.stop()
        self.beats.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.beats.begin(5)
        self.beats.begin(5)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.assertEqual([beat.beat for _, beat in self.sent], [100, 101, 102])
