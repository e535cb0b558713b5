"""A machine that hangs on a BMC is installed by one command, and then boots its own disk."""

import re
from unittest import TestSuite

from . import assets, disks, peers
from .boots import IDENTITY, MAC, BootTestCase
from .case import ASKED, BOOT_SECONDS
from .machines import Boot, Firmware, Machine
from .network import SERVER, Running, wait_for

if not ASKED:
    testSuite = TestSuite

TOKEN = "lab-installed-token"
BMC, PASSWORD = "10.77.0.9", "lab-BMC-Secret1"


class PowerTests(BootTestCase):
    """
    The BMC is the fake one, a process of its own on the same wire. What it says of its machine is
    done to QEMU here: it runs while the power is on, from the network when the override says so,
    else from its disk.
    """

    def bmc(self) -> Running:
        """:returns: once it listens; the server's controllers file names it."""
        here = self.network.directory
        self.network.host("bmc", BMC)
        (here / "password").write_text(f"{PASSWORD}\n")
        said = "echo $BMC_EVENT $BMC_POWER boot=$BMC_BOOT"
        hook = here / "hook"
        hook.write_text(f"#!/bin/sh\n{said} >>{here}/happened\n")
        hook.chmod(0o700)
        running = self.network.spawn(
            "bmc",
            "bmc",
            [
                *(*peers.RESCRIPTUM, "power", "fake-bmc", "--listen", f"{BMC}:8443"),
                *("--password-file", here / "password", "--on-power", hook),
            ],
            {"PYTHONPATH": str(assets.CHECKOUT)},
        )
        running.wait_for("password  ", 20)
        pin = re.search(r"pin +sha256/(\S+)", running.text())
        assert pin is not None
        controllers = here / "controllers.toml"
        controllers.touch(0o600)
        controllers.write_text(
            f'["{MAC}"]\nkind = "redfish"\nurl = "https://{BMC}:8443"\nuser = "admin"\n'
            f'pass = "{PASSWORD}"\npinnedpubkey = "sha256//{pin[1]}"\n'
        )
        self.server.settings["RESCRIPTUM_CONTROLLERS_FILE"] = str(controllers)
        return running

    def happened(self, count: int) -> list[str]:
        """:returns: the first things that happened to the machine, once there are so many."""
        path = self.network.directory / "happened"
        lines: list[str] = []

        def there() -> bool:
            lines[:] = path.read_text().splitlines() if path.exists() else []
            return len(lines) >= count

        self.assertTrue(wait_for(there, 20), lines)
        return lines

    def played(self, line: str, marker: str) -> Boot:
        """:param line: of a machine that was powered on. :returns: once it says ``marker``."""
        machine = Machine(
            Firmware.BIOS, MAC, disk=self.disk(Firmware.BIOS), disk_first="boot=pxe" not in line
        )
        return self.boot(machine, marker, BOOT_SECONDS)

    def test_installed_by_one_command(self) -> None:
        """
        ``install`` arms it, sets its next boot and powers it on; it boots our kernel. Once it has
        said that it is installed it is disarmed, and its next boot is its disk. No log of either
        side has the password.
        """
        self.claim()
        document = self.server.answers / IDENTITY / "boot.ipxe"
        away = self.server.answers / f"installed-{IDENTITY}" / "boot.ipxe"
        self.server.settings["RESCRIPTUM_INSTALLED_TOKEN"] = TOKEN
        with self.shown():
            bmc = self.bmc()
            self.server.start()
            peers.dnsmasq(self.network, self.server.command("boot", "dhcp-snippet"))
            self.network.capture()
            self.server.command("disarm", MAC)
            self.assertEqual(self.server.command("power", "status", MAC), f"{MAC}: off\n")
            planned = self.server.command("install", MAC, "--dry-run")
            self.assertIn("power on", planned)
            self.assertTrue(away.exists() and not document.exists())

            told = self.server.command("install", MAC)
            self.assertTrue(document.exists() and not away.exists(), told)
            override, on = self.happened(2)
            self.assertEqual((override, on), ("boot off boot=pxe", "on on boot=pxe"))
            installing = self.played(on, assets.MARKER)

            url = f"http://{SERVER}:8000/installed?mac={MAC}"
            header = f"Authorization: Bearer {TOKEN}"
            done = self.network.call("dhcp", ["curl", "-sf", "-X", "POST", "-H", header, url])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(away.exists() and not document.exists())

            self.server.command("power", "off", MAC, "--hard")
            installing.process.stop()
            self.server.command("power", "on", MAC)
            *_, off, on = self.happened(4)
            self.assertEqual((off, on), ("off off boot=", "on on boot="))
            self.played(on, disks.MARKER)
            self.assertEqual(len(self.server.events("answer.sent")), 1)
            self.assertEqual(self.server.complaints(), [])
            self.assertNotIn(PASSWORD, bmc.text() + self.tails() + told + planned)
