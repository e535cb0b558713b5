"""What an agent says of itself on its socket: ``GET /status``."""

import json
from collections.abc import Awaitable, Callable

from ..contract.structure import JSON
from ..web.reply import Finished, Reply
from ..web.request import Request
from ..web.routing import Routes


class StatusTree:
    """For whoever owns the data directory, and so may open the socket in it."""

    routes = Routes()

    def __init__(self, status: Callable[[], Awaitable[JSON]]) -> None:
        self._status = status

    @routes.get("status")
    async def status(self, request: Request) -> Reply:
        """All there is to say, as JSON; no secret."""
        told = json.dumps(await self._status(), indent=2) + "\n"
        return Reply(told.encode("utf-8"), media_type="application/json")

    def finished(self, done: Finished) -> None:
        """Nothing is logged: whoever asks sees the answer."""

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing was counted."""
