"""Tests for ``rescriptum.gateway.lease``."""

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.specs import LeaseSection
from rescriptum.gateway.lease import (
    LEAP,
    POLL,
    QUARANTINE,
    UNPROVED,
    Arbiter,
    Candidate,
    Grant,
    LeaseRow,
    StandBy,
    Take,
    granted,
    move,
    patience,
    quarantined,
    recorded,
    released,
    section,
    taken,
)

HELD = LeaseRow(4, "s-1", "node-a", 9, 15_000)
FREE = LeaseRow(4, None, None, 9, 15_000)


class StatementTests(SynchronousTestCase):
    def test_a_heartbeat_of_the_holder_is_recorded(self) -> None:
        self.assertEqual(recorded(HELD, 4, "s-1"), evolve(HELD, beat=10))

    def test_any_other_is_not(self) -> None:
        """Another epoch, another session, even of the same node, and a lease that nobody holds."""
        for epoch, session in ((3, "s-1"), (5, "s-1"), (0, "s-1"), (4, "s-2")):
            self.assertIsNone(recorded(HELD, epoch, session))
        self.assertIsNone(recorded(FREE, 4, "s-1"))

    def test_a_release_frees_the_epoch_that_it_names(self) -> None:
        """The beat stays: ``(epoch, beat)`` never comes again."""
        self.assertEqual(released(HELD, 4, "node-a"), FREE)

    def test_a_release_frees_nothing_else(self) -> None:
        for epoch, node in ((3, "node-a"), (5, "node-a"), (4, "node-b")):
            self.assertIsNone(released(HELD, epoch, node))
        self.assertIsNone(released(FREE, 4, "node-a"))

    def test_a_free_lease_is_granted_once(self) -> None:
        after = granted(FREE, 4, "s-2", "node-b", 6_000)
        self.assertEqual(after, LeaseRow(5, "s-2", "node-b", 0, 6_000))
        assert after is not None
        self.assertIsNone(granted(after, 4, "s-3", "node-c", 6_000))
        self.assertIsNone(granted(HELD, 4, "s-2", "node-b", 6_000))
        self.assertIsNone(granted(FREE, 3, "s-2", "node-b", 6_000))

    def test_a_lease_is_taken_by_the_beat_that_was_observed(self) -> None:
        """Two that observed the same take it once; a beat in between keeps it."""
        after = taken(HELD, 4, 9, "s-2", "node-b", 6_000)
        self.assertEqual(after, LeaseRow(5, "s-2", "node-b", 0, 6_000))
        assert after is not None
        self.assertIsNone(taken(after, 4, 9, "s-3", "node-c", 6_000))
        self.assertIsNone(taken(HELD, 4, 8, "s-2", "node-b", 6_000))
        self.assertIsNone(taken(HELD, 3, 9, "s-2", "node-b", 6_000))
        self.assertIsNone(taken(FREE, 4, 9, "s-2", "node-b", 6_000))

    def test_quarantine(self) -> None:
        """Nobody holds it, so nothing is proved or released until the ordinary take-over."""
        for row in (HELD, FREE):
            after = quarantined(row, 60_000)
            self.assertEqual(after, LeaseRow(4 + LEAP, QUARANTINE, None, 10, 60_000))
            self.assertIsNone(recorded(after, after.epoch, "s-1"))
            self.assertIsNone(released(after, after.epoch, "node-a"))
            self.assertIsNotNone(taken(after, after.epoch, after.beat, "s-2", "node-b", 15_000))

    def test_the_bounds_of_a_ttl(self) -> None:
        """No statement makes a row that an agent would refuse."""
        for ttl_ms in (2_999, 60_001):
            self.assertRaises(ValueError, granted, FREE, 4, "s-2", "node-b", ttl_ms)
            self.assertRaises(ValueError, taken, HELD, 4, 9, "s-2", "node-b", ttl_ms)
            self.assertRaises(ValueError, quarantined, HELD, ttl_ms)


class ArbiterTests(SynchronousTestCase):
    def test_patience(self) -> None:
        """The rate errors of two clocks, and half a second for an answer on its way."""
        self.assertAlmostEqual(patience(15), 15.803, places=3)
        for ttl in (3, 15, 60):
            self.assertGreaterEqual(patience(ttl) / 1.01, ttl / 0.99 + 0.49)

    def test_waits_from_the_answer(self) -> None:
        """Reading the same again does not begin anew."""
        arbiter = Arbiter()
        arbiter.observed(HELD, 50.0)
        arbiter.observed(HELD, 60.0)
        self.assertFalse(arbiter.may_take(HELD, 50.0 + patience(15) - 0.001))
        self.assertTrue(arbiter.may_take(HELD, 50.0 + patience(15)))

    def test_waits_again_from_each_beat_and_epoch(self) -> None:
        arbiter = Arbiter()
        arbiter.observed(HELD, 50.0)
        for changed in (evolve(HELD, beat=10), evolve(HELD, epoch=5)):
            arbiter.observed(changed, 60.0)
            self.assertFalse(arbiter.may_take(HELD, 99.0), "not what was observed last")
            self.assertFalse(arbiter.may_take(changed, 75.0))
            self.assertTrue(arbiter.may_take(changed, 76.0))
            arbiter.observed(HELD, 60.0)

    def test_waits_as_long_as_the_epoch_may_be_served(self) -> None:
        """The row's own ttl, not what the site has set since."""
        arbiter, long = Arbiter(), evolve(HELD, ttl_ms=30_000)
        arbiter.observed(long, 0.0)
        self.assertFalse(arbiter.may_take(long, 30.0))
        self.assertTrue(arbiter.may_take(long, patience(30)))

    def test_an_epoch_that_proved_nothing(self) -> None:
        arbiter, unproved = Arbiter(), evolve(HELD, beat=0)
        arbiter.observed(unproved, 0.0)
        self.assertFalse(arbiter.may_take(unproved, UNPROVED - 0.001))
        self.assertTrue(arbiter.may_take(unproved, UNPROVED))

    def test_nothing_observed_nothing_to_take(self) -> None:
        """Neither at the start, nor when the connection was lost, nor of a free lease."""
        arbiter = Arbiter()
        self.assertFalse(arbiter.may_take(HELD, 1e9))
        arbiter.observed(HELD, 0.0)
        arbiter.forget()
        self.assertFalse(arbiter.may_take(HELD, 1e9))
        arbiter.observed(HELD, 1e9)
        self.assertFalse(arbiter.may_take(HELD, 1e9 + 15))
        arbiter.observed(FREE, 0.0)
        self.assertFalse(arbiter.may_take(FREE, 1e9))

    def test_when_to_look_again(self) -> None:
        """When patience ends, if that is before the next poll."""
        arbiter = Arbiter()
        self.assertEqual(arbiter.next_look(HELD, 0.0), POLL)
        arbiter.observed(HELD, 0.0)
        self.assertEqual(arbiter.next_look(HELD, 5.0), POLL)
        self.assertAlmostEqual(arbiter.next_look(HELD, 15.5), patience(15) - 15.5)
        self.assertEqual(arbiter.next_look(HELD, 20.0), POLL)
        self.assertEqual(arbiter.next_look(FREE, 20.0), POLL)


OLD = Candidate("s-8", "node-b", 500.0, 1.0)
YOUNG = Candidate("s-9", "node-c", 5.0, 1.0)
HOLDER = Candidate("s-1", "node-a", 900.0, 1.0)


class MoveTests(SynchronousTestCase):
    def test_a_free_lease_goes_to_who_has_lived_longest(self) -> None:
        self.assertEqual(move(FREE, False, [YOUNG, OLD], None), Grant(OLD))

    def test_the_operators_choice_comes_first(self) -> None:
        """When it is there; else there is somebody rather than nobody."""
        self.assertEqual(move(FREE, False, [YOUNG, OLD], "node-c"), Grant(YOUNG))
        self.assertEqual(move(HELD, True, [YOUNG, OLD, HOLDER], "node-c"), Take(YOUNG))
        self.assertEqual(move(FREE, False, [YOUNG, OLD], "node-z"), Grant(OLD))

    def test_the_holder_is_left_alone(self) -> None:
        """By whoever has lived longer, too; only the operator's choice moves it."""
        oldest = evolve(OLD, lived=1e6)
        self.assertIsNone(move(HELD, False, [oldest, HOLDER], None))
        self.assertIsNone(move(HELD, False, [oldest, HOLDER], "node-a"))
        self.assertEqual(move(HELD, False, [oldest, HOLDER], "node-b"), StandBy())

    def test_a_choice_that_is_not_there_moves_nothing(self) -> None:
        silent = evolve(YOUNG, heard_ago=15.0)
        self.assertIsNone(move(HELD, False, [OLD, silent, HOLDER], "node-c"))
        self.assertEqual(move(HELD, False, [evolve(silent, heard_ago=14.9)], "node-c"), StandBy())

    def test_a_holder_whose_time_is_over(self) -> None:
        """Somebody else has it; never the same session again, and nobody who is silent."""
        self.assertEqual(move(HELD, True, [HOLDER, YOUNG], None), Take(YOUNG))
        self.assertIsNone(move(HELD, True, [HOLDER], None))
        self.assertIsNone(move(HELD, True, [evolve(OLD, heard_ago=15.0)], None))

    def test_a_node_that_began_again(self) -> None:
        """Its new session waits for the old one like anybody, though the node is wanted."""
        again = Candidate("s-5", "node-a", 1.0, 0.0)
        self.assertIsNone(move(HELD, False, [again, OLD], "node-a"))
        self.assertEqual(move(HELD, True, [again, OLD], "node-a"), Take(again))

    def test_everybody_chooses_alike(self) -> None:
        """Two processes that see the same sessions in another order do not disagree."""
        twin = evolve(OLD, session="s-7")
        self.assertEqual(move(FREE, False, [OLD, twin], None), move(FREE, False, [twin, OLD], None))


class SectionTests(SynchronousTestCase):
    def test_the_holder(self) -> None:
        self.assertEqual(section(HELD, "s-1", False), LeaseSection(True, 4, 15_000))

    def test_the_holder_that_is_to_stand_by(self) -> None:
        self.assertEqual(section(HELD, "s-1", True), LeaseSection(False, 4))

    def test_all_others(self) -> None:
        """Earlier epochs are over. The present one is not theirs to release, whoever they are."""
        for standing_by in (False, True):
            self.assertEqual(section(HELD, "s-2", standing_by), LeaseSection(False, 3))
            self.assertEqual(section(FREE, "s-1", standing_by), LeaseSection(False, 3))
        self.assertEqual(section(LeaseRow(), "s-1", False), LeaseSection(False, 0))


SESSIONS = st.sampled_from(("s-1", "s-2", "s-3"))
STATEMENTS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2), SESSIONS), max_size=40
)


class PropertyTests(SynchronousTestCase):
    @settings(max_examples=200, deadline=None)
    @given(STATEMENTS)
    def test_whatever_is_stated(self, statements: list[tuple[int, int, int, str]]) -> None:
        """
        The epoch never falls and is granted to one session (I2), ``(epoch, beat)`` never comes
        again, and a statement that failed has changed nothing.
        """
        row, holders, seen = LeaseRow(), dict[int, str](), {(0, 0)}
        for what, back, beat, session in statements:
            epoch = row.epoch - back
            after = (
                recorded(row, epoch, session),
                released(row, epoch, session),
                granted(row, epoch, session, session, 15_000),
                taken(row, epoch, beat, session, session, 15_000),
                quarantined(row, 15_000) if not back else None,
            )[what]
            if after is None:
                continue
            self.assertGreaterEqual(after.epoch, row.epoch)
            if after.holder is not None:
                self.assertEqual(holders.setdefault(after.epoch, after.holder), after.holder)
                self.assertNotIn((after.epoch, after.beat), seen)
            seen.add((after.epoch, after.beat))
            row = after
