"""Tests for ``rescriptum.boot.lease``."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.lease import (
    PENDING,
    AgentLease,
    GaveUp,
    LeaseFence,
    LeaseStatus,
    Prove,
    Stall,
)
from rescriptum.interfaces import Fence

FIRST = 7_000


def serving(epoch: int, sent: float = 100.0) -> AgentLease:
    """A lease whose epoch was proved by a heartbeat that was sent then."""
    lease = AgentLease(FIRST)
    lease.section(True, epoch, None)
    lease.acknowledged(*lease.heartbeat(sent))
    return lease


class FenceTests(SynchronousTestCase):
    def test_closed_at_the_start(self) -> None:
        self.assertFalse(AgentLease(FIRST).is_open(0.0))

    def test_a_section_opens_nothing(self) -> None:
        """It may have been under way for longer than the lease."""
        lease = AgentLease(FIRST)
        self.assertEqual(lease.section(True, 4, None), Prove(4))
        self.assertEqual((lease.epoch, lease.unproved, lease.is_open(0.0)), (4, True, False))

    def test_open_from_the_sending_of_what_was_recorded(self) -> None:
        """Fifteen seconds to the moment, counted from before the heartbeat was sent."""
        lease = serving(4, sent=100.0)
        self.assertFalse(lease.unproved)
        self.assertTrue(lease.is_open(114.999))
        self.assertFalse(lease.is_open(115.0))

    def test_an_older_proof_takes_nothing_back(self) -> None:
        lease = AgentLease(FIRST)
        lease.section(True, 4, None)
        first, second = lease.heartbeat(100.0), lease.heartbeat(105.0)
        lease.acknowledged(*second)
        lease.acknowledged(*first)
        self.assertEqual(lease.last_heard, 105.0)

    def test_the_ttl_is_the_epochs(self) -> None:
        """Saying the same epoch again changes nothing, and the next one brings its own."""
        lease = AgentLease(FIRST)
        lease.section(True, 4, 30_000)
        lease.acknowledged(*lease.heartbeat(100.0))
        self.assertIsNone(lease.section(True, 4, 5_000))
        self.assertTrue(lease.is_open(129.9))
        self.assertEqual(lease.section(True, 5, 5_000), Prove(5))
        lease.acknowledged(*lease.heartbeat(200.0))
        self.assertFalse(lease.is_open(205.0))

    def test_the_bounds_of_a_ttl(self) -> None:
        """What is outside them is refused before anything changes."""
        for inside in (3_000, 60_000):
            self.assertEqual(AgentLease(FIRST).section(True, 1, inside), Prove(1))
        for outside in (2_999, 60_001, 0, -1):
            lease = AgentLease(FIRST)
            self.assertRaises(ValueError, lease.section, True, 1, outside)
            self.assertEqual(lease, AgentLease(FIRST))


class HeartbeatTests(SynchronousTestCase):
    def test_numbers_go_on_from_the_first(self) -> None:
        """Through sessions and epochs alike; on standby a heartbeat carries epoch 0."""
        lease = AgentLease(FIRST)
        self.assertEqual(lease.heartbeat(1.0), (FIRST, 0))
        lease.section(True, 4, None)
        self.assertEqual(lease.heartbeat(2.0), (FIRST + 1, 4))
        lease.begin_session()
        self.assertEqual(lease.heartbeat(3.0), (FIRST + 2, 0))

    def test_the_bound_of_those_that_wait(self) -> None:
        """Sixteen may be acknowledged; the one before them is forgotten."""
        lease = AgentLease(FIRST)
        lease.section(True, 4, None)
        beats = [lease.heartbeat(float(at)) for at in range(PENDING + 1)]
        self.assertEqual(len(lease.pending), PENDING)
        lease.acknowledged(*beats[0])
        self.assertTrue(lease.unproved)
        lease.acknowledged(*beats[1])
        self.assertEqual(lease.last_heard, 1.0)

    def test_what_an_acknowledgement_must_name(self) -> None:
        """A number that we sent, under the epoch that it was sent for, which is still ours."""
        lease = AgentLease(FIRST)
        standby = lease.heartbeat(1.0)
        lease.section(True, 4, None)
        beat, _ = lease.heartbeat(2.0)
        for strange in ((beat + 1, 4), (beat, 3), (beat, 5), (beat, 0), standby, (standby[0], 4)):
            lease.acknowledged(*strange)
            self.assertTrue(lease.unproved, strange)
        lease.section(True, 6, None)
        lease.acknowledged(beat, 4)
        self.assertTrue(lease.unproved)

    def test_the_pace(self) -> None:
        """As welcomed; a third of a short ttl; each second until the epoch is proved."""
        lease = AgentLease(FIRST)
        self.assertEqual(lease.pace(5.0), 5.0)
        lease.section(True, 4, 3_000)
        self.assertEqual(lease.pace(5.0), 1.0)
        lease.section(True, 5, 6_000)
        lease.acknowledged(*lease.heartbeat(100.0))
        self.assertEqual(lease.pace(5.0), 2.0)
        self.assertEqual(lease.pace(0.5), 0.5)


class EpochTests(SynchronousTestCase):
    def test_an_older_section_is_ignored(self) -> None:
        lease = serving(4)
        for stale in ((True, 3), (True, 4), (True, 0)):
            self.assertIsNone(lease.section(*stale, None))
        self.assertTrue(lease.is_open(100.0))

    def test_standing_by(self) -> None:
        """The fence closes at once, for ever; the release is for the caller to send."""
        lease = serving(4)
        self.assertEqual(lease.section(False, 4, None), GaveUp(4))
        self.assertFalse(lease.is_open(100.0))
        self.assertIsNone(lease.section(True, 4, None))
        self.assertIsNone(lease.section(False, 4, None))
        self.assertEqual((lease.epoch, lease.released), (0, 4))

    def test_standing_by_for_what_it_never_heard_of(self) -> None:
        """The grant is still under way: it will find its epoch given up."""
        lease = AgentLease(FIRST)
        self.assertEqual(lease.section(False, 4, None), GaveUp(4))
        self.assertIsNone(lease.section(True, 4, None))

    def test_an_earlier_epoch_is_over(self) -> None:
        """What is said to all who do not hold the lease: the present holder is not touched."""
        lease = serving(4)
        self.assertEqual(lease.section(False, 3, None), GaveUp(3))
        self.assertTrue(lease.is_open(100.0))
        self.assertIsNone(AgentLease(FIRST).section(False, 0, None))

    def test_giving_up_by_itself(self) -> None:
        lease = serving(4)
        beat = lease.heartbeat(101.0)
        self.assertEqual(lease.give_up(lease.epoch), 4)
        lease.acknowledged(*beat)
        self.assertFalse(lease.is_open(101.0))
        self.assertEqual(lease.give_up(lease.epoch), 0)
        self.assertEqual(lease.released, 4)

    def test_a_new_session(self) -> None:
        """It names what is to be released, and nothing of the old one counts any more."""
        lease = serving(4)
        beat = lease.heartbeat(101.0)
        self.assertEqual(lease.begin_session(), 4)
        self.assertEqual(lease.pending, {})
        lease.section(True, 5, None)
        lease.acknowledged(beat[0], 5)
        self.assertTrue(lease.unproved)
        self.assertEqual(lease.begin_session(), 5)
        self.assertEqual(lease.begin_session(), 0)

    def test_the_status(self) -> None:
        lease = AgentLease(FIRST)
        self.assertEqual(lease.status(0.0), LeaseStatus(False, 0, None))
        lease = serving(4)
        self.assertEqual(lease.status(101.25), LeaseStatus(True, 4, 1250))
        self.assertEqual(lease.status(116.0), LeaseStatus(False, 4, 16_000))


class StallTests(SynchronousTestCase):
    def test_a_quiet_machine(self) -> None:
        """Late ticks, and a wall clock that is slewed, are nothing."""
        stall = Stall()
        wall = [1000.0, 1001.0, 1004.0, 1005.9, 1006.0]
        ticks = [0.0, 1.0, 4.0, 4.9, 6.0]
        self.assertEqual(
            [stall.ticked(*each) for each in zip(ticks, wall, strict=True)], [False] * 5
        )

    def test_a_machine_that_was_stopped(self) -> None:
        """Its clock went on, or it stood still and somebody has set the wall clock since."""
        for now, wall in ((3.1, 1003.1), (1.0, 1002.1), (1.0, 999.9), (0.5, 1060.5)):
            stall = Stall()
            stall.ticked(0.0, 1000.0)
            self.assertTrue(stall.ticked(now, wall), (now, wall))
            self.assertFalse(stall.ticked(now + 1, wall + 1))

    def test_proofs_from_before_are_distrusted(self) -> None:
        """An acknowledgement that waited through the stall opens nothing; the next one does."""
        lease = serving(4)
        before = lease.heartbeat(101.0)
        lease.distrust()
        self.assertTrue(lease.unproved)
        lease.acknowledged(*before)
        self.assertFalse(lease.is_open(101.0))
        lease.acknowledged(*lease.heartbeat(102.0))
        self.assertTrue(lease.is_open(102.0))


class LeaseFenceTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = 100.0
        self.lease = serving(4)
        self.fence = LeaseFence(self.lease, lambda: self.now)

    def test_it_is_what_the_boot_services_ask(self) -> None:
        fence: Fence = self.fence
        self.assertEqual((fence.is_open(), fence.epoch), (True, 4))
        self.now = 115.0
        self.assertEqual((fence.is_open(), fence.epoch), (False, 4))

    def test_an_answer_in_time(self) -> None:
        with capturedLogs() as events:
            self.fence.sent()
        self.assertEqual((self.fence.late, events), (0, []))

    def test_a_late_answer(self) -> None:
        """The process was stopped between its look and the sending: counted, and told."""
        self.assertTrue(self.fence.is_open())
        self.now = 140.0
        with capturedLogs() as events:
            self.fence.sent()
        self.assertEqual(self.fence.late, 1)
        [event] = events
        self.assertEqual((event["log_level"], event["epoch"]), (LogLevel.warn, 4))


class Happening(NamedTuple):
    """One thing that happens to an agent: ``what``, with whichever numbers it takes."""

    what: str
    seconds: float
    number: int
    epoch: int
    active: bool


HAPPENINGS = st.lists(
    st.builds(
        Happening,
        st.sampled_from(("wait", "beat", "ack", "ack", "section", "give-up", "hello", "distrust")),
        st.floats(0, 20),
        st.integers(0, 20),
        st.integers(0, 6),
        st.booleans(),
    ),
    max_size=60,
)


class PropertyTests(SynchronousTestCase):
    @settings(max_examples=400, deadline=None)
    @given(HAPPENINGS)
    def test_whatever_happens(self, happenings: list[Happening]) -> None:
        """
        The fence runs from the sending of a heartbeat that was acknowledged under its own epoch
        (I3), ``released`` never falls and ``epoch`` is 0 or above it (I4), and the fence is closed
        one ttl after the last acknowledgement at the latest.
        """
        lease, now, heard = AgentLease(FIRST), 0.0, float("-inf")
        sent: dict[int, tuple[int, float]] = {}
        proved: dict[int, float] = {}
        for each in happenings:
            released = lease.released
            number = FIRST + each.number
            match each.what:
                case "wait":
                    now += each.seconds
                case "beat":
                    number, epoch = lease.heartbeat(now)
                    self.assertNotIn(number, sent)
                    sent[number] = (epoch, now)
                case "ack":
                    heard = now
                    lease.acknowledged(number, each.epoch)
                    if number in sent and sent[number][0] == each.epoch:
                        at = proved.get(each.epoch, float("-inf"))
                        proved[each.epoch] = max(at, sent[number][1])
                case "section":
                    lease.section(each.active, each.epoch, None)
                case "give-up":
                    lease.give_up(lease.epoch)
                case "hello":
                    lease.begin_session()
                case _:
                    lease.distrust()
            self.assertGreaterEqual(lease.released, released)
            self.assertTrue(lease.epoch == 0 or lease.epoch > lease.released)
            self.assertLessEqual(len(lease.pending), PENDING)
            if lease.last_heard is not None:
                self.assertLessEqual(lease.last_heard, proved[lease.epoch])
            self.assertFalse(lease.is_open(heard + lease.ttl))
            self.assertFalse(lease.is_open(now) and lease.epoch == 0)
