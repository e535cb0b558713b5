"""Where on a disk what is left would be found again, and where it is looked at afterwards."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen

from ..disks import BlockDevice
from ..image.store import END

#: Bytes of one sample, and of what file systems keep copies of their superblock in.
SAMPLE: Final = 4096
#: Where those are: LUKS's second header, where the first is large, and VMFS; btrfs (W273); the
#: labels of Ceph's BlueStore.
_COPIES: Final = (
    *(2 << 20, 4 << 20),
    *(64 << 20, 256 << 30),
    *(1 << 30, 10 << 30, 100 << 30, 1000 << 30),
)


@frozen
class Place:
    """:ivar at: bytes from where the disk begins."""

    at: int
    size: int


def ends(disk: BlockDevice) -> tuple[Place, ...]:
    """
    :returns: both ends of the disk and of every partition, and the copies that some have within:
        a partition that is made again in the same place has nothing in it (W273). In order, and
        none of them overlaps another.
    """
    extents = [(0, disk.size)]
    extents += [(each.start, each.size) for each in disk.holds if each.kind == "part"]
    found: list[tuple[int, int]] = []
    for start, size in extents:
        stop = min(start + size, disk.size)
        found += [(start, min(start + END, stop)), (max(start, stop - END), stop)]
        for copy in _COPIES:
            if start + copy + SAMPLE <= stop:
                found.append((start + copy, start + copy + SAMPLE))
    return _joined(found, disk.sector)


def _joined(found: Iterable[tuple[int, int]], sector: int) -> tuple[Place, ...]:
    """Whole sectors, the ones that touch each other as one."""
    joined: list[list[int]] = []
    for start, stop in sorted((a // sector * sector, -(-b // sector) * sector) for a, b in found):
        if stop <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        else:
            joined.append([start, stop])
    return tuple(Place(start, stop - start) for start, stop in joined)


def samples(size: int, seed: int, count: int) -> tuple[int, ...]:
    """
    :param seed: the same one gives the same places: whoever doubts can look again.
    :returns: where samples begin: the first and the last of the disk, and others anywhere.
    """
    last = size // SAMPLE - 1
    if last < 0:
        return ()
    within = {_digest(seed, each) % (last + 1) for each in range(count)}
    return tuple(each * SAMPLE for each in sorted({0, last, *within}))


def _digest(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(b"%d %d" % (seed, number)).digest())


def marker(seed: int, at: int) -> bytes:
    """:returns: what is written to a sample's place before an erase, to be gone afterwards."""
    return hashlib.shake_128(b"%d %d" % (seed, at)).digest(SAMPLE)


def zeroed(pieces: Sequence[bytes]) -> bool:
    """:returns: whether there is nothing in any of them."""
    return not any(piece.strip(b"\0") for piece in pieces)
