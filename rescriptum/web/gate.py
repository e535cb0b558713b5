"""A listener's door: who has the token may enter, who guesses at it may not even knock."""

from collections.abc import Callable
from math import ceil

from attrs import frozen
from twisted.logger import LogLevel

from ..values import Secret
from .bearer import CHALLENGE, bears
from .bursts import Burst
from .lockout import Lockout
from .request import Request


@frozen
class Denied:
    """
    Somebody who is not let in.

    :ivar headers: that the reply has to carry.
    :ivar reason: for the log.
    :ivar told: whether it is to be logged; otherwise it is counted.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    reason: str
    told: bool


class Gate:
    """
    Asks every request for one token.

    An address that is locked out stays so with the right token too: else the lock would tell
    which one it is.
    """

    def __init__(self, token: Secret, monotonic: Callable[[], float]) -> None:
        """:param monotonic: seconds of a clock that is never set back."""
        self._token = token
        self._monotonic = monotonic
        self._lockout = Lockout()
        self._wrong = Burst("Requests without the right token", LogLevel.warn)
        self._locked = Burst("Addresses locked out", LogLevel.warn)

    def denied(self, request: Request) -> Denied | None:
        """:returns: None where ``request`` may go on."""
        now, host = self._monotonic(), request.peer[0]
        for burst in (self._wrong, self._locked):
            burst.look(now)
        seconds = self._lockout.blocked(host, now)
        if seconds:
            told = self._wrong.add(now)
            return Denied(429, _after(seconds), "locked out after too many wrong tokens", told)
        if bears(request, self._token):
            self._lockout.succeeded(host)
            return None
        seconds = self._lockout.failed(host, now)
        if seconds:
            reason = f"the token is wrong or missing: locked out for {seconds:.0f} s"
            return Denied(401, CHALLENGE, reason, self._locked.add(now))
        return Denied(401, CHALLENGE, "the token is wrong or missing", self._wrong.add(now))


def _after(seconds: float) -> tuple[tuple[str, str], ...]:
    return (("Retry-After", str(ceil(seconds))),)
