"""What fails of a site, and what machines notice of that: fewer answers, never two."""

import time
from unittest import TestSuite

from . import assets, disks, sites
from .asking import Question, always, asker
from .boots import MAC
from .captures import DHCPMessage
from .case import ASKED
from .machines import Firmware
from .network import DHCP, wait_for
from .sitecase import SiteTestCase

if not ASKED:
    testSuite = TestSuite

QUESTION = Question(0, "PXEClient:Arch:00000:UNDI:002001", "iPXE")
ASKER = asker(0)
CONSOLE = f"console={Firmware.BIOS.console} panic=-1"


class FailureTestCase(SiteTestCase):
    """A client of bytes asks five times a second, all the time; its entry outlives any lease."""

    ttl_ms = 4000

    def setUp(self) -> None:
        super().setUp()
        with self.shown():
            sites.plain_dhcp(self.network)
            self.network.capture()
            for mac in (ASKER, MAC):
                self.gateway.entry(self.agent.node, mac, CONSOLE)
            always(self.network, QUESTION)
            self.assertTrue(wait_for(lambda: self.told(self.agent), 10), "nobody answers")

    def told(self, agent: sites.SiteAgent, after: float = 0) -> list[DHCPMessage]:
        """:returns: what an agent has said to anybody since then."""
        servers = [each for each in self.seen() if isinstance(each, DHCPMessage)]
        return [each for each in servers if each.sender == agent.address and each.at > after]


class CutOffTests(FailureTestCase):
    def test_the_gateway_is_cut_off(self) -> None:
        """The last answer leaves within the ttl; a machine then boots its own disk."""
        with self.shown():
            cut = time.time()
            self.network.cut("gw", "eth0")
            self.agent.until("standby", 30)
            silent = time.time()
            self.power_on(Firmware.BIOS, disks.MARKER)
            last = self.told(self.agent)[-1].at
            self.assertLessEqual(last, cut + self.ttl_ms / 1000)
            self.assertLess(last, silent)
            self.assertEqual({each.sender for each in self.answers(MAC)}, {DHCP})
            self.assertEqual(self.asked_of(self.agent), [])
            self.assertEqual(self.agent.complaints(), [])


class LeaseTests(FailureTestCase):
    def test_two_agents_and_one_lease(self) -> None:
        """
        Both have the same entries, and hear the same questions. Whoever holds the lease answers;
        when it is cut off from the gateway, though not from machines, the other one does.
        """
        with self.shown():
            second = self.agent_named("b")
            second.until("standby")
            self.assertTrue(wait_for(lambda: second.status()["session"]["state"] == "live", 30))
            for mac in (ASKER, MAC):
                self.gateway.entry(second.node, mac, CONSOLE)
            self.power_on(Firmware.BIOS, assets.MARKER)
            self.assertEqual(len(self.agent.events("kernel.sent")), 1)
            self.network.cut("a", "eth1")
            second.until("active")
            self.power_on(Firmware.BIOS, assets.MARKER)
            self.assertEqual(len(second.events("kernel.sent")), 1)
            self.network.mend("a", "eth1")
            mended = time.time()
            live = wait_for(lambda: self.agent.status()["session"]["state"] == "live", 60)
            self.assertTrue(live, "it never came back")
            self.assertTrue(wait_for(lambda: len(self.told(second, mended)) > 10, 10))
            self.assert_never_both(self.agent, second)
            for each in (self.agent, second):
                self.assertEqual(each.complaints(), [])

    def assert_never_both(self, first: sites.SiteAgent, second: sites.SiteAgent) -> None:
        """No question has two answers of ours, and the second began when the first had ended."""
        ours, others = self.told(first), self.told(second)
        self.assertGreater(min(len(ours), len(others)), 10)
        asked = [{(each.mac, each.xid) for each in answers} for answers in (ours, others)]
        self.assertEqual(asked[0] & asked[1], set())
        self.assertLess(ours[-1].at, others[0].at)
