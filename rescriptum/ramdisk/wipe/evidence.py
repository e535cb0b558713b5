"""What is written to a disk, to be gone afterwards, and what of it is there still. All blocks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from ..image.store import BUFFER, Disk, DiskTrouble
from .places import SAMPLE, Place, marker, zeroed


def pieces(places: Sequence[Place]) -> Iterator[Place]:
    """:returns: the same bytes, in pieces that fit in a buffer."""
    for each in places:
        stop = each.at + each.size
        for at in range(each.at, stop, BUFFER):
            yield Place(at, min(BUFFER, stop - at))


def marked(seed: int, where: Sequence[int], disk: Disk) -> dict[int, bytes]:
    """
    Write marks: some drives say that they have erased, and have not (W260).

    :returns: what is there now: where nothing could be written, what was there before is to be
        gone all the same. What is empty or cannot be read says nothing, and is not among it.
    """
    for at in where:
        with suppress(DiskTrouble):
            disk.put(marker(seed, at), at)
    with suppress(DiskTrouble):
        disk.sync()
    found: dict[int, bytes] = {}
    for at in where:
        with suppress(DiskTrouble):
            found[at] = _read(disk, Place(at, SAMPLE))
    return {at: held for at, held in found.items() if not zeroed([held])}


def unchanged(held: Mapping[int, bytes], zeros: bool, disk: Disk) -> int:
    """
    :param held: what :func:`marked` returned.
    :param zeros: whether zeros alone are right: a drive may have a pattern (W268).
    :returns: how many places hold what they should not.
    :raises DiskTrouble: when nobody can tell.
    """
    wrong = 0
    for at, before in held.items():
        now = _read(disk, Place(at, SAMPLE))
        wrong += now == before or (zeros and not zeroed([now]))
    return wrong


def not_zero(places: Sequence[Place], disk: Disk) -> int:
    """
    :returns: how many places hold something, on the disk itself.
    :raises DiskTrouble: when nobody can tell.
    """
    return sum(not all(zeroed([_read(disk, piece)]) for piece in pieces([each])) for each in places)


def _read(disk: Disk, place: Place) -> bytes:
    """:raises DiskTrouble: also when there is less: nothing is not zeros."""
    found = disk.read(place.size, place.at)
    if len(found) != place.size:
        raise DiskTrouble(f"{disk.path}: {len(found)} of {place.size} bytes are read at {place.at}")
    return found
