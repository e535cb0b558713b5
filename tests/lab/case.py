"""What every test of the lab shares: whether it runs at all, and what is shown when it fails."""

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from twisted.trial.unittest import SynchronousTestCase

from . import assets, peers
from .assets import CHECKOUT
from .captures import DHCPMessage, HTTPRequest, Message, TFTPRequest, messages
from .disks import bios_disk, uefi_disk
from .machines import Boot, Firmware, Machine
from .network import MACHINES, Network, sweep

#: Where these are not set a module is an empty suite to trial, by its name ``testSuite``.
ASKED = os.environ.get("LAB", "") != ""
ASKED_FOR_ALL = os.environ.get("LAB") == "all"
TOOLS = ("qemu-system-x86_64", "dnsmasq", "tcpdump", "ip", "ss", "mformat")
#: How long a boot may take: four times what it takes on a quiet machine of two cores.
BOOT_SECONDS = 120
TAIL = 3000


def _terminated(number: int, frame: FrameType | None) -> None:
    """Leave nothing behind; an exception would only be the failure of one test."""
    Network.close_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class NetworkTestCase(SynchronousTestCase):
    """
    A network of its own.

    Modules of the lab have tests only where ``LAB`` is in the environment: ``make lab`` sets it
    to ``ci``, ``make lab-all`` to ``all``. Nothing is skipped then: what is missing is a failure.

    :ivar tools: programs that it needs beside :data:`TOOLS`.
    """

    tools: tuple[str, ...] = ()
    network: Network

    def setUp(self) -> None:
        if os.geteuid() != 0:
            self.fail("the lab makes network namespaces: it needs root")
        if not Path("/dev/net/tun").exists():
            self.fail("the lab needs /dev/net/tun: modprobe tun, or --device it into the container")
        missing = [each for each in (*TOOLS, *self.tools) if shutil.which(each) is None]
        if missing:
            self.fail(f"not installed: {', '.join(missing)}; lab.md says which packages")
        signal.signal(signal.SIGTERM, _terminated)
        sweep()
        work = Path(os.environ.get("LAB_WORK") or CHECKOUT / "lab-work")
        directory = work / "run" / self.id().removeprefix("tests.lab.")
        shutil.rmtree(directory, ignore_errors=True)
        self.network = Network(directory)
        self.network.__enter__()
        self.addCleanup(self.network.close)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Where an assertion inside fails, the ends of all logs are part of the failure."""
        try:
            yield
        except (AssertionError, RuntimeError) as e:
            self.fail(f"{e}\n{self.tails()}")

    def tails(self) -> str:
        directory = self.network.directory
        parts = [f"everything is kept in {directory}"]
        for path in sorted(directory.glob("*.log")):
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", path.read_text("utf-8", "replace"))
            # A server's line of JSON begins with what matters; the fields repeat it.
            cut = "\n".join(line[:300].rstrip() for line in text.splitlines())
            parts.append(f"--- {path.name}\n{cut[-TAIL:]}")
        if (directory / "bridge.pcap").exists():
            lines = [str(each)[:300] for each in messages(directory / "bridge.pcap")]
            parts += ["--- bridge.pcap", *lines[-20:]]
        return "\n".join(parts)

    def disk(self, firmware: Firmware) -> Path:
        make = bios_disk if firmware is Firmware.BIOS else uefi_disk
        return make(self.network.directory / "disk.img")

    def boot(
        self,
        machine: Machine,
        marker: str,
        seconds: float = BOOT_SECONDS,
        bridge: str = MACHINES,
    ) -> Boot:
        """
        Power it on, and see ``marker`` on its serial line.

        EDK2 gives up with PXE-E99 about once in a hundred boots on a busy machine: it is powered
        on once more, never twice.
        """
        boot = Boot(self.network, machine, bridge)
        reached = boot.reaches(marker, seconds)
        if not reached and "PXE-E99" in boot.screen():
            boot.process.stop()
            boot = Boot(self.network, machine, bridge)
            reached = boot.reaches(marker, seconds)
        self.assertTrue(reached, f"the machine never said {marker}")
        return boot

    def seen(self) -> list[Message]:
        return messages(self.network.directory / "bridge.pcap")

    def dhcp(self, kind: int) -> list[DHCPMessage]:
        return [each for each in self.seen() if isinstance(each, DHCPMessage) and each.kind == kind]

    def tftp(self) -> list[TFTPRequest]:
        return [each for each in self.seen() if isinstance(each, TFTPRequest)]

    def http(self) -> list[HTTPRequest]:
        return [each for each in self.seen() if isinstance(each, HTTPRequest)]


class LabTestCase(NetworkTestCase):
    """A network of its own, with the boot server in it."""

    server: peers.BootServer

    def setUp(self) -> None:
        super().setUp()
        self.server = peers.BootServer(self.network, assets.loaders())
        peers.site(self.network)
