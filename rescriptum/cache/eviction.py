"""Which images make room: those that were not used for the longest time, and none that is named."""

from collections.abc import Collection, Iterable

from .images import CachedImage


def evicted(
    images: Iterable[CachedImage], named: Collection[str], budget: int, coming: int = 0
) -> tuple[CachedImage, ...]:
    """
    :param images: all that there are.
    :param named: digests of those that stay, whatever the budget.
    :param budget: bytes; 0: no bound.
    :param coming: bytes of images on their way.
    :returns: what is to go, least recently used first; where the named ones alone are too much,
        that is all the others.
    """
    if not budget:
        return ()
    held = list(images)
    surplus = sum(each.size for each in held) + coming - budget
    going = []
    for each in sorted(held, key=lambda each: (each.used, each.digest)):
        if surplus <= 0:
            break
        if each.digest not in named:
            going.append(each)
            surplus -= each.size
    return tuple(going)
