"""
Who gets which boot file, and every byte of the answer; or silence, with its reason.

One function decides for port 67 and for port 4011: a gate in one of them alone would be passed by
the other (W018). What the answers carry is what real firmware took.
"""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from typing import Final

from attrs import define, field, frozen

from ..boot.entries import BootEntries
from ..boot.loaders import ARM64_LOADER, SERVED
from ..boot.offers import Strategy
from ..boot.scripts import site_script
from ..interfaces import Fence
from ..values import MAC
from . import wire
from .request import Client, Fetches, Request, understood
from .strategies import Machine, Strategies
from .wire import NOWHERE, decode, dotted, encode_options

SERVER_PORT, CLIENT_PORT, BOOT_PORT = 67, 68, 4011
#: To everybody on the wire that it came from: a client without an address cannot be asked (W051).
EVERYBODY: Final = "255.255.255.255", CLIENT_PORT
_MULTICAST: Final = 224
#: A reply, by Ethernet.
_HEAD: Final = b"\x02\x01\x06\x00"
#: ``ciaddr`` to ``giaddr`` of a machine that has no address, on the wire that we are on.
_NO_ADDRESSES: Final = bytes(16)
#: The broadcast flag. A relay sends an answer without it to ``yiaddr``, which is nowhere (W051).
_TO_EVERYBODY: Final = b"\x80\x00"
#: Bytes up to and with the xid.
_BEFORE: Final = 8
#: Machines whose last question is kept, with its answer: more than power on at once.
MOST_QUESTIONS: Final = 4096

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
    :ivar loaders: files by the tags of the architecture table, as they are there when a question is
        first answered; what is not there is not offered.
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
        loader = ARM64_LOADER if client.pi else None
        if client.row is not None:
            loader = self.loaders.get(client.row.tag)
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


STANDBY: Final = Silence("standby", "this agent does not hold the boot lease")
NO_ENTRY: Final = Silence("no-entry", "no boot entry: the machine is left alone")
ANOTHER_SERVER: Final = Silence("another-server", "it takes what another server offered")
NO_QUESTION: Final = Silence("no-question", "neither DISCOVER nor REQUEST")
NO_ADDRESS: Final = Silence("no-address", "its relay's address, or its own, is one of many")
TOO_LONG: Final = Silence(
    "too-long", f"the answer would have more than {wire.LONGEST} bytes, which clients need not take"
)


@define(eq=False)
class Question:
    """
    What a machine asks, but for its xid and how long it has been asking: a ROM asks the same four
    times, and an answer that is kept takes a tenth of the time.

    :ivar port: ours, that it came to. :ivar asked: the request, from its flags on.
    :ivar silence: why it can have no answer, whatever machine it is; None: it can have one.
    :ivar machine: what it has to do with us; None: it was never answered.
    :ivar strategy: by which ``rest`` was made: the answer from behind its xid.
    :ivar message: ``OFFER`` or ``ACK``. :ivar boot_file: what the answer names.
    """

    port: int
    asked: bytes
    request: Request
    mac: MAC
    silence: Silence | None
    discover: bool
    ipxe: bool
    machine: Machine | None = None
    strategy: Strategy | None = None
    message: str = ""
    boot_file: str = ""
    rest: bytes = b""


# Not frozen, which takes thrice the time: there are tens of thousands a second.
@define(eq=False)
class Answer:
    """
    What goes out, in the turn of the reactor in which it was decided.

    :ivar to: address and port; :data:`EVERYBODY`: out of the interface that it came in on.
    :ivar machine: whom it is for. :ivar question: what it answers.
    :ivar ignored: whether the machine has now ignored what we said before.
    """

    datagram: bytes
    to: tuple[str, int]
    machine: Machine
    question: Question
    ignored: bool


class Policy:
    """Decides."""

    def __init__(
        self,
        files: BootFiles,
        fence: Fence,
        entries: BootEntries,
        strategies: Strategies,
        now: Callable[[], float],
    ) -> None:
        """:param now: Unix time."""
        self._files = files
        self._fence = fence
        self._entries = entries
        self._strategies = strategies
        self._now = now
        self._server = files.server.packed
        # By MAC, those that were answered; the eldest first.
        self._questions: dict[bytes, Question] = {}

    def question(self, datagram: bytes, port: int) -> Question | None:
        """
        :param port: ours, that it came to.
        :returns: None: it is DHCP, and no request of a machine that boots from the network.
        :raises MalformedDatagram: and nothing else, when it is no DHCP message.
        """
        known = self._questions.get(datagram[28:34])
        if known is not None and known.asked == datagram[10:] and known.port == port:
            return known
        request = understood(decode(datagram))
        if request is None:
            return None
        silence = None
        if request.kind not in (wire.DISCOVER, wire.REQUEST):
            silence = NO_QUESTION
        elif request.kind == wire.REQUEST and port != BOOT_PORT and request.server != self._server:
            # The address server's: a NAK to it would make the client begin again (W015, W043).
            silence = ANOTHER_SERVER
        discover = request.kind == wire.DISCOVER
        return Question(
            port, datagram[10:], request, request.mac, silence, discover, request.client.ipxe
        )

    def decide(
        self, question: Question, datagram: bytes, peer: tuple[str, int]
    ) -> Answer | Silence:
        """
        :param question: that ``datagram`` asks.
        :param peer: whom it came from.
        """
        fence = self._fence
        if not fence.is_open():
            return STANDBY
        if self._entries.live(question.mac, fence.epoch, self._now()) is None:
            return NO_ENTRY
        if question.silence is not None:
            return question.silence
        machine = question.machine
        if machine is None:
            machine = question.machine = self._strategies.machine(question.request)
        ignored = machine.ignores(
            datagram[4:8], question.discover, question.ipxe, self._strategies.learn
        )
        if question.strategy is not machine.strategy:
            silence = self._prepare(question, machine.strategy)
            if silence is not None:
                return silence
        to: tuple[str, int] = EVERYBODY
        if question.port == BOOT_PORT or datagram[12:28] != _NO_ADDRESSES:
            found = _destination(datagram, question.port, peer)
            if found is None:
                return NO_ADDRESS
            to = found
        return Answer(_HEAD + datagram[4:8] + question.rest, to, machine, question, ignored)

    def _prepare(self, question: Question, strategy: Strategy) -> Silence | None:
        """Make the answer to ``question``, and keep it. :returns: why there is none."""
        request = question.request
        client = request.client
        boot_file = self._files.find(client)
        if boot_file is None:
            return Silence("no-loader", f"there is no loader for {client}")
        options = [
            (wire.MESSAGE_TYPE, bytes((wire.OFFER if question.discover else wire.ACK,))),
            (wire.SERVER, self._server),
            (wire.VENDOR_CLASS, client.vendor_class),
        ]
        if self._files.tftp and client.fetches is not Fetches.URL:
            options.append((wire.SERVER_NAME, str(self._files.server).encode("ascii")))
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
                self._server,  # siaddr: iPXE asks for ever without it (W013)
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
        question.message = "OFFER" if question.discover else "ACK"
        question.strategy, question.boot_file, question.rest = strategy, boot_file, rest
        if len(self._questions) >= MOST_QUESTIONS:
            del self._questions[next(iter(self._questions))]
        self._questions[request.packet.mac] = question
        return None


def _vendor_options(client: Client, strategy: Strategy, item: bytes) -> bytes:
    """:returns: option 43; empty: none."""
    if client.fetches is Fetches.URL:
        return b""
    vendor = _PI_VENDOR if client.pi else _VENDOR[strategy]
    if item:
        vendor += bytes((wire.BOOT_ITEM, len(item))) + item
    # Its own end, or none at all (W023); items of more than it can hold are nobody's.
    return vendor + bytes((wire.END,)) if vendor else b""


def _destination(asked: bytes, port: int, peer: tuple[str, int]) -> tuple[str, int] | None:
    """:returns: None: an address of many or no port, which only a forger asks from."""
    if port == BOOT_PORT and peer[0] != "0.0.0.0":
        return peer if peer[1] else None  # EDK2 asks from 4011, and listens there (W011, W019)
    client, relay = asked[12:16], asked[24:28]
    if relay != NOWHERE:
        address, to = relay, SERVER_PORT  # not whence it came (W053)
    elif client != NOWHERE:
        address, to = client, CLIENT_PORT
    else:
        return EVERYBODY
    return (dotted(address), to) if address[0] < _MULTICAST else None
