"""Tests for ``rescriptum.tftp.refusals``."""

from pathlib import Path

from twisted.logger import Logger, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.refusals import (
    KINDS,
    PER_PEER,
    PERIOD,
    REFUSALS,
    RefusalLog,
    Tally,
    refusal,
)
from rescriptum.tftp.wire import ErrorCode, ReadRequest


class RefusalTests(SynchronousTestCase):
    def test_each_row_is_an_error_with_a_text_or_silence(self) -> None:
        """A text, since firmware prints it; ASCII without a NUL of its own."""
        for code in REFUSALS:
            error = refusal(code)
            if error is not None:
                self.assertTrue(error.text.isascii() and error.text)
                self.assertNotIn(b"\0", error.text)

    def test_the_page_for_operators_explains_each(self) -> None:
        """``refused`` itself is the class of the others and comes from nowhere."""
        page = (Path(__file__).parent.parent / "docs" / "tftp.md").read_text()
        for code in REFUSALS.keys() - {"refused"}:
            self.assertIn(f"`refused: {code}`", page)

    def test_what_nobody_foresaw_is_the_undefined_error(self) -> None:
        """It is answered: silence would cost the client half a minute."""
        error = refusal("something-new")
        assert error is not None
        self.assertEqual(error.code, ErrorCode.UNDEFINED)


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


class RefusalLogTests(SynchronousTestCase):
    def test_tells_that_it_does_not_tell(self) -> None:
        """Once a minute."""
        log = RefusalLog(Logger())
        with capturedLogs() as events:
            for now in (0.0, 1.0, PERIOD - 1, PERIOD):
                for n in range(PER_PEER + 10):
                    log.say(("192.0.2.7", 1), "not-found", "x", ReadRequest(b"%d" % n), now)
        told = [event["count"] for event in events if "count" in event]
        self.assertEqual(told, [1, 29])
