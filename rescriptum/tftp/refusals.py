"""What a request is told that gets no file, and how often a log is told of it."""

from twisted.logger import Logger

from ..boot.events import LoaderRefused, record
from ..boot.tally import PERIOD, Tally
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
    "standby": None,
    "broadcast": None,
}


def refusal(code: str) -> Error | None:
    """:returns: what to answer; None: nothing."""
    found = REFUSALS.get(code, (ErrorCode.UNDEFINED, b"cannot be served"))
    return None if found is None else Error(*found)


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
