"""Tests for ``rescriptum.tftp.refusals``."""

from pathlib import Path

from twisted.logger import Logger, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.tally import PER_PEER, PERIOD
from rescriptum.tftp.refusals import REFUSALS, RefusalLog, refusal
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
