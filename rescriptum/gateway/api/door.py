"""Who may ask: operators by their tokens; who guesses at one may not even knock."""

from collections.abc import Callable
from typing import Final

from twisted.logger import Logger, LogLevel

from ...contract import jose
from ...contract.refusals import Rejected
from ...web.bearer import presented
from ...web.bursts import Burst
from ...web.lockout import Lockout
from ...web.request import Request
from ..records import Operator, Scope

#: What operators' tokens begin with: leaked ones are found by it.
PREFIX: Final = "rsop_"


class LockedOut(Rejected):
    """:ivar seconds: for which nothing from that address is looked at."""

    def __init__(self, seconds: float) -> None:
        super().__init__("locked-out")
        self.seconds = seconds


def digest(token: str) -> str:
    """:returns: what is kept of a token: it is 256 random bits, so a plain hash tells nothing."""
    return jose.digest(token.encode("utf-8", "surrogatepass"))


class Door:
    """
    Asks every request for a token.

    An address that is locked out stays so with a right token too: else the lock would tell which
    one that is.
    """

    _log = Logger()

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """:param monotonic: seconds of a clock that is never set back."""
        self._monotonic = monotonic
        self._lockout = Lockout()
        self._wrong = Burst("Requests without an operator's token", LogLevel.warn)

    def token(self, request: Request) -> str:
        """
        :returns: the token that ``request`` presents, whatever it is.
        :raises Rejected: for an address that is locked out, and where there is no token.
        """
        seconds = self._lockout.blocked(request.peer[0], self._monotonic())
        if seconds:
            raise LockedOut(seconds)
        token = presented(request)
        if token is None:
            raise self.wrong(request)
        return token

    def wrong(self, request: Request) -> Rejected:
        """:returns: the refusal of a token that is nobody's; too many of them lock out."""
        now = self._monotonic()
        self._wrong.look(now)
        seconds = self._lockout.failed(request.peer[0], now)
        if self._wrong.add(now):
            self._log.warn(
                "No operator's token from {host}: {path}{locked}",
                host=request.peer[0],
                path=request.path[:200],
                locked=f"; locked out for {seconds:.0f} s" if seconds else "",
            )
        return Rejected("unauthorized")

    def right(self, request: Request, operator: Operator, scope: Scope) -> None:
        """:raises Rejected: for an operator who may not do that."""
        self._lockout.succeeded(request.peer[0])
        if not operator.scope.includes(scope):
            has, wants = operator.scope.value, scope.value
            raise Rejected("forbidden", f"{operator.name} has scope {has}; this takes {wants}")
