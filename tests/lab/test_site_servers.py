"""The same with Kea, with ISC's relay, and of the firmware that takes longer."""

from unittest import TestSuite

from . import disks, sites
from .boots import MAC
from .case import ASKED_FOR_ALL
from .machines import Firmware
from .network import DHCP
from .sitecase import ARM64, AUTOEXEC, X64, SiteTestCase

if not ASKED_FOR_ALL:
    testSuite = TestSuite

#: EDK2 asks for a minute by PXE, then for a minute by HTTP boot, before it tries a disk.
GIVES_UP = 300


class PreparedTests(SiteTestCase):
    def test_bios_by_kea(self) -> None:
        self.boots_the_ramdisk(Firmware.BIOS, server="kea")

    def test_uefi_by_kea(self) -> None:
        self.boots_the_ramdisk(Firmware.UEFI_PXE, X64, AUTOEXEC, server="kea")

    def test_uefi_http_by_dnsmasq(self) -> None:
        self.boots_the_ramdisk(Firmware.UEFI_HTTP, f"loaders/{X64}")

    def test_arm64_by_kea(self) -> None:
        self.boots_the_ramdisk(Firmware.ARM64_PXE, ARM64, AUTOEXEC, server="kea")

    def test_arm64_by_http(self) -> None:
        self.boots_the_ramdisk(Firmware.ARM64_HTTP, f"loaders/{ARM64}")


class RelayedTests(SiteTestCase):
    def relayed(self, firmware: Firmware, *loaders: str) -> None:
        """By ISC's relay, which puts option 82 in and wants it back."""
        with self.shown():
            sites.far(self.network, self.agent, "dhcrelay")
        self.boots_the_ramdisk(firmware, *loaders, bridge=sites.FAR)
        ours = [each for each in self.answers(MAC) if each.sender == self.agent.address]
        with self.shown():
            self.assertTrue(all(82 in each.options for each in ours if each.relay != "0.0.0.0"))
            self.assertIn(sites.RELAY_FAR, {each.relay for each in ours})

    def test_bios(self) -> None:
        self.relayed(Firmware.BIOS)

    def test_uefi_by_tftp(self) -> None:
        self.relayed(Firmware.UEFI_PXE, X64, AUTOEXEC)

    def test_uefi_by_http(self) -> None:
        self.relayed(Firmware.UEFI_HTTP, f"loaders/{X64}")


class LeftAloneTests(SiteTestCase):
    def left_alone(self, firmware: Firmware) -> None:
        """It boots its own disk and has not heard of us."""
        with self.shown():
            self.power_on(firmware, disks.MARKER, seconds=GIVES_UP)
            self.assertEqual({each.sender for each in self.answers(MAC)}, {DHCP})
            self.assertEqual(self.asked_of(self.agent), [])
            self.assertEqual(self.agent.complaints(), [])

    def test_uefi_with_nothing_prepared(self) -> None:
        with self.shown():
            sites.plain_dhcp(self.network, "kea")
            self.network.capture()
            self.left_alone(Firmware.UEFI_PXE)
            # By PXE at first, and then by HTTP boot.
            known = ("x86_64-efi", "x86_64-efi-http")
            self.assertIn(self.gateway.discovered(MAC)["arch"], known)

    def test_uefi_without_a_gateway(self) -> None:
        """Something was prepared, and its agent cannot prove that it holds the lease."""
        with self.shown():
            sites.plain_dhcp(self.network, "kea")
            self.prepare(Firmware.UEFI_HTTP)
            self.network.cut("gw", "eth0")
            self.agent.until("standby")
            self.network.capture()
            self.left_alone(Firmware.UEFI_HTTP)
