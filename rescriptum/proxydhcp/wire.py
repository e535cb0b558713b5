"""
DHCP messages as bytes and values: RFC 2131 and 2132, RFC 3396 for options that are split.

A storm of requests comes through here, so a packet is read where it lies: one pass over the
options, and nothing else is taken out before somebody asks for it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from ..errors import MalformedDatagram

BOOTREQUEST, BOOTREPLY = 1, 2
ETHERNET: Final = 1
COOKIE: Final = b"\x63\x82\x53\x63"
#: Bytes before the options.
FIXED: Final = 240
#: RFC 1542 section 2.1: what is shorter is dropped by old ROMs and some relays (W056).
SHORTEST: Final = 300
#: RFC 2132 section 9.10: what is longer, a client need not take (W058).
LONGEST: Final = 547
#: What the ``file`` field holds with its NUL.
FILE_FIELD: Final = 128
NOWHERE: Final = bytes(4)

DISCOVER, OFFER, REQUEST, ACK = 1, 2, 3, 5

PAD, END = 0, 255
VENDOR_SPECIFIC, OVERLOAD, MESSAGE_TYPE, SERVER = 43, 52, 53, 54
VENDOR_CLASS, SERVER_NAME, BOOT_FILE, USER_CLASS = 60, 66, 67, 77
AGENT_INFORMATION, ARCHITECTURES, MACHINE_ID, IPXE = 82, 93, 97, 175
#: Inside option 43: what the client chose of a menu.
BOOT_ITEM: Final = 71
#: The options that anybody here looks at.
WANTED: Final = frozenset(
    (
        VENDOR_SPECIFIC,
        OVERLOAD,
        MESSAGE_TYPE,
        SERVER,
        VENDOR_CLASS,
        SERVER_NAME,
        BOOT_FILE,
        USER_CLASS,
        AGENT_INFORMATION,
        ARCHITECTURES,
        MACHINE_ID,
        IPXE,
    )
)


def dotted(address: bytes) -> str:
    """:param address: four bytes."""
    return ".".join(map(str, address))


@frozen
class Packet:
    """
    A DHCP message as it came.

    :ivar options: what it says, of the options that are wanted; parts of one are joined.
    """

    datagram: bytes
    options: Mapping[int, bytes]

    @property
    def operation(self) -> int:
        """:data:`BOOTREQUEST`, :data:`BOOTREPLY`, or anything else."""
        return self.datagram[0]

    @property
    def kind(self) -> int:
        """The message type; 0 where there is none, as in BOOTP."""
        value = self.options.get(MESSAGE_TYPE, b"")
        return value[0] if len(value) == 1 else 0

    @property
    def ethernet(self) -> bool:
        """Whether it has a MAC: InfiniBand, for one, has none here (W083)."""
        return self.datagram[1] == ETHERNET and self.datagram[2] == 6

    @property
    def mac(self) -> bytes:
        """Six bytes, where it is of :attr:`ethernet`."""
        return self.datagram[28:34]

    @property
    def xid(self) -> bytes:
        """The transaction, which the client makes up; a retry keeps it (W059)."""
        return self.datagram[4:8]

    @property
    def client_address(self) -> bytes:
        """``ciaddr``: what the client has already; :data:`NOWHERE`: nothing."""
        return self.datagram[12:16]

    @property
    def your_address(self) -> bytes:
        """``yiaddr``: what a server gives."""
        return self.datagram[16:20]

    @property
    def next_server(self) -> bytes:
        """``siaddr``."""
        return self.datagram[20:24]

    @property
    def relay(self) -> bytes:
        """``giaddr``; :data:`NOWHERE`: it came by no relay."""
        return self.datagram[24:28]

    @property
    def file(self) -> bytes:
        """The ``file`` field up to its NUL, unless option 52 says that options are in it."""
        if self.options.get(OVERLOAD, b"\0")[-1:] in (b"\1", b"\3"):
            return b""
        return self.datagram[108:236].partition(b"\0")[0]


def decode(datagram: bytes) -> Packet:
    """
    :returns: the message; options that are cut off at the end are left out (W057).
    :raises MalformedDatagram: and nothing else, when it is no DHCP message at all.
    """
    if datagram[236:240] != COOKIE:
        raise MalformedDatagram(f"not DHCP: {len(datagram)} bytes without its cookie")
    options: dict[int, bytes] = {}
    _read(datagram, FIXED, len(datagram), options)
    if OVERLOAD in options:
        overload = options[OVERLOAD][-1:]
        if overload in (b"\1", b"\3"):
            _read(datagram, 108, 236, options)
        if overload in (b"\2", b"\3"):
            _read(datagram, 44, 108, options)
    return Packet(datagram, options)


def _read(datagram: bytes, at: int, end: int, options: dict[int, bytes]) -> None:
    """One pass; two bytes are there for code and length, or there is no such option."""
    end -= 1
    while at < end:
        code = datagram[at]
        if code == PAD:
            at += 1
            continue
        if code == END:
            return
        start = at + 2
        at = start + datagram[at + 1]
        if code in WANTED and at <= end + 1:
            if code in options:  # RFC 3396: parts of one, in the order of their coming
                options[code] += datagram[start:at]
            else:
                options[code] = datagram[start:at]


def encode_options(options: Iterable[tuple[int, bytes]]) -> bytes:
    """:returns: them in their order, those of more than 255 bytes in parts (RFC 3396)."""
    encoded = bytearray()
    for code, value in options:
        for at in range(0, len(value) or 1, 255):
            part = value[at : at + 255]
            encoded += bytes((code, len(part))) + part
    return bytes(encoded)


def suboptions(value: bytes) -> Mapping[int, bytes]:
    """
    Read what is inside option 43, 175 and the like: codes, lengths, values, in one byte each.

    :returns: those that are whole.
    """
    found: dict[int, bytes] = {}
    at = 0
    while at + 1 < len(value) and value[at] != END:
        if value[at] == PAD:
            at += 1
            continue
        length = value[at + 1]
        if at + 2 + length > len(value):
            break
        found[value[at]] = value[at + 2 : at + 2 + length]
        at += 2 + length
    return found
