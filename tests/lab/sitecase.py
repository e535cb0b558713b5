"""A site: a DHCP server that knows nothing of booting, and our agent with proxy DHCP beside it."""

from pathlib import Path

from . import assets, peers, sites
from .boots import MAC, fields
from .captures import ACK, OFFER, DHCPMessage, HTTPRequest, TFTPRequest
from .case import BOOT_SECONDS, NetworkTestCase
from .machines import Boot, Firmware, Machine
from .network import DHCP, MACHINES

X64, ARM64 = "ipxe-x86_64.efi", "ipxe-arm64.efi"
#: What iPXE asks for by itself once it runs.
AUTOEXEC = "autoexec.ipxe"


class SiteTestCase(NetworkTestCase):
    """
    :ivar ttl_ms: of the boot lease.
    :ivar agent: the first of the site.
    """

    tools: tuple[str, ...] = ("curl", "qemu-system-aarch64")
    ttl_ms = 15_000

    def setUp(self) -> None:
        super().setUp()
        with self.shown():
            peers.site(self.network)
            self.gateway = sites.Gateway(self.network, self.ttl_ms)
            self.agent = self.agent_named("a")
            self.agent.until("active")

    def ramdisk(self) -> Path | None:
        """:returns: kernel and initrd that machines boot; None: those that say their marker."""
        return None

    def agent_named(self, name: str) -> sites.SiteAgent:
        """:returns: started."""
        agent = sites.SiteAgent(self.network, name, self.gateway, self.ramdisk())
        self.addCleanup(agent.remove)
        agent.start()
        return agent

    def prepare(self, firmware: Firmware) -> None:
        """As an operator does it."""
        self.gateway.prepare("m1", MAC, f"console={firmware.console} panic=-1")

    def power_on(
        self,
        firmware: Firmware,
        marker: str,
        bridge: str = MACHINES,
        seconds: float = BOOT_SECONDS,
    ) -> Boot:
        """Until it says ``marker``; it has a disk of its own, which it could boot."""
        disk = None if firmware.arm64 else self.disk(firmware)
        return self.boot(Machine(firmware, MAC, disk=disk), marker, seconds, bridge)

    def boots_the_ramdisk(
        self,
        firmware: Firmware,
        *loaders: str,
        server: str = "dnsmasq",
        bridge: str = MACHINES,
    ) -> None:
        """All of it: prepared, powered on, the kernel started; told by the agent and the bridge."""
        with self.shown():
            sites.plain_dhcp(self.network, server)
            self.network.capture()
            self.prepare(firmware)
            marker = rf"{assets.MARKER} .*bc\.token=\S+.*bc\.mac={MAC}"
            self.power_on(firmware, marker, bridge=bridge)
            self.assert_told_beside_their_dhcp()
            self.assert_sent(firmware, *loaders)
            self.assertEqual(self.agent.complaints(), [])

    def assert_told_beside_their_dhcp(self) -> None:
        """Addresses are theirs, without a boot file; boot files are ours, without an address."""
        acks = [each for each in self.answers(MAC) if each.kind == ACK and each.sender == DHCP]
        self.assertEqual({(each.file, each.option(67)) for each in acks}, {("", "")})
        ours = [each for each in self.answers(MAC) if each.sender == self.agent.address]
        self.assertIn(OFFER, {each.kind for each in ours})
        self.assertEqual({each.next_server for each in ours}, {self.agent.address})
        self.assertEqual(self.agent.events("dhcp.refused"), [])
        self.assertEqual(self.agent.events("dhcp.ignored"), [])

    def assert_sent(self, firmware: Firmware, *loaders: str) -> None:
        """Each file whole, and one script that is for this machine."""
        sent = self.agent.events("loader.sent")
        self.assertEqual(fields(sent, "loader"), list(loaders))
        scripts = [each for each in self.agent.events("script.sent") if each["mac"] == MAC]
        self.assertEqual(fields(scripts, "script"), ["ramdisk"])
        suffix = "-arm64" if firmware.arm64 else ""
        for name in ("kernel", "initrd"):
            [event] = self.agent.events(f"{name}.sent")
            self.assertEqual((event["path"], event["status"]), (f"{name}{suffix}", 200))
            sent.append(event)
        self.assertEqual(fields(sent, "size"), fields(sent, "sent"))

    def answers(self, mac: str) -> list[DHCPMessage]:
        """:returns: what servers said to a machine."""
        return [each for each in self.dhcp(OFFER) + self.dhcp(ACK) if each.mac == mac]

    def asked_of(self, agent: sites.SiteAgent) -> list[TFTPRequest | HTTPRequest]:
        """:returns: what was fetched from it, or was to be."""
        asked: list[TFTPRequest | HTTPRequest] = [*self.tftp(), *self.http()]
        return [each for each in asked if each.server == agent.address]
