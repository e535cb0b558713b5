"""What strangers can cause any number of times, in a line or two."""

from twisted.logger import Logger, LogLevel


class Burst:
    """
    Events of one kind: the first is told at once, the others are counted.

    A burst ends with ``quiet`` seconds without an event, and is reported each ``long`` seconds.
    """

    _log = Logger()

    def __init__(self, what: str, level: LogLevel, quiet: float = 10, long: float = 60) -> None:
        """:param what: the event in a few words, for the line that counts them."""
        self._what = what
        self._level = level
        self._quiet = quiet
        self._long = long
        self._count = 0
        self._began = self._last = 0.0
        self.running = False

    def add(self, now: float) -> bool:
        """:returns: whether this one is to be told; otherwise it is counted."""
        self._last = now
        if self.running:
            self._count += 1
            return False
        self.running = True
        self._began = now
        return True

    def look(self, now: float) -> None:
        """Called now and then: says how many there were, when it is time to."""
        if not self.running:
            return
        if now - self._last >= self._quiet:
            self.running = False
        elif now - self._began < self._long:
            return
        self._began = now
        count, self._count = self._count, 0
        if count:
            self._log.emit(self._level, "{what}: {count} more", what=self._what, count=count)
