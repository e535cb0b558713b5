"""Tests for what the ramdisk makes of DHCP answers: its script, with an ``ip`` that takes notes."""

import os
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

SCRIPT = Path(__file__).parents[2] / "ramdisk/udhcpc.sh"
#: By the name of each card, in the order of the kernel.
CARDS = {"ens1": "52:54:00:00:00:01", "ens2": "52:54:00:00:00:02"}


class NetworksTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        for each in ("bin", "etc", "run", "proc"):
            (self.here / each).mkdir(parents=True)
        for index, (name, mac) in enumerate(CARDS.items(), 2):
            card = self.here / "sys/class/net" / name
            card.mkdir(parents=True)
            (card / "address").write_text(f"{mac}\n")
            (card / "ifindex").write_text(f"{index}\n")
        (self.here / "proc/cmdline").write_text(f"quiet bc.mac={CARDS['ens2']}\n")
        ip = self.here / "bin/ip"
        ip.write_text(f'#!/bin/sh\necho "$*" >>{self.here}/asked\n')
        ip.chmod(0o755)
        text = SCRIPT.read_text()
        for each in ("/etc/", "/run/", "/proc/", "/sys/"):
            text = text.replace(each, f"{self.here}{each}")
        self.script = self.here / "udhcpc.sh"
        self.script.write_text(text)

    def bound(self, interface: str, event: str = "bound", **said: str) -> None:
        environment = {"PATH": f"{self.here / 'bin'}:{os.environ['PATH']}", "interface": interface}
        argv = ["/bin/sh", str(self.script), event]
        told = subprocess.run(
            argv, env={**environment, **said}, capture_output=True, text=True, check=False
        )
        self.assertEqual((told.returncode, told.stderr), (0, ""))

    @property
    def asked(self) -> list[str]:
        return (self.here / "asked").read_text().splitlines()

    @property
    def resolvers(self) -> list[str]:
        return (self.here / "etc/resolv.conf").read_text().splitlines()

    def test_two_ways_out(self) -> None:
        """The one that the machine booted from is taken, whichever answers first."""
        self.bound("ens1", ip="192.0.2.9", mask="25", router="192.0.2.1 192.0.2.2", dns="192.0.2.3")
        self.bound("ens2", ip="198.51.100.9", router="198.51.100.1", dns="198.51.100.3")
        self.assertEqual(
            self.asked,
            [
                "address replace 192.0.2.9/25 dev ens1",
                "route replace default via 192.0.2.1 dev ens1 onlink metric 10002",
                "address replace 198.51.100.9/24 dev ens2",
                "route replace default via 198.51.100.1 dev ens2 onlink metric 3",
            ],
        )
        self.assertEqual(self.resolvers, ["nameserver 198.51.100.3", "nameserver 192.0.2.3"])
        self.assertTrue((self.here / "run/addressed").exists())

    def test_a_network_without_a_way_out(self) -> None:
        """It takes nothing from the one that has it, and comes twice to the same."""
        self.bound("ens2", ip="198.51.100.9", router="198.51.100.1", dns="198.51.100.3")
        self.bound("ens1", ip="192.0.2.9")
        self.assertEqual(self.resolvers, ["nameserver 198.51.100.3"])
        for _ in range(2):
            self.bound(
                "ens2", "renew", ip="198.51.100.9", dns="198.51.100.3", domain="lyon.example"
            )
        self.assertEqual(self.resolvers, ["nameserver 198.51.100.3", "search lyon.example"])

    def test_what_a_shell_would_read(self) -> None:
        """Names are text: they run nothing, and no line of them is another one."""
        run = f"touch {self.here}"
        hostile = f"$({run}/a) `{run}/b`; {run}/c\\nnameserver 192.0.2.66"
        self.bound("ens1", ip="192.0.2.9", domain=hostile, hostname=hostile, bootfile=hostile)
        self.assertEqual(self.resolvers, [f"search {hostile}"])
        self.assertFalse([each for each in "abc" if (self.here / each).exists()])

    def test_other_events(self) -> None:
        for event in ("deconfig", "leasefail", "nak"):
            self.bound("ens1", event)
        self.assertEqual(list((self.here / "run").iterdir()), [])
