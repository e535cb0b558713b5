"""``ipxe.iso`` and ``ipxe.usb``, for machines whose firmware cannot boot from the network."""

from unittest import TestSuite

from . import assets, disks, peers
from .case import ASKED_FOR_ALL, LabTestCase
from .machines import Firmware, Machine

if not ASKED_FOR_ALL:
    testSuite = TestSuite

MAC = "52:54:00:12:34:58"


class ImageTests(LabTestCase):
    """They find the server by what DHCP names as next-server, and go on to the disk."""

    def boot_from(self, firmware: Firmware, name: str, marker: str = disks.MARKER) -> None:
        with self.shown():
            self.server.start()
            peers.dnsmasq(self.network, self.server.command("boot", "dhcp-snippet"))
            self.network.capture()
            machine = Machine(
                firmware,
                MAC,
                disk=self.disk(firmware),
                removable=assets.loaders() / name,
                disc=name.endswith(".iso"),
            )
            self.boot(machine, marker)
            scripts = [each["script"] for each in self.server.events("script.sent")]
            self.assertEqual(scripts[:2], ["bootstrap", "menu"])
            self.assertEqual(self.server.events("loader.failed"), [])

    def test_disc_in_a_bios_machine(self) -> None:
        self.boot_from(Firmware.BIOS, "ipxe.iso")

    def test_disc_in_a_uefi_machine(self) -> None:
        self.boot_from(Firmware.UEFI_PXE, "ipxe.iso")

    def test_stick_in_a_bios_machine(self) -> None:
        """As far as the menu: the stick is the first hard disk, and SeaBIOS tries no second."""
        self.boot_from(Firmware.BIOS, "ipxe.usb", "Boot from the local disk")

    def test_stick_in_a_uefi_machine(self) -> None:
        self.boot_from(Firmware.UEFI_PXE, "ipxe.usb")
