"""Which gateway processes of one database are still there, judged without comparing clocks."""

from collections.abc import Mapping
from typing import Final

#: Seconds, on our own clock, for which a process may stand still: its work is journalled, and
#: taking it over too early does no harm but to be done twice as a decision, once as a deed.
PATIENCE: Final = 20.0


class Peers:
    """What one process has seen of the others' beats. Its own is always among those alive."""

    def __init__(self, own: str) -> None:
        self._own = own
        self._seen: dict[str, tuple[int, float]] = {}

    def observed(self, beats: Mapping[str, int], now: float) -> frozenset[str]:
        """
        :param beats: of every process that is remembered. :param now: seconds of a clock that is
            never set back, read after the answer.
        :returns: who is alive, as far as can be told; a process seen for the first time is.
        """
        for name in self._seen.keys() - beats.keys():
            del self._seen[name]
        for name, beat in beats.items():
            if self._seen.get(name, (None, 0.0))[0] != beat:
                self._seen[name] = (beat, now)
        alive = {name for name, (_, since) in self._seen.items() if now - since < PATIENCE}
        return frozenset(alive | {self._own})

    def gone(self, alive: frozenset[str]) -> dict[str, int]:
        """:returns: the last beats of those that are not: they can be forgotten."""
        return {name: beat for name, (beat, _) in self._seen.items() if name not in alive}
