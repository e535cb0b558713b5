"""
Machines boot what the gateway has prepared, beside a DHCP server that knows nothing of booting.

One of each kind of firmware; another one behind a relay; and one that nothing was prepared for.
"""

from unittest import TestSuite

from . import disks, sites
from .boots import MAC
from .case import ASKED
from .machines import UUID, Firmware
from .network import DHCP
from .sitecase import ARM64, AUTOEXEC, X64, SiteTestCase

if not ASKED:
    testSuite = TestSuite


class PreparedTests(SiteTestCase):
    def test_bios_whose_rom_is_ipxe(self) -> None:
        """It fetches its script at once."""
        self.boots_the_ramdisk(Firmware.BIOS)

    def test_uefi_by_tftp(self) -> None:
        self.boots_the_ramdisk(Firmware.UEFI_PXE, X64, AUTOEXEC)

    def test_uefi_by_http(self) -> None:
        """The URL comes with the offer; Kea gives the address."""
        self.boots_the_ramdisk(Firmware.UEFI_HTTP, f"loaders/{X64}", server="kea")

    def test_arm64_by_tftp(self) -> None:
        self.boots_the_ramdisk(Firmware.ARM64_PXE, ARM64, AUTOEXEC)


class RelayedTests(SiteTestCase):
    def test_another_subnet(self) -> None:
        """The relay sends to the site's server and to us; both answer it, and it the machine."""
        with self.shown():
            sites.far(self.network, self.agent)
        self.boots_the_ramdisk(Firmware.BIOS, bridge=sites.FAR)


class LeftAloneTests(SiteTestCase):
    def test_nothing_is_prepared(self) -> None:
        """It boots its own disk, has not heard of us, and the gateway lists it."""
        with self.shown():
            sites.plain_dhcp(self.network)
            self.network.capture()
            self.power_on(Firmware.BIOS, disks.MARKER)
            self.assertEqual({each.sender for each in self.answers(MAC)}, {DHCP})
            self.assertEqual(self.asked_of(self.agent), [])
            found = self.gateway.discovered(MAC)
            self.assertEqual((found["mac"], found["uuid"]), (MAC, UUID))
            self.assertEqual(self.agent.events("dhcp.offered"), [])
            self.assertEqual(self.agent.complaints(), [])
