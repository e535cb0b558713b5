"""Tests for ``rescriptum.tftp.transfer``."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.options import Caps, Negotiated, negotiate
from rescriptum.tftp.transfer import LIFETIME, NOTHING, WAITS, Ending, Outcome, Step, Transfer
from rescriptum.tftp.wire import Acknowledgement, Data, Error, ReadRequest

TSIZE = (b"tsize", b"0")


def transfer(size: int, *options: tuple[bytes, bytes], now: float = 0.0) -> Transfer:
    """A transfer that answers a request with these options."""
    return Transfer(size, negotiate(options, size, Caps(), 1500, 4), now)


def window(size: int) -> tuple[bytes, bytes]:
    return b"windowsize", b"%d" % size


def ack(number: int) -> Acknowledgement:
    return Acknowledgement(number)


def until_silent(
    subject: Transfer, now: float = 0.0, tick: float = 0.25
) -> list[tuple[float, Step]]:
    """What the clock alone makes of it, until it is over."""
    steps = []
    for _ in range(10000):
        now += tick
        step = subject.ticked(now)
        if step != NOTHING:
            steps.append((now, step))
        if step.outcome is not None:
            return steps
    raise AssertionError("never over")


class LockstepTests(SynchronousTestCase):
    def test_without_options_the_first_block_is_the_answer(self) -> None:
        """Block by block, each asked for by the acknowledgement of the one before."""
        subject = transfer(1025)
        self.assertEqual(subject.begin(0), Step(first=1, count=1))
        self.assertEqual(subject.received(ack(1), 0), Step(first=2, count=1))
        self.assertEqual(subject.received(ack(2), 0), Step(first=3, count=1))
        self.assertEqual(subject.received(ack(3), 0), Step(outcome=Outcome(Ending.SENT)))
        self.assertEqual((subject.blocks, subject.bytes_acked), (3, 1025))

    def test_a_multiple_of_the_block_size_ends_with_an_empty_block(self) -> None:
        """So does an empty file: it is one empty block (W122)."""
        self.assertEqual(transfer(1024).blocks, 3)
        self.assertEqual(transfer(0).blocks, 1)

    def test_with_options_they_are_acknowledged_first(self) -> None:
        """Data comes when the client has confirmed them as block 0."""
        subject = transfer(10, TSIZE)
        self.assertEqual(subject.begin(0), Step(offer=True))
        self.assertEqual(subject.offer, b"\0\6tsize\x0010\0")
        self.assertEqual(subject.received(ack(1), 0), NOTHING)
        self.assertEqual(subject.received(ack(0), 0), Step(first=1, count=1))

    def test_a_duplicate_acknowledgement_sends_nothing(self) -> None:
        """A client that says everything twice gets each block once (field case B25)."""
        subject = transfer(512 * 9)
        sent = subject.begin(0).count
        for number in range(1, 11):
            for _ in range(2):
                sent += subject.received(ack(number), number / 1000).count
        self.assertEqual(sent, subject.blocks)

    def test_a_repeated_acknowledgement_after_silence_sends_the_block_again_once(self) -> None:
        """
        Some clients have no other way to recover; and they do not get more for asking often
        (field case B26, W119).
        """
        subject = transfer(512 * 9)
        subject.begin(0)
        for number in range(1, 5):
            subject.received(ack(number), 0)
        self.assertEqual(subject.received(ack(4), 0.2), NOTHING)
        self.assertEqual(subject.received(ack(4), 0.3), Step(first=5, count=1, again=True))
        self.assertEqual(subject.received(ack(4), 0.9), NOTHING)
        self.assertEqual(subject.received(ack(5), 1.0), Step(first=6, count=1))

    def test_acknowledgements_of_the_future_and_the_past_are_nothing(self) -> None:
        """A forged one cannot complete it (W126), an old one cannot take it back."""
        subject = transfer(512 * 9)
        subject.begin(0)
        subject.received(ack(1), 0)
        subject.received(ack(2), 0)
        for number in (1, 0, 4, 10, 65535):
            self.assertEqual(subject.received(ack(number), 5), NOTHING)

    def test_block_numbers_roll_over_to_0(self) -> None:
        """Block 65536 is number 0, and the next is 1 (W121)."""
        subject = transfer(512 * 70000)
        subject.begin(0)
        for number in range(1, 65536):
            subject.received(ack(number), 0)
        self.assertEqual(subject.received(ack(0), 0), Step(first=65537, count=1))
        self.assertEqual(subject.received(ack(1), 0), Step(first=65538, count=1))

    def test_what_is_no_acknowledgement_is_ignored(self) -> None:
        """A client has no business sending these."""
        subject = transfer(512 * 9)
        subject.begin(0)
        for message in (Data(1, b"x"), ReadRequest(b"x")):
            self.assertEqual(subject.received(message, 0), NOTHING)


class WindowTests(SynchronousTestCase):
    def started(self, size: int, blocks: int) -> Transfer:
        subject = transfer(size, window(blocks))
        subject.begin(0)
        self.assertEqual(
            subject.received(ack(0), 0), Step(first=1, count=min(blocks, subject.blocks))
        )
        return subject

    def test_a_window_leaves_at_once(self) -> None:
        """Then nothing, until its last block is confirmed (RFC 7440 section 4)."""
        subject = self.started(512 * 9 + 1, 4)
        self.assertEqual(subject.received(ack(4), 0), Step(first=5, count=4))
        self.assertEqual(subject.received(ack(8), 0), Step(first=9, count=2))
        self.assertEqual(subject.received(ack(10), 0), Step(outcome=Outcome(Ending.SENT)))

    def test_an_acknowledgement_inside_the_window_restarts_behind_it(self) -> None:
        """The client reports a gap there: what follows is sent again, at once (W110)."""
        subject = self.started(512 * 99, 4)
        self.assertEqual(subject.received(ack(2), 0), Step(first=3, count=4, again=True))
        self.assertEqual(subject.retransmits, 2)
        self.assertEqual(subject.received(ack(6), 0), Step(first=7, count=4))

    def test_a_gap_at_its_start_sends_the_window_again_once(self) -> None:
        """The client can only repeat the acknowledgement before it; a second one adds nothing."""
        subject = self.started(512 * 99, 4)
        self.assertEqual(subject.received(ack(0), 0), Step(first=1, count=4, again=True))
        self.assertEqual(subject.received(ack(0), 0), NOTHING)

    def test_a_client_that_says_everything_twice_gets_no_more_than_twice(self) -> None:
        """The repetition bound holds for windows too: no apprentice's flood."""
        subject = self.started(512 * 99, 4)
        sent = 4
        for number in range(4, 101, 4):
            for _ in range(3):
                sent += subject.received(ack(number), 0).count
        self.assertTrue(sent <= 2 * subject.blocks, sent)

    def test_a_window_lost_twice_shrinks_to_1(self) -> None:
        """
        What drops whole windows may let one block through (W111); the window comes back when it
        was acknowledged, and in between, since a client need not acknowledge less than a window.
        """
        subject = self.started(512 * 99, 16)
        self.assertEqual(subject.ticked(1.0), Step(first=1, count=16, again=True))
        self.assertEqual(subject.ticked(3.0), Step(first=1, count=1, again=True))
        self.assertEqual(subject.ticked(7.0), Step(first=1, count=16, again=True))
        self.assertEqual(subject.ticked(15.0), Step(first=1, count=1, again=True))
        self.assertEqual(subject.received(ack(1), 15.1).count, 16)

    @given(st.integers(1, 64), st.integers(0, 300), st.integers(0, 1 << 30))
    @settings(max_examples=40, deadline=None)
    def test_everything_arrives_over_a_lossy_way(self, size: int, blocks: int, seed: int) -> None:
        """
        A client that follows RFC 7440 gets all blocks in order, whatever is lost either way, and
        the clock alone is enough to keep it going.
        """
        random = Random(seed)
        subject = transfer(blocks * 512, window(size))
        now, have, since = 0.0, 0, 0
        step = subject.begin(now)
        for _ in range(200000):
            if step.outcome is not None:
                break
            arriving = list(range(step.first, step.first + step.count))
            says: list[int] = [0] if step.offer else []
            gap = False
            for block in arriving:
                if random.random() < 0.1:
                    continue
                if block == have + 1:
                    have, since, gap = block, since + 1, False
                    if since >= subject.terms.windowsize or have == subject.blocks:
                        since = 0
                        says.append(have)
                elif not gap:  # out of order, or one that it has: it says where it is
                    gap, since = True, 0
                    says.append(have)
            step = NOTHING
            for number in says:
                if random.random() >= 0.1:
                    step = subject.received(ack(number & 0xFFFF), now)
            while step == NOTHING:
                now += 0.25
                step = subject.ticked(now)
        assert step.outcome is not None
        self.assertIn(step.outcome.ending, (Ending.SENT, Ending.UNCONFIRMED))
        self.assertEqual(have, subject.blocks)


class SilenceTests(SynchronousTestCase):
    def test_sends_again_with_growing_patience(self) -> None:
        """After 1, 3, 7, 15 and 23 seconds; given up after 31 (W129)."""
        subject = transfer(512 * 9)
        subject.begin(0)
        steps = until_silent(subject)
        self.assertEqual([at for at, _ in steps], [1, 3, 7, 15, 23, 31])
        self.assertEqual({step for _, step in steps[:-1]}, {Step(first=1, count=1, again=True)})
        self.assertEqual(sum(WAITS), 31)

    def test_progress_makes_it_patient_again(self) -> None:
        """Each acknowledgement begins the waiting anew."""
        subject = transfer(512 * 9)
        subject.begin(0)
        self.assertEqual(subject.ticked(1.0).count, 1)
        subject.received(ack(1), 2.0)
        self.assertEqual(subject.ticked(2.9), NOTHING)
        self.assertEqual(subject.ticked(3.0), Step(first=2, count=1, again=True))

    def test_the_client_may_choose_the_interval(self) -> None:
        """Its ``timeout`` is kept, for at least 25 seconds of silence (W109)."""
        subject = transfer(512 * 9, (b"timeout", b"2"))
        subject.begin(0)
        times = [at for at, _ in until_silent(subject)]
        self.assertEqual(times, [2.0 * n for n in range(1, 14)])

    def test_no_interval_holds_a_place_for_long(self) -> None:
        """A stranger who asks for 255 seconds gets a minute of silence."""
        for seconds in (b"255", b"40", b"20", b"1"):
            subject = transfer(512 * 9, (b"timeout", seconds))
            subject.begin(0)
            last, _ = until_silent(subject)[-1]
            self.assertTrue(25 <= last <= 60, (seconds, last))

    def test_no_transfer_is_endless(self) -> None:
        """A client that acknowledges a block now and then does not hold a place for ever."""
        subject = transfer(512 * 60000)
        subject.begin(0)
        now, number = 0.0, 0
        step = NOTHING
        while step.outcome is None:
            now, number = now + 0.9, number + 1
            subject.received(ack(number & 0xFFFF), now)
            step = subject.ticked(now)
        self.assertEqual(step.outcome.ending, Ending.FAILED)
        self.assertTrue(now < LIFETIME + 2)


class EndingTests(SynchronousTestCase):
    def silence_after(self, subject: Transfer, *numbers: int) -> Outcome:
        subject.begin(0)
        for number in numbers:
            subject.received(ack(number), 0)
        [*_, (_, step)] = until_silent(subject)
        assert step.outcome is not None
        return step.outcome

    def test_a_blocked_return_path_has_its_own_reason(self) -> None:
        """The request came, the answer left, nothing came back (W136)."""
        self.assertEqual(
            self.silence_after(transfer(9999)),
            Outcome(Ending.FAILED, "no ACK of block 1: the return path is blocked"),
        )
        self.assertIn(
            "the return path is blocked", self.silence_after(transfer(9999, TSIZE)).reason
        )

    def test_large_blocks_that_get_lost_have_another(self) -> None:
        """The small acknowledgement of options came through and the first block did not."""
        outcome = self.silence_after(transfer(9999, (b"blksize", b"1468")), 0)
        self.assertEqual(outcome.ending, Ending.FAILED)
        self.assertIn("blocks of 1468 bytes do not arrive", outcome.reason)

    def test_a_machine_lost_on_the_way_is_told_by_its_block(self) -> None:
        """The path works; it is the client that fell silent."""
        outcome = self.silence_after(transfer(9999), 1, 2)
        self.assertEqual(outcome, Outcome(Ending.FAILED, "no ACK of block 3"))

    def test_a_missing_last_acknowledgement_is_no_failure(self) -> None:
        """The ROM has jumped into what it loaded (W123)."""
        self.assertEqual(self.silence_after(transfer(600), 1), Outcome(Ending.UNCONFIRMED))
        subject = transfer(600)
        subject.begin(0)
        subject.received(ack(1), 0)
        self.assertEqual(subject.refused().outcome, Outcome(Ending.UNCONFIRMED))

    def test_a_size_probe_is_no_failure(self) -> None:
        """edk2 takes the size and says error 8; others say error 0 (W100, W101)."""
        for code in (0, 8):
            subject = transfer(600, TSIZE)
            subject.begin(0)
            step = subject.received(Error(code, b"User aborted the transfer"), 0)
            self.assertEqual(step, Step(outcome=Outcome(Ending.PROBED)))

    def test_a_size_probe_may_just_close_its_port(self) -> None:
        """Then the kernel says that the client is gone."""
        subject = transfer(600, TSIZE)
        subject.begin(0)
        self.assertEqual(subject.refused().outcome, Outcome(Ending.PROBED))

    def test_any_other_error_stops_it_in_the_clients_words(self) -> None:
        """They are made printable; and no error is answered (W127)."""
        for options, numbers, code in (
            ((), (), 0),
            ((TSIZE,), (0,), 8),
            ((TSIZE,), (), 3),
            (((b"blksize", b"1468"),), (), 8),
        ):
            subject = transfer(9999, *options)
            subject.begin(0)
            for number in numbers:
                subject.received(ack(number), 0)
            step = subject.received(Error(code, b"no\nroom"), 0)
            expected = Outcome(Ending.STOPPED, f"error {code} no\\x0aroom")
            self.assertEqual(step, Step(outcome=expected))

    def test_a_closed_port_ends_it(self) -> None:
        """There is nobody to send to."""
        subject = transfer(9999)
        subject.begin(0)
        outcome = subject.refused().outcome
        self.assertEqual(outcome, Outcome(Ending.FAILED, "the client closed its port"))


class RepeatedRequestTests(SynchronousTestCase):
    def test_joins_and_is_answered_once_more(self) -> None:
        """A third one, like a fourth, adds nothing to it (field case B23, W124)."""
        subject = transfer(600, TSIZE)
        subject.begin(0)
        self.assertEqual(subject.repeated(0.1), Step(offer=True, again=True))
        self.assertEqual(subject.repeated(0.2), NOTHING)

    def test_a_late_duplicate_is_ignored(self) -> None:
        """Blocks are on their way already."""
        subject = transfer(9999)
        subject.begin(0)
        subject.received(ack(1), 0)
        self.assertEqual(subject.repeated(0.5), NOTHING)

    def test_a_client_that_began_anew_ends_this_one(self) -> None:
        """Nothing moved for a second and it asks again: it has forgotten what it had."""
        subject = transfer(9999)
        subject.begin(0)
        subject.received(ack(1), 0)
        outcome = subject.repeated(1.0).outcome
        self.assertEqual(outcome, Outcome(Ending.STOPPED, "the client asked anew"))

    def test_asking_for_something_else_after_the_last_block_is_no_stop(self) -> None:
        """The acknowledgement of the last block was lost, that is all."""
        subject = transfer(600)
        subject.begin(0)
        subject.received(ack(1), 0)
        self.assertEqual(subject.replaced().outcome, Outcome(Ending.UNCONFIRMED))


class StraightTests(SynchronousTestCase):
    @given(st.integers(1, 8), st.integers(1, 40), st.lists(st.integers(0, 12), max_size=30))
    @settings(max_examples=200, deadline=None)
    def test_going_on_by_itself_is_the_same_as_being_told(
        self, size: int, blocks: int, extra: list[int]
    ) -> None:
        """
        Where it says that it is straight, window after window by ``advanced`` leaves the state in
        which the acknowledgements would have left it.
        """
        told = Transfer(blocks * 512 - 1, Negotiated(windowsize=size), 0)
        alone = Transfer(blocks * 512 - 1, Negotiated(windowsize=size), 0)
        told.begin(0)
        alone.begin(0)
        for number in extra:
            step = told.received(ack(told.sent), 1)
            if step.outcome is not None:
                break
            self.assertTrue(alone.straight)
            acked = alone.sent
            alone.advanced(acked, min(acked + size, alone.blocks), 1)
            step = told.received(ack(number), 1)
            self.assertEqual(step, alone.received(ack(number), 1))
            if step.outcome is not None or not told.straight:
                break
            self.assertEqual((told.acked, told.sent), (alone.acked, alone.sent))
