"""Until when a test goes on."""

from collections.abc import Callable


class Deadline:
    """Asked in a thread between two pieces of work, so that whoever waits can end it."""

    def __init__(self, seconds: Callable[[], float], lasts: float) -> None:
        """:param seconds: of a clock that only goes forward."""
        self._seconds = seconds
        self._until = seconds() + lasts
        self._stopped = False

    def stop(self) -> None:
        """Nobody waits any more."""
        self._stopped = True

    @property
    def over(self) -> bool:
        return self._stopped or self._seconds() >= self._until

    @property
    def left(self) -> float:
        """Seconds, at least none."""
        return 0.0 if self._stopped else max(self._until - self._seconds(), 0.0)
