"""One operation at a time on a BMC, and some rest after each: weak ones crash otherwise (W249)."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from attrs import define, field
from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from ..contract.bmc import BmcRefusal
from ..contract.places import place

_T = TypeVar("_T")

#: Seconds between the end of an operation and the next one on the same BMC.
GAP: Final = 5.0
#: Operations that wait for one BMC, at the most.
WAITING: Final = 16


@define
class _Turn:
    """Of one BMC. :ivar free_at: when its rest is over."""

    lock: DeferredLock = field(factory=DeferredLock)
    free_at: float = 0.0


class Queues:
    """
    Who may talk to which BMC now. A BMC that hangs costs those that wait for it, and nobody else.
    """

    def __init__(self, clock: IReactorTime, gap: float = GAP) -> None:
        self._clock = clock
        self._gap = gap
        self._turns: dict[str, _Turn] = {}

    async def run(self, address: str, work: Callable[[], Awaitable[_T]]) -> _T:
        """
        Do ``work`` when it is its turn. Cancelled before, it is never begun.

        :param address: of the BMC, in any spelling.
        :raises BmcRefusal: ``conflict`` when too many wait already.
        """
        self._forget()
        turn = self._turns.setdefault(place(address), _Turn())
        if len(turn.lock.waiting) >= WAITING:
            raise BmcRefusal("conflict", f"{WAITING} operations wait for this BMC already")
        await turn.lock.acquire()
        try:
            rest = turn.free_at - self._clock.seconds()
            if rest > 0:
                # Never more than the gap: the clock may have been set back.
                await deferLater(self._clock, min(rest, self._gap))
            try:
                return await work()
            finally:
                turn.free_at = self._clock.seconds() + self._gap
        finally:
            turn.lock.release()

    def __len__(self) -> int:
        """:returns: how many BMCs are busy or at rest, or were so when last one was asked."""
        return len(self._turns)

    def _forget(self) -> None:
        now = self._clock.seconds()
        for address, turn in tuple(self._turns.items()):
            if not turn.lock.locked and turn.free_at <= now:
                del self._turns[address]
