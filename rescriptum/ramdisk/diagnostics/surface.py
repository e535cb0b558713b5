"""Reading a disk here and there: evenly spread, whenever the time is over."""

from collections.abc import Callable, Iterator
from typing import Final

from attrs import field, frozen

from ...errors import RescriptumError
from .deadline import Deadline

#: Bytes of one read.
BLOCK: Final = 4 << 20
#: Places that cannot be read that are named: a disk that has as many is not read any further.
MOST_WRONG: Final = 16


@frozen
class Read:
    """:ivar blocks: how many were read. :ivar wrong: where it could not be, and what was said."""

    blocks: int
    of: int
    wrong: tuple[str, ...] = field(default=())


def spread(count: int) -> Iterator[int]:
    """:returns: each number below it once: wherever one stops, those before were evenly spread."""
    bits = max(count - 1, 0).bit_length()
    for number in range(1 << bits):
        place = int(f"{number:0{bits}b}"[::-1], 2) if bits else 0
        if place < count:
            yield place


def read(size: int, at: Callable[[int, int], bytes], deadline: Deadline) -> Read:
    """:param at: reads so many bytes there. :returns: what was read before the time was over."""
    count = -(-size // BLOCK)
    done, wrong = 0, list[str]()
    for block in spread(count):
        if deadline.over or len(wrong) >= MOST_WRONG:
            break
        place = block * BLOCK
        wanted = min(BLOCK, size - place)
        try:
            if len(at(wanted, place)) < wanted:
                wrong.append(f"at {place}: it ends there")
        except RescriptumError as e:
            wrong.append(f"at {place}: {e}")
        done += 1
    return Read(done, count, tuple(wrong))
