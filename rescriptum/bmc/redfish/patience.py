"""Asking again while a machine tests itself, or its BMC has something else to do (W224, W228)."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from .replies import Declined, retry_after
from .session import Session

_T = TypeVar("_T")

#: Seconds between tries: a self-test takes minutes.
WAITS: Final = (5.0, 10.0, 20.0, 30.0, 30.0, 30.0, 30.0, 30.0)
#: Seconds that an operation must have left after a wait.
_SPARE: Final = 5.0


async def patient(session: Session, ask: Callable[[], Awaitable[_T]]) -> _T:
    """
    :param ask: again and again, for as long as the answer is that it was not done and may be later.
    :raises Declined: the last one, when the operation's time will not do for another.
    """
    for wait in WAITS:
        try:
            return await ask()
        except Declined as e:
            wait = max(wait, min(retry_after(e.reply), 60))
            if not e.busy or session.left < wait + _SPARE or not await session.waited(wait):
                raise
    return await ask()
