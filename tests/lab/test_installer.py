"""Debian's own installer, out of a tree, fetches its answer from us."""

import shutil
from unittest import TestSuite

from . import assets, peers
from .case import ASKED_FOR_ALL, LabTestCase
from .machines import Firmware, Machine
from .network import SERVER

if not ASKED_FOR_ALL:
    testSuite = TestSuite

MAC = "52:54:00:12:34:57"
IDENTITY = MAC.replace(":", "-")
#: The installer unpacks 137 MB and looks for hardware before it asks for anything.
SECONDS = 420
#: It stops where it would begin to install: the answer has arrived, and there is no mirror here.
PRESEED = """# {{ mac }}
d-i preseed/early_command string echo PRESEED-FOR-{{ mac }} >/dev/console; poweroff -f
"""


class InstallerTests(LabTestCase):
    def test_fetches_its_preseed(self) -> None:
        """
        The machine is claimed, boots the installer that the catalogue recognises, and the answer
        it gets is its own.
        """
        shutil.copytree(assets.installer(), self.server.media / "debian-12")
        (self.server.media / "debian-12.media").write_text(
            "arguments = console=ttyS0 DEBIAN_FRONTEND=text\n"
        )
        machine = self.server.answers / IDENTITY
        machine.mkdir()
        (machine / "boot.ipxe").write_text(self.server.command("media", "ipxe", "debian-12"))
        (machine / "debian.preseed").write_text(PRESEED)
        with self.shown():
            self.server.start()
            peers.dnsmasq(self.network, self.server.command("boot", "dhcp-snippet"))
            self.network.capture()
            self.boot(Machine(Firmware.BIOS, MAC, memory=1024), f"PRESEED-FOR-{MAC}", SECONDS)
            [script, preseed] = self.server.events("answer.sent")
            self.assertEqual(script["machine"], IDENTITY)
            self.assertEqual((preseed["machine"], preseed["mac"]), (IDENTITY, MAC))
            self.assertIn("preseed", str(preseed["target"]))
            [request] = [each for each in self.http() if "debian-installer" in each.agent]
            self.assertEqual((request.server, request.method), (SERVER, "GET"))
            self.assertEqual(self.server.complaints(), [])
