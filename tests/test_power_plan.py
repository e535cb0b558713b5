"""Tests for ``rescriptum.power.plan`` and ``magic``: what may begin, and how it is started."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.scripts import Unclaimed
from rescriptum.contract.bmc import PowerAction, PowerState
from rescriptum.errors import Refused
from rescriptum.power.magic import packet
from rescriptum.power.plan import Arms, objection, start
from rescriptum.values import MAC


class PlanTests(SynchronousTestCase):
    def test_what_may_begin(self) -> None:
        """Only what ``/installed`` ends again; each refusal says where the machine would go."""
        for unclaimed in Unclaimed:
            self.assertEqual(objection(Arms.ITSELF, "m1", unclaimed), "")
            for arms in (Arms.GROUP, Arms.FACTS, Arms.DEFAULT):
                said = objection(arms, "rack-a", unclaimed)
                self.assertIn("nothing ever disarms that", said)
                self.assertEqual("rack-a" in said, arms is not Arms.DEFAULT)
        self.assertIn("wait at the menu", objection(Arms.NOTHING, "", Unclaimed.MENU))
        self.assertIn("its own disk, and look", objection(Arms.NOTHING, "", Unclaimed.LOCAL))

    def test_on_or_restart(self) -> None:
        self.assertEqual(start(PowerState.OFF).action, PowerAction.ON)
        self.assertEqual(start(PowerState.ON).action, PowerAction.RESET)
        self.assertEqual(start(None).action, PowerAction.ON)
        self.assertIn("restart it by hand", start(None).why)
        self.assertRaises(Refused, start, PowerState.UNKNOWN)

    def test_the_packet(self) -> None:
        """Six times 0xff, and the address sixteen times."""
        made = packet(MAC.parse("52:54:00:12:34:56"))
        self.assertEqual(len(made), 102)
        self.assertEqual(made, b"\xff" * 6 + b"\x52\x54\x00\x12\x34\x56" * 16)
