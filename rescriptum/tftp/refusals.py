"""What a request is told that gets no file, and how often a log is told of it."""

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

#: Seconds for which repetitions are counted instead of logged, and how many kinds are known.
PERIOD, KINDS = 60.0, 512


def refusal(code: str) -> Error | None:
    """:returns: what to answer; None: nothing."""
    found = REFUSALS.get(code, (ErrorCode.UNDEFINED, b"cannot be served"))
    return None if found is None else Error(*found)


@define
class _Seen:
    since: float
    unsaid: int = 0


class Tally:
    """Says a thing once a minute, and how often it came meanwhile: strangers cannot fill a log."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, _Seen] = {}

    def counted(self, kind: Hashable, now: float) -> int | None:
        """
        :returns: how often ``kind`` was kept quiet since it was last said; None: keep quiet.
        """
        seen = self._seen.get(kind)
        if seen is None:
            if len(self._seen) >= KINDS:
                self._seen = {k: s for k, s in self._seen.items() if now - s.since < PERIOD}
            if len(self._seen) >= KINDS:
                return None
            self._seen[kind] = _Seen(now)
            return 0
        if now - seen.since < PERIOD:
            seen.unsaid += 1
            return None
        unsaid, seen.since, seen.unsaid = seen.unsaid, now, 0
        return unsaid


class RefusalLog:
    """The links of the way that ended before they began."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._tally = Tally()

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
        unsaid = self._tally.counted((code, peer[0], loader), now)
        if unsaid is None:
            return
        if unsaid:
            reason += f" ({unsaid} more before this)"
        record(self._log, LoaderRefused(peer=peer, loader=loader, code=code, reason=reason))
