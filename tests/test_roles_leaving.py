"""Tests for ``rescriptum.roles.leaving``: when the gateway knows, or will not any more."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import Rejected
from rescriptum.ramdisk.tools import Ran, ToolTrouble
from rescriptum.roles.leaving import TELLING, TELLING_PAUSE, Leaving
from tests.ramdiskcases import MemoryTools

STEPS = (("ip", "link", "set", "eth0", "down"), ("kexec", "-e"))


class LeavingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.tools = Clock(), MemoryTools()
        self.is_told = False
        self.console = Path(self.mktemp())
        self.leaving = self.leaves(self.told)

    def leaves(self, told: Callable[[], Awaitable[bool]]) -> Leaving:
        return Leaving(told, self.sleep, self.tools, self.clock.seconds, self.console)

    async def told(self) -> bool:
        return self.is_told

    async def sleep(self, seconds: float) -> None:
        await deferLater(self.clock, seconds, lambda: None)

    def test_once_it_is_told(self) -> None:
        """In order, and not at once: the result itself is made after this is asked for."""
        self.is_told = True
        self.leaving.run(STEPS)
        self.assertEqual(self.tools.asked, [])
        self.clock.advance(TELLING_PAUSE)
        self.assertEqual(self.tools.asked, list(STEPS))

    def test_by_the_kernel(self) -> None:
        """Its disks are written first; and it is the kernel of the machine that was meant."""
        self.is_told = True
        said = []
        self.leaving.trigger("b")
        for seconds in (TELLING_PAUSE, 1.0):
            self.clock.advance(seconds)
            said.append(self.console.read_text())
        self.assertEqual(said, ["s", "b"])
        self.assertEqual(self.tools.asked, [])

    def test_a_kernel_that_does_not_listen(self) -> None:
        """As a container's: that is said."""
        self.is_told = True
        self.console.mkdir()
        self.leaving.trigger("b")
        self.clock.advance(TELLING_PAUSE)
        [failure] = self.flushLoggedErrors(IsADirectoryError)
        self.assertIsInstance(failure.value, OSError)

    def test_a_gateway_that_is_away(self) -> None:
        """It is waited for, and then left all the same."""
        self.leaving.run(STEPS)
        self.clock.pump([TELLING_PAUSE] * round(TELLING / TELLING_PAUSE - 1))
        self.assertEqual(self.tools.asked, [])
        self.clock.advance(TELLING_PAUSE)
        self.assertEqual(self.tools.asked, list(STEPS))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_a_step_that_fails(self) -> None:
        """It is said, and the next one is tried: it is the last that leaves."""
        self.is_told = True
        self.tools.answers["ip",] = Ran(("ip",), 1, stderr="no such device")
        self.leaving.run(STEPS)
        with capturedLogs() as events:
            self.clock.advance(TELLING_PAUSE)
        self.assertEqual(self.tools.asked, list(STEPS))
        self.assertEqual([each["reason"] for each in events], ["ip: no such device"])

    def test_a_step_that_does_not_end(self) -> None:
        """A driver that hangs keeps no machine from leaving."""

        def hangs() -> Ran:
            raise ToolTrouble("ip: it had to be ended", "timeout")

        self.is_told = True
        self.tools.answers["ip",] = hangs
        self.leaving.run(STEPS)
        with capturedLogs() as events:
            self.clock.advance(TELLING_PAUSE)
        self.assertEqual(self.tools.asked, list(STEPS))
        self.assertEqual([each["reason"] for each in events], ["ip: it had to be ended"])

    def test_a_journal_that_cannot_be_read(self) -> None:
        """For a moment: it is asked again, as one whose result is not told."""
        troubles = [Rejected("journal-unavailable")]

        async def told() -> bool:
            if troubles:
                raise troubles.pop()
            return True

        self.leaves(told).run(STEPS)
        self.clock.advance(TELLING_PAUSE)
        self.assertEqual(self.tools.asked, [])
        self.clock.advance(TELLING_PAUSE)
        self.assertEqual(self.tools.asked, list(STEPS))

    def test_a_mistake_of_ours(self) -> None:
        """It is logged once; nothing was begun."""

        async def told() -> bool:
            raise OSError("the journal is gone")

        self.leaves(told).run(STEPS)
        self.clock.advance(TELLING_PAUSE)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.assertEqual(self.tools.asked, [])
