"""``rescriptum gateway events``: what has happened, and what happens."""

import json
from typing import ClassVar

from twisted.python.usage import UsageError

from ...errors import RescriptumError, Unverified
from .asking import Asked
from .client import Gateway, Message, Told
from .screen import Columns, Screen, word
from .watch import AGAIN


class EventsOptions(Asked):
    """``events``."""

    synopsis = "Usage: rescriptum gateway events [--follow] [--site SITE] [--subject NAME]"
    longdesc = "What has happened, the oldest first; with --follow, what happens from then on too."
    optFlags: ClassVar[list[list[str | None]]] = [["follow", "f", "Go on until interrupted."]]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["site", "s", None, "At this site."],
        ["subject", None, None, "To this node, machine, workflow, …"],
        ["since", None, "0", "Only what came after the event of this number."],
    ]
    columns: ClassVar[Columns] = [
        ("seq", "seq"),
        ("at", "at"),
        ("kind", "kind"),
        ("site", "site"),
        ("subject", "subject"),
        ("data", "data"),
    ]

    def postOptions(self) -> None:
        if not (self["since"].isascii() and self["since"].isdigit()):
            raise UsageError(f"--since: not the number of an event: {self['since']!r}")

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        query = {"site": self["site"], "subject": self["subject"]}
        if not self["follow"]:
            found, cursor = [], self["since"]
            while True:
                page = await gateway.get("log", limit="500", cursor=cursor, **query)
                found += page["events"]
                if len(page["events"]) < 500:
                    break
                cursor = page["next"]
            screen.rows("events", found, self.columns)
            return 0
        return await self._follow(gateway, screen, query)

    async def _follow(self, gateway: Gateway, screen: Screen, query: dict[str, str | None]) -> int:
        last = self["since"]

        def heard(message: Message) -> None:
            nonlocal last
            if message.id is None or message.kind == "reset":
                return
            last = message.id
            if screen.as_json:
                screen.out.write(json.dumps(message.data) + "\n")
            else:
                cells = [word(message.data.get(path)) for _, path in self.columns]
                screen.said("  ".join(cells))
            screen.out.flush()

        while True:
            ended: RescriptumError = await gateway.follow(heard, last, **query)
            if isinstance(ended, (Told, Unverified)):
                raise ended
            await gateway.sleep(AGAIN)  # not reached where it is us who stop
            screen.err.write(f"{ended}; following again\n")
