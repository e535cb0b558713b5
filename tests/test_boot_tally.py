"""Tests for ``rescriptum.boot.tally``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.tally import KINDS, PER_PEER, PERIOD, Tally


class TallyTests(SynchronousTestCase):
    def test_says_a_thing_once_a_period(self) -> None:
        """And then how often it was kept quiet."""
        tally = Tally()
        self.assertEqual(tally.counted("h", "a", 0), 0)
        self.assertEqual([tally.counted("h", "a", n) for n in range(1, 4)], [None] * 3)
        self.assertEqual(tally.counted("h", "b", 4), 0)
        self.assertEqual(tally.counted("h", "a", PERIOD), 3)
        self.assertEqual(tally.counted("h", "a", PERIOD + 1), None)
        self.assertEqual(tally.counted("h", "a", 3 * PERIOD), 1)

    def test_knows_a_bounded_number_of_kinds(self) -> None:
        """More are quiet, and counted together, until the old ones are forgotten."""
        tally = Tally()
        said = [tally.counted(str(n), "a", 0) for n in range(KINDS + 100)]
        self.assertEqual(said.count(0), KINDS)
        self.assertEqual(tally.counted("new", "a", PERIOD - 1), None)
        self.assertEqual(tally.missed, 101)
        self.assertEqual(tally.counted("new", "a", PERIOD), 0)

    def test_a_peer_that_says_it_again_stays_known(self) -> None:
        """What was said anew is young: it is not forgotten with what is as old as it was."""
        tally = Tally()
        for n in range(KINDS):
            tally.counted(str(n), "a", 0)
        self.assertEqual(tally.counted("0", "a", PERIOD), 0)
        self.assertEqual(tally.counted("new", "a", PERIOD + 1), 0)
        self.assertIsNone(tally.counted("0", "a", PERIOD + 2))

    def test_nobody_takes_the_room_of_others(self) -> None:
        """One that asks for any name there is does not hide a machine without its loader."""
        tally = Tally()
        said = [tally.counted("stranger", n, 0) for n in range(KINDS + 100)]
        self.assertEqual(said.count(0), PER_PEER)
        self.assertEqual(tally.counted("machine", "ipxe-arm64.efi", 1), 0)
        self.assertEqual(tally.counted("stranger", "new", PERIOD), 0)
