"""Loaders of other builds than ours."""

from unittest import TestSuite

from . import assets, disks
from .boots import X64, BootTestCase
from .case import ASKED_FOR_ALL
from .machines import Firmware

if not ASKED_FOR_ALL:
    testSuite = TestSuite


class OlderBuildTests(BootTestCase):
    """Debian 12's packages, as ``rescriptum boot loaders install`` copies them."""

    def setUp(self) -> None:
        super().setUp()
        self.server.loaders = self.network.directory / "boot"
        root = str(assets.older_packages())
        # They have no loader for ARM64, which the architecture table misses.
        self.server.command("boot", "loaders", "install", "--root", root, code=1)

    def test_says_what_they_cannot_do(self) -> None:
        listed = self.server.command("boot", "loaders", "list", code=1)
        self.assertIn("never asks for autoexec.ipxe", listed)
        self.assertIn("MISSING    ipxe-arm64.efi", listed)

    def test_uefi_behind_dhcp_that_tells_ipxe_apart(self) -> None:
        """
        The script comes by DHCP alone. Unclaimed machines are no use with this build: left with
        nothing to boot it hangs, whatever the script's exit code.
        """
        self.claim()
        self.power_on(Firmware.UEFI_PXE, assets.MARKER)
        with self.shown():
            self.assert_loaders_sent(X64)
            self.assert_no_complaints()

    def test_bios_by_one_loader_for_all(self) -> None:
        self.power_on(Firmware.BIOS, disks.MARKER, "--one-loader")
        with self.shown():
            self.assert_no_complaints()
