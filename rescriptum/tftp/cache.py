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
        self._entries: dict[Hashable, _Entry[_T]] = {}
        # Without users, the longest unused first: nobody looks through the others for them.
        self._idle: OrderedDict[Hashable, None] = OrderedDict()
        self._evictable = 0

    def take(self, key: Hashable) -> _T | None:
        """:returns: the value, in use until it is given back; None when there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if not entry.users:
            del self._idle[key]
            self._evictable -= entry.weight
        entry.users += 1
        return entry.value

    def reserve(self, weight: int) -> bool:
        """
        Make room for a value that is still to be made.

        :returns: whether there is any beside what is in use.
        """
        if self.held - self._evictable + weight > self.limit:
            return False
        while self.held + weight > self.limit:
            key, _ = self._idle.popitem(last=False)
            freed = self._entries.pop(key).weight
            self.held -= freed
            self._evictable -= freed
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
        entry = self._entries[key]
        entry.users -= 1
        if not entry.users:
            self._idle[key] = None
            self._evictable += entry.weight
