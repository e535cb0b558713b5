"""The same firmware, handed over by other DHCP servers from our snippets."""

from unittest import TestSuite

from . import disks
from .boots import X64, BootTestCase
from .case import ASKED_FOR_ALL
from .machines import Firmware

if not ASKED_FOR_ALL:
    testSuite = TestSuite


class OtherServersTests(BootTestCase):
    def test_uefi_by_isc(self) -> None:
        self.power_on(Firmware.UEFI_PXE, disks.MARKER, dhcp="isc")
        with self.shown():
            self.assert_loaders_sent(X64, "autoexec.ipxe")

    def test_uefi_by_kea(self) -> None:
        self.power_on(Firmware.UEFI_PXE, disks.MARKER, dhcp="kea")
        with self.shown():
            self.assert_loaders_sent(X64, "autoexec.ipxe")

    def test_uefi_http_by_isc(self) -> None:
        self.power_on(Firmware.UEFI_HTTP, disks.MARKER, dhcp="isc")
        with self.shown():
            self.assert_loaders_sent(X64, "autoexec.ipxe", via="http")

    def test_uefi_http_by_kea(self) -> None:
        self.power_on(Firmware.UEFI_HTTP, disks.MARKER, dhcp="kea")
        with self.shown():
            self.assert_loaders_sent(X64, "autoexec.ipxe", via="http")

    def test_bios_by_kea(self) -> None:
        self.power_on(Firmware.BIOS, disks.MARKER, dhcp="kea")
        with self.shown():
            self.assert_loaders_sent()
