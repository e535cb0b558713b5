"""What tests of proxy DHCP share: a site, a network in memory, and machines that ask."""

import json
from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Self

from attrs import define, frozen
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.discovery import Discoveries
from rescriptum.boot.entries import BootEntries, BootEntry, BootKind
from rescriptum.boot.loaders import BIOS_NATIVE_LOADER
from rescriptum.boot.offers import Preferences
from rescriptum.net.udp import Arrival
from rescriptum.proxydhcp import wire
from rescriptum.proxydhcp.answer import BootFiles
from rescriptum.proxydhcp.policy import Policy
from rescriptum.proxydhcp.protocol import ProxyDHCP
from rescriptum.proxydhcp.strategies import Strategies
from rescriptum.proxydhcp.wire import Packet, decode, encode_options
from rescriptum.testing import MemoryListening, MemoryUDP, Sent
from rescriptum.values import MAC

SERVER = IPv4Address("10.0.0.1")
URL = "http://10.0.0.1:8080"
MACHINE = MAC.parse("52:54:00:12:34:56")
EPOCH = 7
INTERFACE = 3
XID = bytes.fromhex("12345678")
EVERYBODY = "255.255.255.255", 68

X64, BIOS, ARM64 = "ipxe-x86_64.efi", "ipxe-undionly.kpxe", "ipxe-arm64.efi"
SCRIPT = (
    f"{URL}/boot/ipxe?mac=${{netX/mac}}&uuid=${{uuid}}&ip=${{netX/ip}}"
    "&arch=${buildarch}-${platform}&serial=${serial:uristring}"
)


@frozen
class Vector:
    """A packet as a client sent it. :ivar source: its port, and ``port``: to which."""

    name: str
    client: str
    architecture: int | None
    message: str
    source: int
    port: int
    vendor_class: str
    packet: bytes

    @classmethod
    def read(cls, row: Mapping[str, str | int | None]) -> Self:
        architecture = row["architecture"]
        return cls(
            str(row["name"]),
            str(row["client"]),
            architecture if isinstance(architecture, int) else None,
            str(row["message"]),
            int(row["from"] or 0),
            int(row["to"] or 0),
            str(row["vendor_class"]),
            bytes.fromhex(str(row["packet"])),
        )


VECTORS = tuple(
    Vector.read(row)
    for row in json.loads((Path(__file__).parent / "fixtures/dhcp/clients.json").read_text())
)


def packet(
    options: str | bytes,
    *,
    mac: MAC = MACHINE,
    xid: bytes = XID,
    secs: int = 0,
    client: str = "0.0.0.0",
    relay: str = "0.0.0.0",
    operation: int = 1,
) -> bytes:
    """:param options: in hex, or as they are; with their end."""
    made = bytearray(240)
    made[:3] = operation, 1, 6
    made[4:8] = xid
    made[8:10] = secs.to_bytes(2, "big")
    made[10] = 0x80
    made[12:16] = IPv4Address(client).packed
    made[24:28] = IPv4Address(relay).packed
    made[28:34] = bytes.fromhex(mac.bare)
    made[236:] = wire.COOKIE
    return bytes(made) + (bytes.fromhex(options) if isinstance(options, str) else options)


def asked(
    kind: int = wire.DISCOVER,
    number: int | bytes | None = 7,
    vendor_class: bytes | None = None,
    *more: tuple[int, bytes],
) -> bytes:
    """
    :param number: of the architecture; None: none.
    :returns: options of a request, with their end.
    """
    options = [(wire.MESSAGE_TYPE, bytes((kind,)))]
    if number is not None:
        code = number if isinstance(number, bytes) else number.to_bytes(2, "big")
        options.append((wire.ARCHITECTURES, code))
    options.append((wire.VENDOR_CLASS, b"PXEClient" if vendor_class is None else vendor_class))
    return encode_options([*options, *more]) + b"\xff"


@define
class Lease:
    """
    Satisfies :class:`rescriptum.interfaces.Fence`.

    :ivar sends: answers that left; after ``closes_after`` of them it is closed.
    """

    epoch: int = EPOCH
    open: bool = True
    sends: int = 0
    closes_after: int | None = None

    def is_open(self) -> bool:
        return self.open

    def sent(self) -> None:
        self.sends += 1
        if self.sends == self.closes_after:
            self.open = False


class ProxyCase(SynchronousTestCase):
    """A server that answers :data:`MACHINE`."""

    preferences = ""
    learn = False
    files = BootFiles(SERVER, URL, native=lambda: BIOS_NATIVE_LOADER)

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.udp = MemoryUDP()
        self.lease = Lease()
        self.entries = BootEntries([BootEntry(MACHINE, BootKind.RAMDISK, epoch=EPOCH)])
        self.discovered = Discoveries(by_dhcp=True)
        self.strategies = Strategies(Preferences.parse(self.preferences), self.learn)
        self.found = 0
        self.proxy = self.make(self.files)
        self.listening = {each.port: each for each in self.listen()}

    def make(self, files: BootFiles) -> ProxyDHCP:
        policy = Policy(files, self.lease, self.entries, self.strategies, self.clock.seconds)
        return ProxyDHCP(
            self.udp,
            policy,
            fence=self.lease,
            discovered=self.discovered,
            server=SERVER.packed,
            monotonic=self.clock.seconds,
            now=self.clock.seconds,
            found=self._found,
        )

    def _found(self) -> None:
        self.found += 1

    def listen(self) -> list[MemoryListening]:
        self.proxy.listen()
        self.proxy.watch()
        return self.udp.listening

    def deliver(
        self,
        datagram: bytes,
        peer: tuple[str, int] = ("0.0.0.0", 68),
        *,
        port: int = 67,
        local: str = "10.0.0.1",
        unicast: bool | None = None,
    ) -> list[Sent]:
        """:returns: what was answered."""
        alone = peer[0] != "0.0.0.0" if unicast is None else unicast
        arrival = Arrival(datagram, peer, local, INTERFACE, alone)
        return self.listening[port].deliver(arrival)

    def answer(
        self, datagram: bytes, peer: tuple[str, int] = ("0.0.0.0", 68), *, port: int = 67
    ) -> Packet:
        """:returns: the one answer."""
        [sent] = self.deliver(datagram, peer, port=port)
        return decode(sent.datagram)

    def boot_file(self, datagram: bytes) -> str:
        """:returns: what the one answer names, in option 67."""
        value = self.answer(datagram).options[wire.BOOT_FILE]
        self.assertEqual(value[-1:], b"\0")
        return value[:-1].decode()
