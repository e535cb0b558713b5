"""How often a log is told of the same thing: strangers cannot fill one."""

from collections import Counter, OrderedDict
from collections.abc import Hashable

from attrs import define

#: Seconds for which repetitions are counted instead of logged, how many kinds are known, and how
#: many of one peer: pxelinux asks in vain for a dozen names, and nobody takes the others' room.
PERIOD, KINDS, PER_PEER = 60.0, 1024, 32


@define
class _Seen:
    peer: str
    since: float
    unsaid: int = 0


class Tally:
    """
    Says a thing once a minute, and how often it came meanwhile: strangers cannot fill a log.

    :ivar missed: how much was not even counted by its kind, for want of room.
    """

    def __init__(self) -> None:
        self.missed = 0
        # The longest known first.
        self._seen: OrderedDict[Hashable, _Seen] = OrderedDict()
        self._peers: Counter[str] = Counter()

    def counted(self, peer: str, kind: Hashable, now: float) -> int | None:
        """
        :param kind: of what came from ``peer``.
        :returns: how often it was kept quiet since it was last said; None: keep quiet.
        """
        key = peer, kind
        seen = self._seen.get(key)
        if seen is not None and now - seen.since < PERIOD:
            seen.unsaid += 1
            return None
        unsaid = 0 if seen is None else seen.unsaid
        if seen is not None:
            self._forget(key)
        elif len(self._seen) >= KINDS or self._peers[peer] >= PER_PEER:
            self._expire(now)
        if len(self._seen) >= KINDS or self._peers[peer] >= PER_PEER:
            self.missed += 1
            return None
        self._seen[key] = _Seen(peer, now)
        self._peers[peer] += 1
        return unsaid

    def _expire(self, now: float) -> None:
        while self._seen:
            key, seen = next(iter(self._seen.items()))
            if now - seen.since < PERIOD:
                return
            self._forget(key)

    def _forget(self, key: Hashable) -> None:
        peer = self._seen.pop(key).peer
        self._peers[peer] -= 1
        if not self._peers[peer]:
            del self._peers[peer]
