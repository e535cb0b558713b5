"""Patterns written to memory and read back: stuck bits, and addresses that lead to one place."""

import re
from hashlib import blake2b
from typing import Final, Protocol

from attrs import field, frozen

from .deadline import Deadline

#: Bytes of one pattern, and how many are written before they are read: more than any cache holds.
BLOCK, WINDOW = 1 << 20, 512
#: Places that are named, of those that are wrong.
MOST_WRONG: Final = 16
#: Bytes that the rest of the system keeps at least; a quarter of what is free, where that is more.
KEPT: Final = 256 << 20


class Area(Protocol):
    """Memory, in whole blocks."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: slice, /) -> bytes | bytearray: ...
    def __setitem__(self, place: slice, data: bytes, /) -> None: ...


@frozen
class Tried:
    """
    :ivar verified: bytes that were what they should be, each time that they were read.
    :ivar passes: how often all of it was. :ivar wrong: offsets of blocks that were not.
    """

    verified: int
    passes: int
    wrong: tuple[int, ...] = field(default=())


def amount(meminfo: bytes) -> int:
    """:param meminfo: ``/proc/meminfo``. :returns: bytes that may be tested, in whole blocks."""
    found = re.search(rb"^MemAvailable:\s+(\d{1,15}) kB$", meminfo, re.M)
    free = int(found[1]) * 1024 if found else 0
    return max(free - max(KEPT, free // 4), 0) // BLOCK * BLOCK


def pattern(block: int, turn: int) -> bytes:
    """
    :returns: another one for each block, so that two that are one are seen; each second turn, the
        opposite of the turn before: every bit is once set and once not.
    """
    unit = blake2b(block.to_bytes(8, "big") + (turn // 2).to_bytes(8, "big")).digest()
    if turn % 2:
        unit = bytes(each ^ 0xFF for each in unit)
    return unit * (BLOCK // len(unit))


def tried(area: Area, deadline: Deadline) -> Tried:
    """:returns: what was found before the time was over, or at the first blocks that are wrong."""
    return _Trial(area, deadline).run()


class _Over(Exception):
    """The time, or what is told of."""


class _Trial:
    def __init__(self, area: Area, deadline: Deadline) -> None:
        self._area = area
        self._deadline = deadline
        self._blocks = range(len(area) // BLOCK)
        self._verified = self._passes = 0
        self._wrong: list[int] = []

    def run(self) -> Tried:
        try:
            while self._blocks:
                self._turn(self._passes)
                self._passes += 1
                if self._wrong:
                    break
        except _Over:
            pass
        return Tried(self._verified, self._passes, tuple(sorted(set(self._wrong))))

    def _turn(self, turn: int) -> None:
        for first in self._blocks[::WINDOW]:
            window = self._blocks[first : first + WINDOW]
            for each in window:
                self._go_on()
                self._area[each * BLOCK : (each + 1) * BLOCK] = pattern(each, turn)
            self._verify(window, turn)
        self._verify(self._blocks, turn)  # what was written later changed nothing

    def _verify(self, blocks: range, turn: int) -> None:
        for each in blocks:
            self._go_on()
            at = each * BLOCK
            if self._area[at : at + BLOCK] == pattern(each, turn):
                self._verified += BLOCK
            else:
                self._wrong.append(at)

    def _go_on(self) -> None:
        if self._deadline.over or len(self._wrong) >= MOST_WRONG:
            raise _Over
