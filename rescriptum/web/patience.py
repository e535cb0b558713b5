"""How long a connection waits, and for what."""

from math import ceil
from typing import TYPE_CHECKING, Final, Self

from attrs import frozen

if TYPE_CHECKING:
    from .site import Limits, Site

#: Seconds between two looks at all deadlines: one timer serves every connection.
TICK: Final = 0.25
#: Looks at a reply within the time that it may stand still.
LOOKS: Final = 4
_NEVER: Final = 1 << 40


def _ticks(seconds: float) -> int:
    return max(1, ceil(seconds / TICK))


@frozen
class Schedule:
    """A listener's limits in ticks; see :class:`rescriptum.web.site.Limits`."""

    header: int
    total: int
    body: int
    stall: int
    keepalive: int
    linger: int = 2
    close: int = 40

    @classmethod
    def of(cls, limits: "Limits") -> Self:
        total = limits.total_seconds
        return cls(
            _ticks(limits.header_seconds),
            _NEVER if total is None else _ticks(total),
            _ticks(limits.body_seconds),
            _ticks(limits.stall_seconds),
            _ticks(limits.keepalive_seconds),
        )


class Patience:
    """
    One connection's deadline.

    :ivar due: the tick at which it has come.
    :ivar since: the tick since which the next request is waited for.
    """

    def __init__(self, site: "Site") -> None:
        self._site = site
        self._schedule = site.schedule
        self.since = site.tick
        self._progress = (0, 0)
        self._stalls = 0
        self.begins()

    def begins(self) -> None:
        """The first bytes of a request are here, or a client that will send some."""
        tick = self._began = self._site.tick
        self.due = tick + self._schedule.header

    def body(self) -> None:
        """A body is to follow."""
        self.due = min(self._began + self._schedule.total, self._site.tick + self._schedule.body)

    def answer(self) -> None:
        """The request is here, its reply is being found."""
        self.due = min(self._began + self._schedule.total, self._site.tick + self._schedule.stall)

    def sending(self) -> None:
        """The reply is under way."""
        look = max(1, self._schedule.stall // LOOKS)
        self.due = min(self._began + self._schedule.total, self._site.tick + look)

    def idle(self) -> None:
        """The reply has gone; another request may come."""
        tick = self.since = self._site.tick
        self.due = tick + self._schedule.keepalive

    def forever(self) -> None:
        """The reply may take as long as it likes, and stand still."""
        self.due = _NEVER

    def soon(self, ticks: int) -> None:
        """Something is to happen by itself within ``ticks``."""
        self.due = self._site.tick + ticks

    @property
    def over(self) -> bool:
        """Whether the time for request and reply together has passed."""
        return self._site.tick >= self._began + self._schedule.total

    def stalled(self, sent: int, waiting: int) -> bool:
        """
        Whether several looks in a row found the client to have taken nothing.

        :param sent: bytes of the reply that have left.
        :param waiting: of them, those that the client has not confirmed.
        """
        progress = (sent, waiting)
        self._stalls = self._stalls + 1 if progress == self._progress else 0
        self._progress = progress
        return self._stalls >= LOOKS
