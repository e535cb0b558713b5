"""
One read as the server sees it, sans-IO: it decides which blocks leave when.

It counts blocks from 1 without roll-over; only what comes from the wire is modulo 65536 (W121).
Times are seconds of any monotonic clock, handed in.

Retransmission (W118 to W120, W129): the first wait is a second, then it doubles up to eight, five
resends in all, so that 31 seconds of silence end it. A client's ``timeout`` replaces the waits; it
is then asked for at least 25 seconds and never for more than 60. An acknowledgement that comes
again causes one resend of the same blocks at most, and only after a quarter of a second of silence
unless windows are used: there it reports a gap (RFC 7440 section 4).
"""

from enum import Enum

from attrs import frozen

from .options import Negotiated
from .wire import Acknowledgement, Error, ErrorCode, Message, printable

#: Seconds between sends of the same blocks; after the last of them it is over.
WAITS = (1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
#: With the client's own interval: seconds of silence that end a transfer, at least and at most.
PATIENCE, LONGEST = 25.0, 60.0
#: No transfer takes longer, however steadily a client acknowledges.
LIFETIME = 1800.0
#: Seconds of silence before a repeated acknowledgement is taken for a loss.
SILENCE = 0.25
#: Seconds of silence after which the same request is no duplicate on its way.
RESTART = 1.0


class Ending(Enum):
    """How a transfer ends."""

    SENT = "sent"
    UNCONFIRMED = "unconfirmed"  # all is sent and the last acknowledgement is missing (W123)
    PROBED = "probed"  # the client wanted to know the size (W100, W101)
    STOPPED = "stopped"  # the client ended it
    FAILED = "failed"


@frozen
class Outcome:
    """
    The end.

    :ivar reason: for people; empty when all went well.
    """

    ending: Ending
    reason: str = ""


@frozen
class Step:
    """
    What to do now; all of it may be nothing.

    :ivar offer: send the options' acknowledgement.
    :ivar first: the first block to send.
    :ivar count: how many, from ``first`` on.
    :ivar again: whether any of it was sent before.
    :ivar outcome: the transfer is over.
    """

    offer: bool = False
    first: int = 0
    count: int = 0
    again: bool = False
    outcome: Outcome | None = None


NOTHING = Step()


def blocks_of(size: int, blksize: int) -> int:
    """A last, short one is always there, if need be empty (W122)."""
    return size // blksize + 1


class Transfer:
    """
    The state of one read.

    :ivar offer: the options' acknowledgement as it goes out; None: there is none.
    :ivar blocks: how many there are.
    :ivar acked: how many the client has confirmed.
    :ivar sent: the highest that was sent.
    :ivar heard: whether the client ever acknowledged anything.
    :ivar retransmits: how many blocks, or option acknowledgements, were sent again.
    """

    def __init__(self, size: int, terms: Negotiated, now: float) -> None:
        self.size = size
        self.terms = terms
        self.blocks = blocks_of(size, terms.blksize)
        self.acked = 0
        self.sent = 0
        self.heard = False
        self.retransmits = 0
        answer = terms.acknowledgement
        self.offer = None if answer is None else answer.encode()
        self._offering = answer is not None
        self._began = self._sent_at = self._moved_at = now
        self._resends = 0  # by the clock, since the last progress
        self._early = False  # whether a repetition was already honoured since then
        self._shrunk = False

    def begin(self, now: float) -> Step:
        """The answer to the request: the options, or the first window."""
        self._sent_at = now
        return Step(offer=True) if self._offering else self._window()

    def received(self, message: Message, now: float) -> Step:
        """What came on the transfer's own port."""
        if isinstance(message, Acknowledgement):
            return self._acknowledged(message.number, now)
        if isinstance(message, Error):
            return self._stopped(message)
        return NOTHING

    def repeated(self, now: float) -> Step:
        """
        The request came again from the same port: it joins this transfer (W124).

        Only where blocks were acknowledged and nothing moved for a second, the client has begun
        anew: then this one is over.
        """
        if not self.heard:
            return self._repetition(now, patient=False)
        return NOTHING if now - self._moved_at < RESTART else self.replaced()

    def replaced(self) -> Step:
        """The client asked for something else from the same port."""
        if self._unconfirmed:
            return Step(outcome=Outcome(Ending.UNCONFIRMED))
        return Step(outcome=Outcome(Ending.STOPPED, "the client asked anew"))

    def ticked(self, now: float) -> Step:
        """Time has passed: once a quarter of a second is often enough."""
        if now - self._began > LIFETIME:
            return Step(outcome=Outcome(Ending.FAILED, f"not done in {LIFETIME:.0f} seconds"))
        waits = self.terms.timeout
        if waits is None:
            over = self._resends >= len(WAITS) - 1
            wait = WAITS[self._resends]
        else:
            silent = waits * (self._resends + 1)
            wait = min(waits, LONGEST - waits * self._resends)
            over = silent >= LONGEST or (silent >= PATIENCE and self._resends >= len(WAITS) - 1)
        if now - self._sent_at < wait:
            return NOTHING
        if over:
            return Step(outcome=self._given_up())
        self._resends += 1
        # A window that was lost twice shrinks to 1 (W111), every other time: a client that has got
        # this one block owes no acknowledgement before the rest of its window (RFC 7440).
        self._shrunk = self._resends % 2 == 0
        return self._resend(now)

    def refused(self) -> Step:
        """The client's port is closed (ICMP)."""
        if self._offering and self.terms.sized:
            return Step(outcome=Outcome(Ending.PROBED))
        if self._unconfirmed:
            return Step(outcome=Outcome(Ending.UNCONFIRMED))
        return Step(outcome=Outcome(Ending.FAILED, "the client closed its port"))

    @property
    def bytes_acked(self) -> int:
        return min(self.size, self.acked * self.terms.blksize)

    @property
    def straight(self) -> bool:
        """Whether all that is sent and unconfirmed is exactly one window, in order, sent once."""
        return not (self._offering or self._shrunk or self._early) and self.sent == min(
            self.acked + self.terms.windowsize, self.blocks
        )

    def advanced(self, acked: int, sent: int, now: float) -> None:
        """The shell's fast path has gone on by itself, window by window, as :attr:`straight`."""
        self.acked, self.sent, self.heard = acked, sent, True
        self._progress(now)

    def _acknowledged(self, number: int, now: float) -> Step:
        if self._offering:
            if number != 0:
                return NOTHING
            self._offering = False
            self.heard = True
            self._progress(now)
            return self._window()
        fresh = (number - self.acked) & 0xFFFF
        if fresh > self.sent - self.acked:
            return NOTHING  # of the past or of the future (W126)
        if fresh == 0:
            return self._repetition(now, patient=self.terms.windowsize == 1)
        self.acked += fresh
        self.heard = True
        if self.acked == self.blocks:
            return Step(outcome=Outcome(Ending.SENT))
        lost = self.acked < self.sent
        self._progress(now)
        return self._window(again=lost)

    def _progress(self, now: float) -> None:
        self._sent_at = self._moved_at = now
        self._resends = 0
        self._early = self._shrunk = False

    def _repetition(self, now: float, patient: bool) -> Step:
        if self._early or (patient and now - self._sent_at < SILENCE):
            return NOTHING
        self._early = True
        return self._resend(now)

    def _resend(self, now: float) -> Step:
        self._sent_at = now
        if self._offering:
            self.retransmits += 1
            return Step(offer=True, again=True)
        return self._window(again=True)

    def _window(self, again: bool = False) -> Step:
        first = self.acked + 1
        room = 1 if self._shrunk else self.terms.windowsize
        count = min(room, self.blocks - self.acked)
        if again:
            self.retransmits += min(count, self.sent - self.acked)
        self.sent = max(self.sent, self.acked + count)
        return Step(first=first, count=count, again=again)

    def _stopped(self, message: Error) -> Step:
        early = self._offering and self.terms.sized
        if early and message.code in (ErrorCode.UNDEFINED, ErrorCode.OPTION_REFUSED):
            return Step(outcome=Outcome(Ending.PROBED))
        reason = f"error {message.code}"
        if message.text:
            reason += f" {printable(message.text)}"
        return Step(outcome=Outcome(Ending.STOPPED, reason))

    @property
    def _unconfirmed(self) -> bool:
        return self.heard and self.sent == self.blocks and (self.acked > 0 or self.blocks == 1)

    def _given_up(self) -> Outcome:
        if self._unconfirmed:
            return Outcome(Ending.UNCONFIRMED)
        if self._offering:
            what = "the option acknowledgement"
            return Outcome(Ending.FAILED, f"no ACK of {what}: the return path is blocked")
        if not self.heard:
            return Outcome(Ending.FAILED, "no ACK of block 1: the return path is blocked")
        if self.acked == 0:
            reason = f"no ACK of block 1: blocks of {self.terms.blksize} bytes do not arrive (MTU)"
            return Outcome(Ending.FAILED, reason)
        return Outcome(Ending.FAILED, f"no ACK of block {self.acked + 1}")
