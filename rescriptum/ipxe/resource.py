"""The two generated scripts as routes of the media listener."""

from collections.abc import Awaitable, Callable, Sequence

from twisted.logger import Logger

from ..boot.events import ScriptSent, record
from ..boot.scripts import Choice
from ..values import MAC
from ..web.reply import Finished, Reply
from ..web.request import Request
from ..web.routing import Routes

#: No charset that iPXE would have to guess, and never an old script (W170).
_TYPE = "text/plain; charset=us-ascii"
_FRESH = (("Cache-Control", "no-store"),)


class Scripts:
    """
    ``/ipxe/bootstrap`` and ``/ipxe/menu``.

    :ivar bootstrap: the same bytes for every machine.
    :ivar choices: what the menu offers, asked anew each time: an image that was added is there.
    """

    routes = Routes()
    _log = Logger()

    def __init__(
        self,
        bootstrap: str,
        choices: Callable[[], Awaitable[Sequence[Choice]]],
        menu: Callable[[Sequence[Choice]], str],
    ) -> None:
        self._bootstrap = _reply(bootstrap, "bootstrap")
        self._choices = choices
        self._menu = menu
        self._events = self._log  # a Logger makes itself anew each time it is looked up

    @routes.get("ipxe/bootstrap")
    def bootstrap(self, request: Request) -> Reply:
        """Who is this machine, and what was decided for it?"""
        return self._bootstrap

    @routes.get("ipxe/menu")
    async def menu(self, request: Request) -> Reply:
        """What a machine that nobody decided about may choose from."""
        return _reply(self._menu(await self._choices()), "menu")

    def finished(self, done: Finished) -> None:
        if done.request is None or not isinstance(done.about, str):
            return
        record(
            self._events,
            ScriptSent(
                peer=done.peer,
                script=done.about,
                mac=named_mac(done.request),
                size=done.sent,
                seconds=done.seconds,
                outcome=done.outcome.value,
            ),
        )

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing is kept of a connection."""


def named_mac(request: Request) -> MAC | None:
    """:returns: the machine's address where its query names one that is one."""
    if "mac=" not in request.target:
        return None
    for name, value in request.query:
        if name == "mac":
            try:
                return MAC.parse(value)
            except ValueError:
                return None
    return None


def _reply(script: str, name: str) -> Reply:
    return Reply(script.encode("ascii"), _TYPE, headers=_FRESH, about=name)
