"""What a machine says of itself when it asks: which firmware it is, and which machine."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import frozen

from ..boot.discovery import uuid_text
from ..boot.loaders import Architecture, architecture
from ..values import MAC
from . import wire
from .wire import Packet, suboptions

#: RFC 4578 section 2.1: five decimal digits, where option 93 is missing (W030, W031).
_IN_CLASS: Final = re.compile(rb"Arch:([0-9]{5})")
_USER_CLASS: Final = b"iPXE"
#: Features of option 175: without the first it cannot fetch our script, without one of the others
#: it cannot start a kernel (W037, W039): a BIOS build needs bzImage, a UEFI one its own format.
_HTTP, _BZIMAGE, _EFI = 0x13, 0x18, 0x24
#: Boards whose ROM says that it is a BIOS PC (W068): the vendor's part of the MAC tells them.
PI_VENDORS: Final = frozenset(
    bytes.fromhex(each) for each in ("b827eb", "dca632", "e45f01", "28cdc1", "d83add", "2ccf67")
)
#: IANA's number for it, which it does not say by itself.
PI: Final = 41
_BIOS: Final = 0
_ARM64: Final = "efiarm64"
#: How the control plane calls what DHCP shows; whatever is not here is ``arch-NUMBER``.
_NAMES: Final = {
    "bios": "bios",
    "efi64": "x86_64-efi",
    "efiarm64": "arm64-efi",
    "http64": "x86_64-efi-http",
    "httparm64": "arm64-efi-http",
}
#: Of option 97: a type of 0, and sixteen more.
MACHINE_ID_BYTES: Final = 17


class Fetches(Enum):
    """What a client can fetch."""

    #: A name, by TFTP: PXE firmware.
    NAME = "PXEClient"
    #: A URL of a loader: UEFI HTTP boot.
    URL = "HTTPClient"
    #: A URL of a script: iPXE with all that our scripts need.
    SCRIPT = "iPXE"
    #: Only a better iPXE.
    IPXE = "iPXE without HTTP or without the format of our kernels"


@frozen
class Client:
    """
    A kind of firmware: all that requests of one model have in common.

    :ivar number: of its architecture, as it says it.
    :ivar row: of the architecture table; None: not in it.
    :ivar pi: a Raspberry Pi's own ROM.
    """

    fetches: Fetches
    number: int
    row: Architecture | None
    pi: bool = False

    @property
    def ipxe(self) -> bool:
        """Whether it is one, not the firmware that would load one."""
        return self.fetches in (Fetches.SCRIPT, Fetches.IPXE)

    @property
    def vendor_class(self) -> bytes:
        """Option 60 of the answer: it is taken for another server's without it (W001, W061)."""
        return b"HTTPClient" if self.fetches is Fetches.URL else b"PXEClient"

    @property
    def tag(self) -> str:
        """Of whose loader it is given, in the architecture table; empty: there is none."""
        if self.pi:
            return _ARM64
        return "" if self.row is None else self.row.tag

    @property
    def one_way(self) -> bool:
        """Whether it is told its file in the same way by every strategy."""
        return self.pi or self.fetches is Fetches.URL

    @property
    def name(self) -> str:
        """Its architecture, as the control plane calls it."""
        return _NAMES.get("" if self.row is None else self.row.tag, f"arch-{self.number}")

    def __str__(self) -> str:
        named = f"architecture {self.number}" if self.row is None else self.row.client
        if self.pi:
            return "Raspberry Pi"
        return f"iPXE, {named}" if self.ipxe else named


@frozen
class Request:
    """
    A machine that boots asks.

    :ivar kind: the message type.
    :ivar server: option 54. :ivar agent: option 82, of a relay; None where they are missing.
    :ivar item: what an old ROM chose of a menu, to be said back to it (W016); empty: nothing.
    :ivar machine_id: option 97, if it can be said back as it is (W033); empty: it has none.
    """

    packet: Packet
    client: Client
    kind: int
    server: bytes | None
    agent: bytes | None
    item: bytes
    machine_id: bytes

    @property
    def mac(self) -> MAC:
        """Of the interface that asks."""
        return MAC(self.packet.mac.hex())

    @property
    def uuid(self) -> str:
        """Of its SMBIOS; empty where it does not say, or not in the form of RFC 4578."""
        return uuid_text(self.machine_id[1:]) if self.machine_id else ""


def understood(packet: Packet) -> Request | None:
    """:returns: None: it is no request of a machine that boots from the network."""
    if packet.operation != wire.BOOTREQUEST or not packet.ethernet:
        return None
    options = packet.options
    client = _client(options, packet.mac[:3] in PI_VENDORS)
    if client is None:
        return None
    machine_id = options.get(wire.MACHINE_ID, b"")
    sane = len(machine_id) == MACHINE_ID_BYTES and not machine_id[0]
    return Request(
        packet,
        client,
        packet.kind,
        options.get(wire.SERVER),
        options.get(wire.AGENT_INFORMATION),
        suboptions(options.get(wire.VENDOR_SPECIFIC, b"")).get(wire.BOOT_ITEM, b""),
        machine_id if sane else b"",
    )


def _client(options: Mapping[int, bytes], pi_vendor: bool) -> Client | None:
    vendor_class = options.get(wire.VENDOR_CLASS, b"")
    if not vendor_class.startswith((b"PXEClient", b"HTTPClient")):
        return None  # Apple's BSDP, for one, quietly (W075)
    number = _architecture(options.get(wire.ARCHITECTURES, b""), vendor_class)
    row = architecture(number)
    if _is_ipxe(options.get(wire.USER_CLASS, b"")):
        features = options.get(wire.IPXE)
        able = features is None or _able(suboptions(features), number)
        return Client(Fetches.SCRIPT if able else Fetches.IPXE, number, row)
    if vendor_class.startswith(b"HTTPClient"):
        return Client(Fetches.URL, number, row)
    if pi_vendor and number in (_BIOS, PI):  # with UEFI in it, it is like any other
        return Client(Fetches.NAME, PI, None, pi=True)
    return Client(Fetches.NAME, number, row)


def _architecture(listed: bytes, vendor_class: bytes) -> int:
    """The first number of the list that is known (W026, W027), else the first (W032)."""
    numbers = [int.from_bytes(listed[at : at + 2], "big") for at in range(0, len(listed) - 1, 2)]
    if numbers:
        known = (each for each in numbers if architecture(each) is not None)
        return next(known, numbers[0])
    said = _IN_CLASS.search(vendor_class)
    return int(said[1]) if said is not None else _BIOS


def _is_ipxe(user_class: bytes) -> bool:
    """As bare bytes, or as RFC 3004's strings with a length before each (W035)."""
    if user_class == _USER_CLASS:
        return True
    at = 0
    while at < len(user_class):
        length = user_class[at]
        if length == len(_USER_CLASS) and user_class.startswith(_USER_CLASS, at + 1):
            return True
        at += 1 + length
    return False


def _able(features: Mapping[int, bytes], number: int) -> bool:
    kernel = _BZIMAGE if number == _BIOS else _EFI
    return all(any(features.get(each, b"\0")) for each in (_HTTP, kernel))
