"""
Who is answered, and who is not, with the reason; what was answered once is remembered.

One function decides for port 67 and for port 4011: a gate in one of them alone would be passed by
the other (W018).
"""

from collections.abc import Callable
from typing import Final

from attrs import define

from ..boot.entries import BootEntries, BootEntry
from ..boot.offers import Strategy
from ..interfaces import Fence
from ..values import MAC
from . import wire
from .answer import (
    BOOT_PORT,
    HEAD,
    NO_ADDRESS,
    SERVER_PORT,
    BootFiles,
    Peer,
    Silence,
    compose,
    destination,
)
from .request import Request, understood
from .strategies import Machine, Strategies
from .wire import decode

#: Machines whose last question is kept, with its answer: more than power on at once.
MOST_QUESTIONS: Final = 4096
#: Seconds for which a loader that was there is taken to be there.
FRESH: Final = 1.0

STANDBY: Final = Silence("standby", "this agent does not hold the boot lease")
NO_ENTRY: Final = Silence("no-entry", "no boot entry: the machine is left alone")
ANOTHER_SERVER: Final = Silence("another-server", "it takes what another server offered")
NO_QUESTION: Final = Silence("no-question", "neither DISCOVER nor REQUEST")

#: How a question begins: a request, of something with a MAC.
_ASKS: Final = bytes((wire.BOOTREQUEST, wire.ETHERNET, 6))

#: In one turn of the reactor: the lease's epoch, and Unix time; None: the fence is closed.
Standing = tuple[int, float] | None


@define(eq=False)
class Question:
    """
    What a machine asks, but for its xid and how long it has been asking: a ROM asks the same four
    times, and an answer that is kept takes a tenth of the time.

    :ivar port: ours, that it came to. :ivar asked: the request, from its flags on.
    :ivar peer: whom it came from.
    :ivar silence: why it can have no answer, whatever machine it is; None: it can have one.
    :ivar entry: what was prepared for the machine, after ``looked`` changes of that table.
    :ivar machine: what it has to do with us; None: it was never answered.
    :ivar strategy: by which ``rest`` was made: the answer from behind its xid; None: it was not.
    :ivar made: at which Unix time.
    :ivar to: whom that goes to, address and port.
    :ivar client: which firmware it is, for people.
    :ivar message: ``OFFER`` or ``ACK``. :ivar boot_file: what the answer names.
    """

    port: int
    asked: bytes
    peer: Peer
    request: Request
    mac: MAC
    silence: Silence | None
    discover: bool
    ipxe: bool
    entry: BootEntry | None = None
    looked: int = -1
    machine: Machine | None = None
    strategy: Strategy | None = None
    made: float = 0.0
    client: str = ""
    message: str = ""
    boot_file: str = ""
    rest: bytes = b""
    to: tuple[str, int] = ("", 0)


# Not frozen, which takes thrice the time: there are tens of thousands a second.
@define(eq=False)
class Answer:
    """
    What goes out, in the turn of the reactor in which it was decided.

    :ivar machine: whom it is for. :ivar question: what it answers.
    :ivar ignored: whether the machine has now ignored what we said before.
    """

    datagram: bytes
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

    def standing(self) -> Standing:
        """:returns: how things are."""
        fence = self._fence
        return (fence.epoch, self._now()) if fence.is_open() else None

    def question(self, datagram: bytes, port: int, peer: Peer) -> Question | None:
        """
        :param port: ours, that it came to. :param peer: whom it came from.
        :returns: None: it is DHCP, and no request of a machine that boots from the network.
        :raises MalformedDatagram: and nothing else, when it is no DHCP message.
        """
        known = self._questions.get(datagram[28:34])
        if (
            known is not None
            and known.asked == datagram[10:]
            and datagram[:3] == _ASKS
            and known.port == port
            and (port == SERVER_PORT or known.peer == peer)
        ):
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
            port, datagram[10:], peer, request, request.mac, silence, discover, request.client.ipxe
        )

    def decide(self, question: Question, xid: bytes, standing: Standing) -> Answer | Silence:
        """
        :param xid: of the datagram that asks it.
        :param standing: of this turn of the reactor.
        """
        if standing is None:
            return STANDBY
        epoch, now = standing
        if question.looked != self._entries.changes:
            question.entry = self._entries.get(question.mac)
            question.looked = self._entries.changes
        entry = question.entry
        if entry is None or not entry.live(epoch, now):
            return NO_ENTRY
        if question.silence is not None:
            return question.silence
        machine = question.machine
        if machine is None:
            machine = question.machine = self._strategies.machine(question.request)
        ignored = machine.ignores(xid, question.discover, question.ipxe, self._strategies.learn)
        if question.strategy is not machine.strategy or not 0 <= now - question.made < FRESH:
            silence = self._prepare(question, machine.strategy, now)
            if silence is not None:
                return silence
        return Answer(HEAD + xid + question.rest, machine, question, ignored)

    def _prepare(self, question: Question, strategy: Strategy, now: float) -> Silence | None:
        """Make the answer to ``question``, and keep it. :returns: why there is none."""
        packet, question.strategy = question.request.packet, None
        composed = compose(question.request, strategy, self._files)
        if isinstance(composed, Silence):
            return composed
        to = destination(packet.datagram, question.port, question.peer)
        if to is None:
            return NO_ADDRESS
        question.message, question.boot_file = composed.message, composed.boot_file
        question.client = str(question.request.client)
        question.strategy, question.rest, question.to = strategy, composed.rest, to
        question.made = now
        # Whoever asked last goes last.
        self._questions.pop(packet.mac, None)
        if len(self._questions) >= MOST_QUESTIONS:
            del self._questions[next(iter(self._questions))]
        self._questions[packet.mac] = question
        return None
