"""How long an agent waits before it tries the gateway again."""

from typing import Self

from attrs import evolve, frozen

#: Seconds: the first ceiling, the last one, and how long a session counts as a good one.
SHORTEST, LONGEST, GOOD = 1.0, 60.0, 60.0
#: Ceilings double so often until they stand.
_DOUBLINGS = 6


@frozen
class Backoff:
    """
    Exponential with full jitter: many agents that lost their gateway at once come back at times
    spread over all of the wait.

    :ivar failures: since the last good session.
    """

    failures: int = 0

    def ended(self, lasted: float) -> Self:
        """
        :param lasted: seconds that the session, or the attempt, lasted.
        :returns: what the next wait is taken from.
        """
        failures = 0 if lasted >= GOOD else self.failures
        return evolve(self, failures=min(failures + 1, _DOUBLINGS + 1))

    @property
    def ceiling(self) -> float:
        """No wait is longer now."""
        return min(LONGEST, SHORTEST * 2.0 ** max(0, self.failures - 1))

    def wait(self, jitter: float) -> float:
        """
        :param jitter: at random, at least 0 and less than 1.
        :returns: seconds.
        """
        return self.ceiling * jitter
