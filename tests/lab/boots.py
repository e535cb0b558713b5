"""One machine, one boot, and what is to be seen of it afterwards."""

import shutil
from collections.abc import Mapping, Sequence

from . import assets, peers
from .captures import ACK
from .case import LabTestCase
from .machines import Firmware, Machine
from .network import DHCP, SERVER

MAC = "52:54:00:12:34:56"
IDENTITY = MAC.replace(":", "-")
X64 = "ipxe-x86_64.efi"


def fields(events: Sequence[Mapping[str, object]], name: str) -> list[object]:
    return [each.get(name) for each in events]


class BootTestCase(LabTestCase):
    """One machine, one boot."""

    def power_on(
        self, firmware: Firmware, marker: str, *snippet: str, dhcp: str = "dnsmasq"
    ) -> None:
        """Everything up, then the machine, until it says ``marker``."""
        with self.shown():
            self.server.start()
            text = self.server.command("boot", "dhcp-snippet", "--format", dhcp, *snippet)
            {"dnsmasq": peers.dnsmasq, "isc": peers.isc, "kea": peers.kea}[dhcp](self.network, text)
            self.network.capture()
            self.boot(Machine(firmware, MAC, disk=self.disk(firmware)), marker)

    def claim(self) -> None:
        """A tree with a kernel, and an answer that says: this machine boots from it."""
        tree = self.server.media / "tiny"
        tree.mkdir()
        for each in assets.tree().iterdir():
            shutil.copy(each, tree)
        (self.server.media / "tiny.media").write_text("arguments = console=ttyS0 panic=-1\n")
        document = self.server.answers / IDENTITY / "boot.ipxe"
        document.parent.mkdir()
        document.write_text(self.server.command("media", "ipxe", "tiny"))

    def assert_handed_over_by_their_dhcp(self, file: str) -> None:
        """The lease and the boot file came from the site's server, and name ours."""
        acks = self.dhcp(ACK)
        self.assertEqual({each.sender for each in acks}, {DHCP})
        self.assertEqual({each.next_server for each in acks}, {SERVER})
        self.assertEqual(acks[0].file, file)

    def assert_loaders_sent(self, *names: str, via: str = "tftp") -> None:
        """In this order, each whole, as the server tells it and as the bridge saw it asked."""
        sent = [each for each in self.server.events("loader.sent") if each["via"] == via]
        self.assertEqual(fields(sent, "loader"), list(names))
        self.assertEqual(fields(sent, "size"), fields(sent, "sent"))
        if via == "tftp":
            asked = dict.fromkeys(each.name for each in self.tftp() if each.name in names)
            self.assertEqual(list(asked), list(names))
            self.assertEqual({each.server for each in self.tftp()}, {SERVER} if names else set())

    def assert_no_complaints(self) -> None:
        self.assertEqual(self.server.events("loader.failed"), [])
        self.assertEqual(self.server.complaints(), [])
