"""
The agent's half of the boot lease: which epoch it serves, and whether its fence is open.

At most one boot server of a site answers machines. A fence is opened by proof alone: a heartbeat
that the gateway recorded for this session and this epoch keeps it open for ``ttl`` from the moment
*before* that heartbeat was sent, on this process's own clock. What a frame says, and when it
arrives, opens nothing.

``now`` is seconds of ``CLOCK_BOOTTIME`` everywhere: it goes on while the machine sleeps, and nobody
sets it.
"""

from collections.abc import Callable
from typing import ClassVar, Final

from attrs import define, field, frozen
from twisted.logger import Logger

#: How long one proof holds, in ms: what a section without a ttl means, and what one may say.
TTL_MS, SHORTEST_TTL_MS, LONGEST_TTL_MS = 15_000, 3_000, 60_000
#: Heartbeats that an acknowledgement may still name; older ones are forgotten.
PENDING: Final = 16
#: Seconds between heartbeats while an epoch is unproved.
UNPROVED_PACE: Final = 1.0
#: Heartbeats in one ttl: two in a row may be lost.
BEATS: Final = 3
#: Random bits of the first heartbeat's number: those of another process are not mistaken for ours.
NUMBER_BITS: Final = 48

#: Seconds between two ticks of a timer of one second, and seconds by which the wall clock moves
#: against the fence's, that tell of a machine that was stopped.
LONGEST_TICK, LARGEST_STEP = 3.0, 1.0


@frozen
class Prove:
    """A new epoch is ours: send a heartbeat at once, and each second until one is acknowledged."""

    epoch: int


@frozen
class GaveUp:
    """
    Send a release of ``epoch``, in a later turn of the reactor than the last answer, and again
    until the gateway has answered it.
    """

    epoch: int


@frozen
class LeaseStatus:
    """
    What a report says of the lease.

    :ivar active: whether machines are answered. :ivar epoch: 0 on standby.
    :ivar heard_ms_ago: age of the newest proof; None without one.
    """

    active: bool
    epoch: int
    heard_ms_ago: int | None


@define
class AgentLease:
    """
    What one agent process knows of the boot lease: in memory only, empty at every start.

    :ivar beat: the next heartbeat's number; the first one is random, of 48 bits, and no number
        is used twice in a process.
    :ivar epoch: what the gateway granted to this session; 0 on standby.
    :ivar ttl: seconds, of that epoch.
    :ivar last_heard: when the newest heartbeat was sent that is proved to be recorded.
    :ivar released: neither this epoch nor one before it will ever be served again.
    :ivar pending: heartbeats that may still be acknowledged: number to epoch and time of sending.
    """

    beat: int
    epoch: int = field(default=0, init=False)
    ttl: float = field(default=TTL_MS / 1000, init=False)
    last_heard: float | None = field(default=None, init=False)
    released: int = field(default=0, init=False)
    pending: dict[int, tuple[int, float]] = field(factory=dict, init=False)

    def is_open(self, now: float) -> bool:
        """:returns: whether a machine may be answered; nothing but this says so."""
        return self.epoch > 0 and self.last_heard is not None and now - self.last_heard < self.ttl

    @property
    def unproved(self) -> bool:
        """Whether an epoch was granted that no heartbeat has proved yet."""
        return self.epoch > 0 and self.last_heard is None

    def pace(self, usual: float) -> float:
        """
        :param usual: seconds between heartbeats, as the gateway welcomed this session.
        :returns: seconds until the next heartbeat.
        """
        if self.unproved:
            return UNPROVED_PACE
        return min(usual, self.ttl / BEATS) if self.epoch else usual

    def heartbeat(self, now: float) -> tuple[int, int]:
        """
        Begin a heartbeat. A transport that repeats its request does not call this again.

        :param now: read before the request is built.
        :returns: the number and the epoch that it carries.
        """
        number = self.beat
        self.beat = number + 1
        self.pending[number] = (self.epoch, now)
        if len(self.pending) > PENDING:
            del self.pending[next(iter(self.pending))]
        return number, self.epoch

    def acknowledged(self, beat: int, epoch: int) -> None:
        """
        The gateway says that it recorded a heartbeat under an epoch: the one thing that opens the
        fence. One that we did not send for the epoch that we serve says nothing.
        """
        asked, sent = self.pending.get(beat, (0, 0.0))
        if epoch != asked or epoch != self.epoch or epoch <= self.released:
            return
        self.last_heard = sent if self.last_heard is None else max(self.last_heard, sent)

    def section(self, active: bool, epoch: int, ttl_ms: int | None) -> Prove | GaveUp | None:
        """
        The lease section of the desired state, however old it is.

        :param ttl_ms: of that epoch; None: 15 s.
        :returns: what to do about it; None: nothing.
        :raises ValueError: for a ttl that no gateway grants; nothing has changed then.
        """
        if epoch <= self.released:
            return None
        if not active:
            return GaveUp(self.give_up(epoch))
        if epoch <= self.epoch:
            return None
        ttl_ms = TTL_MS if ttl_ms is None else ttl_ms
        if not SHORTEST_TTL_MS <= ttl_ms <= LONGEST_TTL_MS:
            raise ValueError(f"a ttl between {SHORTEST_TTL_MS} and {LONGEST_TTL_MS} ms: {ttl_ms}")
        self.epoch, self.ttl, self.last_heard = epoch, ttl_ms / 1000, None
        return Prove(epoch)

    def give_up(self, epoch: int) -> int:
        """
        Never serve ``epoch`` again, nor one before it: for whoever stops by itself.

        :returns: the epoch that a release frame is to name; 0: none.
        """
        self.released = max(self.released, epoch)
        if self.epoch <= epoch:
            self.epoch, self.last_heard = 0, None
        return epoch

    def begin_session(self) -> int:
        """
        Forget what the last session asked; frames of its stream are dropped from here on.

        :returns: the epoch that a release frame is to name; 0: none.
        """
        self.pending.clear()
        return self.give_up(self.epoch)

    def distrust(self) -> None:
        """Close the fence until a heartbeat is proved that is sent from now on: after a stall."""
        self.pending.clear()
        self.last_heard = None

    def status(self, now: float) -> LeaseStatus:
        """:returns: what a report says at ``now``."""
        heard = None if self.last_heard is None else round((now - self.last_heard) * 1000)
        return LeaseStatus(self.is_open(now), self.epoch, heard)


@define
class Stall:
    """
    Notices that the machine was stopped, its clock perhaps as well: fed by a timer of one second.

    A hypervisor that stops a guest and its clock is outside what a lease can withstand; this makes
    it short where the guest can see it at all.
    """

    _fence: float | None = field(default=None, init=False)
    _wall: float = field(default=0.0, init=False)

    def ticked(self, now: float, wall: float) -> bool:
        """
        :param wall: seconds of the wall clock, which anybody may set.
        :returns: whether proofs from before are to be distrusted.
        """
        before, self._fence = self._fence, now
        wall_before, self._wall = self._wall, wall
        if before is None:
            return False
        passed = now - before
        return passed > LONGEST_TICK or abs(wall - wall_before - passed) > LARGEST_STEP


@define
class LeaseFence:
    """
    The fence as the boot services ask it.

    :ivar late: answers that were handed over with the fence open, and closed right after: a process
        that is stopped between its last look and the sending makes one of them at most.
    """

    _log: ClassVar[Logger] = Logger()

    _lease: AgentLease
    _clock: Callable[[], float]
    late: int = field(default=0, init=False)

    @property
    def epoch(self) -> int:
        """What boot entries and token requests are bound to; 0 on standby."""
        return self._lease.epoch

    def is_open(self) -> bool:
        """:returns: whether a machine may be answered, in this turn of the reactor."""
        return self._lease.is_open(self._clock())

    def sent(self) -> None:
        """An answer was handed over: read the clock again, and count it if it came too late."""
        if not self._lease.is_open(self._clock()):
            self.late += 1
            self._log.warn(
                "Late answer: the fence of epoch {epoch} closed while it was sent; {late} so far",
                epoch=self.epoch,
                late=self.late,
            )
