"""How long a pull waits before it is tried again."""

from typing import Final

#: Seconds: the first ceiling, the last one, and after bytes that were not the right ones: the
#: whole image would come again, and most likely be the same.
SHORTEST, LONGEST, WRONG = 1.0, 120.0, 900.0
_DOUBLINGS: Final = 7


def pause(failures: int, jitter: float) -> float:
    """
    :param failures: in a row, this one included, none of which brought anything.
    :param jitter: at random, at least 0 and less than 1.
    :returns: seconds: the upper half of a ceiling that doubles.
    """
    ceiling = min(LONGEST, SHORTEST * 2.0 ** min(max(0, failures - 1), _DOUBLINGS))
    return ceiling * (1 + jitter) / 2
