"""Tests for ``rescriptum.proxydhcp.service``."""

from twisted.logger import capturedLogs

from rescriptum.proxydhcp.service import ProxyDHCPService
from rescriptum.testing import MemoryListening

from .dhcpcases import ProxyCase


class ProxyDHCPServiceTests(ProxyCase):
    def listen(self) -> list[MemoryListening]:
        self.service = ProxyDHCPService(self.proxy, "eth7")
        return []

    def test_holds_its_ports_while_it_runs(self) -> None:
        """On one interface, where that was said; nothing is open before."""
        self.assertEqual(self.udp.listening, [])
        self.service.privilegedStartService()
        self.service.startService()
        self.assertEqual([each.port for each in self.udp.listening], [67, 4011, 68])
        self.assertEqual({each.way.device for each in self.udp.listening}, {"eth7"})
        self.service.stopService()
        self.assertTrue(all(each.closed for each in self.udp.listening))
        self.assertEqual(self.service.listening, ())

    def test_can_be_started_late(self) -> None:
        """When a port has become free, by whoever tries it again."""
        self.udp.taken["0.0.0.0:67"] = OSError(98, "in use")
        with self.assertRaises(OSError):
            self.service.startService()
        self.service.stopService()
        self.udp.taken.clear()
        self.service.startService()
        self.assertEqual(len(self.service.listening), 3)

    def test_does_without_its_ear(self) -> None:
        """Machines are answered all the same; that nothing is heard is said."""
        self.udp.taken["255.255.255.255:68"] = OSError(98, "in use")
        with capturedLogs() as events:
            self.service.privilegedStartService()
        self.assertEqual([each.port for each in self.udp.listening], [67, 4011])
        self.assertIn("port 68", str([each.get("log_format") for each in events]))
