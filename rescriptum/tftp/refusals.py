"""What a request is told that gets no file, and how often a log is told of it."""

from collections import Counter, OrderedDict
from collections.abc import Hashable

from attrs import define
from twisted.logger import Logger

from ..boot.events import LoaderRefused, record
from ..errors import Unavailable
from .wire import Error, ErrorCode, ReadRequest, WriteRequest, printable


class Busy(Unavailable):
    """As many transfers as there may be: the ROM asks again, and then there may be fewer."""

    code = "busy"


#: By :attr:`rescriptum.errors.RescriptumError.code`: what goes out, or None: silence, so that the
#: ROM asks again. Whatever is not here is the undefined error.
REFUSALS: dict[str, tuple[ErrorCode, bytes] | None] = {
    "not-found": (ErrorCode.NOT_FOUND, b"file not found"),
    "forbidden": (ErrorCode.ACCESS_VIOLATION, b"access violation"),
    "refused": (ErrorCode.ACCESS_VIOLATION, b"access violation"),
    "malformed-datagram": (ErrorCode.ILLEGAL_OPERATION, b"not a request that can be understood"),
    "mode": (ErrorCode.NO_SUCH_USER, b"only octet (binary) mode is served"),
    "noise": None,
    "unavailable": None,
    "busy": None,
    "stranger": None,
    "broadcast": None,
}

#: Seconds for which repetitions are counted instead of logged, how many kinds are known, and how
#: many of one peer: pxelinux asks in vain for a dozen names, and nobody takes the others' room.
PERIOD, KINDS, PER_PEER = 60.0, 1024, 32


def refusal(code: str) -> Error | None:
    """:returns: what to answer; None: nothing."""
    found = REFUSALS.get(code, (ErrorCode.UNDEFINED, b"cannot be served"))
    return None if found is None else Error(*found)


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


class RefusalLog:
    """The links of the way that ended before they began."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._tally = Tally()
        self._complained = -PERIOD

    def say(
        self,
        peer: tuple[str, int],
        code: str,
        reason: str,
        request: ReadRequest | WriteRequest | None,
        now: float,
    ) -> None:
        """One line for what came from this address, of this kind, for this name."""
        loader = "a datagram" if request is None else printable(request.filename)
        unsaid = self._tally.counted(peer[0], (code, loader), now)
        if self._tally.missed and now - self._complained >= PERIOD:
            self._complained = now
            self._log.warn(
                "tftp: {count} refusals were of too many kinds to log each",
                count=self._tally.missed,
            )
            self._tally.missed = 0
        if unsaid is None:
            return
        if unsaid:
            reason += f" ({unsaid} more before this)"
        record(self._log, LoaderRefused(peer=peer, loader=loader, code=code, reason=reason))
