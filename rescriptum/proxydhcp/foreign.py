"""
What other servers say, where it can be heard: the site's own DHCP server, and rivals.

Two servers that both name a boot file, or both call themselves PXE servers, make firmware load the
wrong one or none (W003, W008, W060). Each server is warned of once, with the line to remove.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define, field, frozen

from . import wire
from .wire import NOWHERE, Packet, dotted

#: Servers that are known; a stranger can make more of them up, of which nothing is said.
MOST: Final = 64


@frozen
class Finding:
    """
    What is wrong with a server's offers.

    :ivar server: its address. :ivar code: stable. :ivar reason: and ``cure``: for people.
    """

    server: str
    code: str
    reason: str
    cure: str


@define
class Foreigners:
    """
    Watches.

    :ivar own: our address in option 54.
    """

    own: bytes
    # By server: what was said of it.
    _known: dict[str, set[str]] = field(factory=dict, init=False)
    _findings: list[Finding] = field(factory=list, init=False)

    def heard(self, packet: Packet, source: str) -> tuple[Finding, ...]:
        """
        :param source: the address that it came from.
        :returns: what is to be said of its server, and was not yet.
        """
        server = packet.options.get(wire.SERVER, b"")
        if packet.operation != wire.BOOTREPLY or packet.kind not in (wire.OFFER, wire.ACK):
            return ()
        if server == self.own:
            return ()
        name = dotted(server) if len(server) == 4 else source
        told = self._known.get(name)
        if told is None:
            if len(self._known) >= MOST:
                return ()
            told = self._known[name] = set()
        new = tuple(each for each in _findings(packet, name) if each.code not in told)
        told.update(each.code for each in new)
        self._findings += new
        return new

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that was found, for whoever asks how things are."""
        return tuple(self._findings)


def _findings(packet: Packet, server: str) -> Iterator[Finding]:
    options = packet.options
    pxe = options.get(wire.VENDOR_CLASS, b"").startswith((b"PXEClient", b"HTTPClient"))
    named = bool(options.get(wire.BOOT_FILE) or options.get(wire.SERVER_NAME) or packet.file)
    if packet.your_address == NOWHERE:
        if pxe or named:
            yield Finding(
                server,
                "another-proxy",
                "another proxy DHCP server answers machines that boot, and which answer they take"
                " is chance",
                "stop it (dnsmasq: its 'dhcp-range=…,proxy' and 'pxe-service=…' lines; Windows:"
                " its WDS role), or keep it from these machines",
            )
        return
    if pxe:
        yield Finding(
            server,
            "vendor-class",
            "this DHCP server says option 60 by itself, so that machines ask it on port 4011, where"
            " it does not answer (PXE-E55)",
            "remove option 60 there (dnsmasq: 'dhcp-option=60,PXEClient'; ISC: 'option"
            " vendor-class-identifier \"PXEClient\";'; Kea: option-data 'vendor-class-identifier')",
        )
    if named:
        yield Finding(
            server,
            "boot-file",
            "this DHCP server names a boot server or a boot file too (options 66 and 67), and some"
            " firmware takes that one",
            "remove both there (dnsmasq: 'dhcp-boot=…'; ISC: 'filename' and 'next-server'; Kea:"
            " 'boot-file-name' and 'next-server')",
        )
