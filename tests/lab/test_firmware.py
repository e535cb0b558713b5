"""
Machines power on: firmware, somebody else's DHCP server, ours, and a disk or a kernel.

Each boot is told three times: by a marker on the serial line, by the server's events, and by what
crossed the bridge.
"""

from unittest import TestSuite

from . import assets, disks
from .boots import IDENTITY, MAC, X64, BootTestCase, fields
from .case import ASKED
from .machines import Firmware
from .network import SERVER

if not ASKED:
    testSuite = TestSuite

CHAIN = ("pxelinux.0", "ldlinux.c32", "pxelinux.cfg/default", "ipxe.lkrn", "script.ipxe")


class UnclaimedTests(BootTestCase):
    """Nobody decided about this machine: the menu comes, and then its own disk."""

    def assert_menu_and_disk(self) -> None:
        scripts = fields(self.server.events("script.sent"), "script")
        self.assertEqual(scripts[-2:], ["bootstrap", "menu"])
        # EDK2 goes from the card's PXE to the card's HTTP boot before it tries a disk: twice the
        # same way, and no third time.
        self.assertIn(len(scripts), (2, 4))
        for refused in self.server.events("answer.refused"):
            self.assertEqual((refused["status"], refused["mac"]), (404, MAC))
        asked = [each.target.split("?")[0] for each in self.http() if "iPXE" in each.agent]
        self.assertEqual(asked[-3:], ["/ipxe/bootstrap", "/ipxe/boot", "/ipxe/menu"])
        self.assertEqual({each.server for each in self.http()}, {SERVER})
        self.assert_no_complaints()

    def test_bios_whose_rom_is_ipxe(self) -> None:
        """It needs no loader: DHCP names the script to it."""
        self.power_on(Firmware.BIOS, disks.MARKER)
        with self.shown():
            self.assert_handed_over_by_their_dhcp(f"http://{SERVER}:8001/ipxe/bootstrap")
            self.assert_loaders_sent()
            self.assert_menu_and_disk()

    def test_bios_by_one_loader_for_all(self) -> None:
        """pxelinux brings iPXE and our script, though DHCP cannot tell iPXE apart."""
        self.power_on(Firmware.BIOS, disks.MARKER, "--one-loader")
        with self.shown():
            self.assert_handed_over_by_their_dhcp("pxelinux.0")
            self.assert_loaders_sent(*CHAIN)
            self.assert_menu_and_disk()

    def test_uefi_by_tftp(self) -> None:
        """The size probe is no failure, autoexec.ipxe comes from memory."""
        self.power_on(Firmware.UEFI_PXE, disks.MARKER)
        with self.shown():
            self.assert_handed_over_by_their_dhcp(X64)
            self.assert_loaders_sent(X64, "autoexec.ipxe")
            self.assertIn("windowsize=4", self.tftp()[0].options)
            self.assert_menu_and_disk()

    def test_uefi_by_http(self) -> None:
        self.power_on(Firmware.UEFI_HTTP, disks.MARKER)
        with self.shown():
            url = f"http://{SERVER}:8001/boot/{X64}"
            self.assert_handed_over_by_their_dhcp(url)
            self.assert_loaders_sent(X64, "autoexec.ipxe", via="http")
            self.assertEqual(
                [(each.method, each.target) for each in self.http()][:2],
                [("HEAD", f"/boot/{X64}"), ("GET", f"/boot/{X64}")],
            )
            self.assert_menu_and_disk()


class ClaimedTests(BootTestCase):
    """An answer says what this machine boots: a kernel and an initrd of ours."""

    def assert_kernel(self) -> None:
        [answer] = self.server.events("answer.sent")
        self.assertEqual((answer["machine"], answer["mac"]), (IDENTITY, MAC))
        for name in ("kernel.sent", "initrd.sent"):
            [event] = self.server.events(name)
            self.assertEqual((event["image"], event["status"]), ("tiny", 200))
            self.assertEqual(event["size"], event["sent"])
        asked = [each.target for each in self.http() if "iPXE" in each.agent]
        self.assertEqual(asked[-2:], ["/tiny/kernel", "/tiny/initrd"])
        self.assert_no_complaints()

    def test_bios(self) -> None:
        self.claim()
        self.power_on(Firmware.BIOS, assets.MARKER)
        with self.shown():
            self.assert_kernel()

    def test_uefi_by_tftp(self) -> None:
        self.claim()
        self.power_on(Firmware.UEFI_PXE, assets.MARKER)
        with self.shown():
            self.assert_loaders_sent(X64, "autoexec.ipxe")
            self.assert_kernel()

    def test_uefi_by_http(self) -> None:
        self.claim()
        self.power_on(Firmware.UEFI_HTTP, assets.MARKER)
        with self.shown():
            self.assert_loaders_sent(X64, "autoexec.ipxe", via="http")
            self.assert_kernel()
