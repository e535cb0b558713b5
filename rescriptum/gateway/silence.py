"""Which sessions are not heard any more, judged without comparing clocks."""

from collections.abc import Mapping
from typing import Final

#: Seconds, on our own clock, for which a session may be silent. Policy alone: what it proved of the
#: boot lease ends by itself, and an agent that comes back after it says Hello again.
SILENT: Final = 600.0


class Silence:
    """What one process has seen of when sessions were heard, by whichever process."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def observed(self, heard: Mapping[str, int], now: float) -> dict[str, int]:
        """
        :param heard: of every session that goes on, when it was heard last: only whether that
            changes counts, so that nobody's clock can end a session, or keep one for ever.
        :param now: seconds of a clock that is never set back, and that stands still with us.
        :returns: of those that are silent, what ``heard`` says.
        """
        for name in self._seen.keys() - heard.keys():
            del self._seen[name]
        for name, at in heard.items():
            if self._seen.get(name, (None, 0.0))[0] != at:
                self._seen[name] = (at, now)
        return {name: at for name, (at, since) in self._seen.items() if now - since >= SILENT}
