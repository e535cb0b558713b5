"""Which files' datagrams are kept in memory, within a bound."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from attrs import define

_T = TypeVar("_T")


@define
class _Entry(Generic[_T]):
    value: _T
    weight: int
    users: int


class Cache(Generic[_T]):
    """
    Values by key, each with a weight; what nobody uses goes first, the longest unused of it.

    :ivar limit: the sum of weights, in use or not, never exceeds it.
    :ivar held: that sum.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._entries: OrderedDict[Hashable, _Entry[_T]] = OrderedDict()

    def take(self, key: Hashable) -> _T | None:
        """:returns: the value, in use until it is given back; None when there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        entry.users += 1
        return entry.value

    def reserve(self, weight: int) -> bool:
        """
        Make room for a value that is still to be made.

        :returns: whether there is any beside what is in use.
        """
        idle = [key for key, entry in self._entries.items() if not entry.users]
        in_use = self.held - sum(self._entries[key].weight for key in idle)
        if in_use + weight > self.limit:
            return False
        while self.held + weight > self.limit:
            self.held -= self._entries.pop(idle.pop(0)).weight
        self.held += weight
        return True

    def release(self, weight: int) -> None:
        """A reservation will not be used."""
        self.held -= weight

    def put(self, key: Hashable, value: _T, weight: int) -> None:
        """Keep ``value``, in use, in the room that was reserved for it."""
        self._entries[key] = _Entry(value, weight, users=1)

    def give_back(self, key: Hashable) -> None:
        """The end of one use."""
        self._entries[key].users -= 1
