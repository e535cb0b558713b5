"""
More machines that are deployed, and what may happen meanwhile: a program that dies, a cache that is
not there any more, an image that is not what was promised.
"""

import re
from unittest import TestSuite

from .case import ASKED_FOR_ALL
from .deploycase import MIB, DeployCase
from .machines import Drive, Firmware
from .network import wait_for

if not ASKED_FOR_ALL:
    testSuite = TestSuite


class HardwareTests(DeployCase):
    def test_uefi_and_virtio(self) -> None:
        self.deploys(Firmware.UEFI_PXE, Drive.VIRTIO)

    def test_uefi_and_nvme(self) -> None:
        self.deploys(Firmware.UEFI_PXE, Drive.NVME)

    def test_bios_and_ahci(self) -> None:
        self.deploys(Firmware.BIOS, Drive.AHCI)


class FailureTests(DeployCase):
    def test_the_gateway_is_killed(self) -> None:
        """While the image is written. The next one hears the rest of it."""
        with self.shown():
            workflow = self.begun()
            boot = self.power(Firmware.BIOS, Drive.NVME)
            self.comes_to(boot, "Running image.write", workflow)
            self.gateway.running.kill()
            self.gateway.start("gateway-again")
            self.comes_up(boot, workflow)

    def test_the_ramdisk_agent_is_killed(self) -> None:
        """
        While it writes the image, by the kernel: it is begun anew in the same boot, is the node
        that it was, and begins the image anew.
        """
        with self.shown():
            workflow = self.begun(cmdline="sysrq_always_enabled=1")
            boot = self.power(Firmware.UEFI_PXE, Drive.VIRTIO)
            self.comes_to(boot, "Running image.write", workflow)
            boot.press("alt-sysrq-f")  # as if there were no memory left: the largest has to go
            self.comes_to(boot, "the agent ended with 137", workflow)
            self.comes_up(boot, workflow)
            self.assertEqual(len(re.findall("Joined site", boot.screen())), 1)
            self.assertGreater(len(re.findall("Running image.write", boot.screen())), 1)

    def test_the_cache_is_cut_off(self) -> None:
        """The site agent dies once the machine has joined: the image comes from its source."""
        with self.shown():
            workflow = self.begun()
            before = self.served.text().count("GET /image.zst")
            boot = self.power(Firmware.BIOS, Drive.AHCI)
            self.comes_to(boot, "Running disk.wipe", workflow)
            self.agent.running.kill()
            self.comes_up(boot, workflow)
            self.assertEqual(self.served.text().count("GET /image.zst"), before + 1)

    def test_the_image_is_spoilt(self) -> None:
        """One bit of it: the workflow says so, and nothing is left that could boot."""
        with self.shown():
            workflow = self.begun(spoilt=True)
            boot = self.power(Firmware.BIOS, Drive.VIRTIO)
            self.comes_to(boot, "Running image.write", workflow)
            self.assertTrue(
                wait_for(lambda: self.ended(workflow)["state"] == "failed", 120),
                self.gateway.ask("workflow", "show", workflow),
            )
            # The unpacking sees it, or else the digest does.
            why = r"image\.write: failed: [a-z-]+: (unpack|verify): "
            self.assertRegex(str(self.ended(workflow)["reason"]), why)
            boot.process.stop()
            with self.disk_file.open("rb") as file:
                self.assertEqual(file.read(2 * MIB), bytes(2 * MIB))
                file.seek(-2 * MIB, 2)
                self.assertEqual(file.read(), bytes(2 * MIB))
            again = self.powered(Firmware.BIOS, Drive.VIRTIO, disk_first=True)
            self.assertTrue(again.reaches("Boot failed|not a bootable disk|No bootable", 60))
