"""
Every byte of an answer, from what a machine asks and how it is to be answered.

The same on port 67 and on port 4011: what the answers carry is what real firmware took.
"""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from typing import Final

from attrs import field, frozen

from ..boot.loaders import SERVED
from ..boot.offers import Strategy
from ..boot.scripts import site_script
from . import wire
from .request import Client, Fetches, Request
from .wire import NOWHERE, dotted, encode_options

SERVER_PORT, CLIENT_PORT, BOOT_PORT = 67, 68, 4011
#: Whom a datagram came from: address and port, and two more of IPv6.
Peer = tuple[str, int] | tuple[str, int, int, int]
#: To everybody on the wire that it came from: a client without an address cannot be asked (W051).
EVERYBODY: Final = "255.255.255.255", CLIENT_PORT
_MULTICAST: Final = 224
#: A reply, by Ethernet; its xid and the rest of it follow.
HEAD: Final = b"\x02\x01\x06\x00"
#: The broadcast flag. A relay sends an answer without it to ``yiaddr``, which is nowhere (W051).
_TO_EVERYBODY: Final = b"\x80\x00"
#: Bytes up to and with the xid.
_BEFORE: Final = 8

#: Option 43: "load the named file, ask nobody else" (W020), and a prompt of no seconds (W022).
_JUST_LOAD: Final = b"\x06\x01\x08"
_PROMPT: Final = b"\x0a\x04\x00PXE"
_VENDOR: Final = {
    Strategy.DIRECT: _JUST_LOAD,
    Strategy.BOUNCE: b"",
    Strategy.PROMPT: _JUST_LOAD + _PROMPT,
}
#: A Raspberry Pi's ROM takes nothing without this text in a boot menu (W069).
_PI_NAME: Final = b"Raspberry Pi Boot"
_PI_VENDOR: Final = (
    _JUST_LOAD + _PROMPT + bytes((9, 3 + len(_PI_NAME), 0, 0, len(_PI_NAME))) + _PI_NAME
)


@frozen
class BootFiles:
    """
    What a site has for each kind of client.

    :ivar server: our address, which all of them can reach. :ivar url: of our HTTP, without a slash
        at its end.
    :ivar loaders: files by the tags of the architecture table, as they are there now; what is not
        there is not offered.
    :ivar native: what a BIOS machine's own iPXE is sent to, likewise.
    :ivar tftp: whether it hands them over.
    """

    server: IPv4Address
    url: str
    loaders: Mapping[str, str] = field(
        factory=lambda: {row.tag: row.loader for row in SERVED if row.loader is not None}
    )
    native: Callable[[], str | None] = lambda: None
    tftp: bool = True

    def find(self, client: Client) -> str | None:
        """:returns: a name for TFTP, or a URL; None: nothing for this client."""
        if client.fetches is Fetches.SCRIPT:
            return site_script(self.url)
        loader = self.loaders.get(client.tag)
        if loader is None:
            return None
        if client.fetches is Fetches.URL:
            return f"{self.url}/boot/loaders/{loader}"
        if not self.tftp:
            return None
        if client.fetches is Fetches.IPXE:  # a bare name is relative to nothing there (W024)
            native = self.native() if client.name == "bios" else None
            return f"tftp://{self.server}/{native or loader}"
        return loader


@frozen
class Silence:
    """
    No answer.

    :ivar code: stable; ``reason`` for people.
    """

    code: str
    reason: str


NO_ADDRESS: Final = Silence("no-address", "its relay's address, or its own, is one of many")
TOO_LONG: Final = Silence(
    "too-long", f"the answer would have more than {wire.LONGEST} bytes, which clients need not take"
)


@frozen
class Composed:
    """
    An answer, but for its xid.

    :ivar message: ``OFFER`` or ``ACK``. :ivar boot_file: what it names.
    :ivar rest: of the datagram, from behind the xid.
    """

    message: str
    boot_file: str
    rest: bytes


def compose(request: Request, strategy: Strategy, files: BootFiles) -> Composed | Silence:
    """
    :param strategy: by which the machine is answered.
    :returns: what ``request`` is answered, whoever asks it again.
    """
    client, server = request.client, files.server.packed
    boot_file = files.find(client)
    if boot_file is None:
        return Silence("no-loader", f"there is no loader for {client}")
    discover = request.kind == wire.DISCOVER
    options = [
        (wire.MESSAGE_TYPE, bytes((wire.OFFER if discover else wire.ACK,))),
        (wire.SERVER, server),
        (wire.VENDOR_CLASS, client.vendor_class),
    ]
    if files.tftp and client.fetches is not Fetches.URL:
        options.append((wire.SERVER_NAME, str(files.server).encode("ascii")))
    # With its NUL: ROMs read on behind it, or write one there (W045, W046).
    file = boot_file.encode("ascii") + b"\0"
    options.append((wire.BOOT_FILE, file))
    if vendor := _vendor_options(client, strategy, request.item):
        options.append((wire.VENDOR_SPECIFIC, vendor))
    if request.machine_id:
        options.append((wire.MACHINE_ID, request.machine_id))
    if request.agent is not None:  # unchanged, and last: relays drop what has it not (W054)
        options.append((wire.AGENT_INFORMATION, request.agent))
    asked = request.packet.datagram
    rest = b"".join(
        (
            b"\0\0",
            asked[10:12] if asked[12:16] != NOWHERE else _TO_EVERYBODY,
            asked[12:16],  # ciaddr
            NOWHERE,  # yiaddr: addresses are another server's
            server,  # siaddr: iPXE asks for ever without it (W013)
            asked[24:44],  # giaddr and chaddr
            bytes(64),
            # Some ROMs, and shim, read the field alone; no options are ever in it (W044, W047).
            (file if len(file) <= wire.FILE_FIELD else b"").ljust(wire.FILE_FIELD, b"\0"),
            wire.COOKIE,
            encode_options(options),
            bytes((wire.END,)),
        )
    ).ljust(wire.SHORTEST - _BEFORE, b"\0")
    if len(rest) > wire.LONGEST - _BEFORE:
        return TOO_LONG
    return Composed("OFFER" if discover else "ACK", boot_file, rest)


def _vendor_options(client: Client, strategy: Strategy, item: bytes) -> bytes:
    """:returns: option 43; empty: none."""
    if client.fetches is Fetches.URL:
        return b""
    vendor = _PI_VENDOR if client.pi else _VENDOR[strategy]
    if item:
        vendor += bytes((wire.BOOT_ITEM, len(item))) + item
    # Its own end, or none at all (W023); items of more than it can hold are nobody's.
    return vendor + bytes((wire.END,)) if vendor else b""


def destination(asked: bytes, port: int, peer: Peer) -> tuple[str, int] | None:
    """
    :param asked: the request. :param port: ours, that it came to. :param peer: whom from.
    :returns: None: an address of many or no port, which only a forger asks from.
    """
    if port == BOOT_PORT and peer[0] != "0.0.0.0":
        return (
            (peer[0], peer[1]) if peer[1] else None
        )  # EDK2 asks from 4011, and listens there (W011, W019)
    client, relay = asked[12:16], asked[24:28]
    if relay != NOWHERE:
        address, to = relay, SERVER_PORT  # not whence it came (W053)
    elif client != NOWHERE:
        address, to = client, CLIENT_PORT
    else:
        return EVERYBODY
    return (dotted(address), to) if address[0] < _MULTICAST else None
