"""A machine with an empty disk powers on, and runs the system that was decided for it."""

from unittest import TestSuite

from .case import ASKED
from .deploycase import DeployCase
from .machines import Drive, Firmware

if not ASKED:
    testSuite = TestSuite


class DeployTests(DeployCase):
    def test_bios_and_nvme(self) -> None:
        self.deploys(Firmware.BIOS, Drive.NVME)
