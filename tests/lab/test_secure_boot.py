"""Machines with Secure Boot: what their firmware refuses, and the way that is left."""

import shutil
from unittest import TestSuite

from . import assets, peers
from .boots import X64
from .case import ASKED_FOR_ALL, LabTestCase
from .machines import Firmware, Machine

if not ASKED_FOR_ALL:
    testSuite = TestSuite

MAC = "52:54:00:12:34:59"
SHIM = "shimx64.efi"
MARKER = "GRUB-READ-ITS-CONFIGURATION"


class SecureBootTests(LabTestCase):
    def power_on(self, loader: str, marker: str) -> None:
        with self.shown():
            self.server.start()
            snippet = self.server.command("boot", "dhcp-snippet")
            peers.dnsmasq(self.network, snippet.replace(X64, loader))
            self.network.capture()
            self.boot(Machine(Firmware.UEFI_SECURE, MAC, memory=1024), marker)

    def test_firmware_refuses_unsigned_loaders(self) -> None:
        """It fetches the whole of iPXE and says ``Access Denied``."""
        self.power_on(X64, "Access Denied")
        with self.shown():
            [sent] = self.server.events("loader.sent")
            self.assertEqual(sent["loader"], X64)

    def test_the_distribution_s_shim_and_grub(self) -> None:
        """Shim fetches GRUB from beside itself, GRUB its configuration; all from us."""
        self.server.loaders = self.network.directory / "boot"
        shutil.copytree(assets.loaders("--secure-boot"), self.server.loaders)
        (self.server.loaders / "grub").mkdir()
        (self.server.loaders / "grub" / "grub.cfg").write_text(f"echo {MARKER}\nsleep 60\n")
        self.power_on(SHIM, MARKER)
        with self.shown():
            sent = [each["loader"] for each in self.server.events("loader.sent")]
            self.assertEqual(sent, [SHIM, "grubx64.efi", "/grub/grub.cfg"])
            self.assertEqual(self.server.events("loader.failed"), [])
