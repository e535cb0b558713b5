"""A machine that a rack's group describes installs itself once, says so, and boots its own disk."""

from unittest import TestSuite

from . import assets, disks
from .boots import IDENTITY, MAC, BootTestCase, fields
from .case import ASKED
from .machines import Firmware, Machine
from .network import SERVER

if not ASKED:
    testSuite = TestSuite

TOKEN = "lab-installed-token"
GROUP = """#!ipxe
echo {{ mac }} of rack {{ group }}
set arguments rack={{ group }} serial={{ serial | default("none") }} asked=${mac:hexhyp}
"""
MACHINE = """# answer: extends rack-a
kernel http://${next-server}:8001/tiny/kernel initrd=initrd console=ttyS0 panic=-1 ${arguments}
initrd http://${next-server}:8001/tiny/initrd
boot
"""


class InstalledTests(BootTestCase):
    def report(self, token: str) -> str:
        """:returns: the status that an installer's report gets, from another host."""
        url = f"http://{SERVER}:8000/installed?mac={MAC}"
        done = self.network.call(
            "dhcp",
            [
                *("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", "POST"),
                *("-H", f"Authorization: Bearer {token}", url),
            ],
        )
        return done.stdout

    def test_once_and_then_its_own_disk(self) -> None:
        """
        S46. Its script is a group's and its own, laid over each other and filled; the kernel
        starts with what they say. A wrong token leaves it armed, the right one does not, and
        ``arm`` makes it install itself again.
        """
        self.claim()
        document = self.server.answers / IDENTITY / "boot.ipxe"
        group = self.server.answers / "groups" / "rack-a" / "boot.ipxe"
        group.parent.mkdir(parents=True)
        group.write_text(GROUP)
        document.write_text(MACHINE)
        self.server.settings["RESCRIPTUM_INSTALLED_TOKEN"] = TOKEN
        self.server.command("check", "--no-tools")
        self.power_on(Firmware.BIOS, f"{assets.MARKER} .*rack=rack-a serial=")
        with self.shown():
            [answer] = self.server.events("answer.sent")
            self.assertEqual((answer["machine"], answer["group"]), (IDENTITY, "rack-a"))
            self.assertEqual(self.report("another-token-0123"), "401")
            self.assertTrue(document.exists())
            self.assertEqual([self.report(TOKEN), self.report(TOKEN)], ["200", "200"])
            reports = self.server.events("machine.installed")
            self.assertEqual(fields(reports, "mac"), [MAC, MAC])
            machine = Machine(Firmware.BIOS, MAC, disk=self.disk(Firmware.BIOS))
            self.boot(machine, disks.MARKER)
            self.assertEqual(len(self.server.events("answer.sent")), 1)
            self.server.command("arm", MAC)
            self.assertEqual(document.read_text(), MACHINE)
            self.server.command("render", MAC, "--path", "/ipxe")
            self.assertEqual(self.server.complaints(), [])
