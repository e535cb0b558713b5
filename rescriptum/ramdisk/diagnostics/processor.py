"""One computation that has one right result, on each thread of a processor."""

import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b, sha256
from typing import Final

from attrs import frozen

from .deadline import Deadline

_ROUNDS: Final = 32
_BYTES: Final = 64 * 1024
#: 2**521 - 1, a prime: multiplications of long numbers.
_PRIME: Final = (1 << 521) - 1
#: What :func:`computed` returns wherever a processor is right.
RIGHT: Final = "08876103786ad5d8eb25bfbdf4a5671ecfaa6888602023ad87d921da7cd6fdb9"


@frozen
class Computed:
    """:ivar core: its number. :ivar times: how often. :ivar wrong: how often it was not right."""

    core: int
    times: int
    wrong: int


def computed() -> str:
    """:returns: the end of a chain in which every mistake stays: shifts, products, memory."""
    state = b"\x01"
    for _ in range(_ROUNDS):
        block = (state * (_BYTES // len(state) + 1))[:_BYTES]
        packed = zlib.compress(block, 1)
        power = pow(int.from_bytes(state, "big"), _PRIME // 3, _PRIME)
        state = b"".join(
            (
                sha256(block).digest(),
                blake2b(zlib.decompress(packed), digest_size=32).digest(),
                zlib.crc32(block).to_bytes(4, "big"),
                power.to_bytes(66, "big"),
            )
        )
    return sha256(state).hexdigest()


def tried(
    cores: Sequence[int],
    on: Callable[[int], None],
    deadline: Deadline,
    share: Callable[[float], Deadline],
    compute: Callable[[], str] = computed,
) -> tuple[Computed, ...]:
    """
    :param on: lets this thread run on one of them from now on.
    :param share: makes a deadline that is so many seconds away.
    :returns: of each that its turn came to: all of them, unless there is nobody who waits.
    """
    found = []
    for number, core in enumerate(cores):
        until = share(deadline.left / (len(cores) - number))
        on(core)
        times = wrong = 0
        while not times or not (until.over or deadline.over):
            times += 1
            wrong += compute() != RIGHT
        found.append(Computed(core, times, wrong))
    return tuple(found)
