"""What commands that ask a gateway have in common."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, TextIO

from twisted.python.usage import UsageError

from ...errors import Refused
from ..options import Command
from ..requests import MAX_BODY, contents
from .client import Fields, Gateway, gateway
from .reach import reached
from .screen import Columns, Screen

_DURATION: Final = re.compile(r"([0-9]{1,9})([smhd]?)", re.ASCII)
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


class Asked(Command):
    """
    A command that asks a gateway.

    :cvar takes: names of its arguments; in brackets: one that may be left out.
    :ivar words: the arguments.
    """

    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["gateway", "g", None, "https://HOST:PORT (or RESCRIPTUM_GATEWAY_URL)."],
        ["token-file", None, None, "An operator's token (or RESCRIPTUM_GATEWAY_TOKEN)."],
        ["pin", None, None, "Of the gateway's CA: sha256/… as 'rescriptum gateway pins' has it."],
        ["server-name", None, None, "Of the gateway's certificate, if not the URL's host."],
    ]
    takes: ClassVar[tuple[str, ...]] = ()
    words: tuple[str, ...] = ()

    def parseArgs(self, *words: str) -> None:
        needed = [each for each in self.takes if not each.startswith("[")]
        if len(words) < len(needed):
            raise UsageError(f"which {needed[len(words)]}?")
        if len(words) > len(self.takes):
            raise UsageError(f"one thing too many: {words[len(self.takes)]!r}")
        if not all(each.strip() for each in words):
            raise UsageError("an argument is empty")
        self.words = words

    async def perform_apart(
        self, reactor: object, environ: Mapping[str, str], out: TextIO, err: TextIO
    ) -> int:
        """
        :returns: the exit code.
        :raises ConfigError: where it is not known how to reach the gateway.
        """
        reach = reached(
            environ, self["gateway"], self["token-file"], self["pin"], self["server-name"]
        )
        screen = Screen(out, err, bool(self["json"]), bool(environ.get("NO_COLOR")))
        asked = gateway(reactor, reach)
        try:
            return await self.ask(asked, screen)
        finally:
            await asked.close()

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        """:returns: the exit code. :raises RescriptumError: whatever the gateway says."""
        raise NotImplementedError

    def given(self, **names: str) -> dict[str, Any]:
        """:returns: by what a field is called: what its option says, of those that were given."""
        found = {field: self[option] for field, option in names.items()}
        return {field: value for field, value in found.items() if value is not None}


class Listing(Asked):
    """
    A list.

    :cvar path: of the operation. :cvar key: of the list in the reply.
    :cvar filters: options that narrow it, which the query calls the same.
    """

    path: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str] = ""
    columns: ClassVar[Columns] = ()
    filters: ClassVar[tuple[str, ...]] = ()

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        query = {name: self[name] for name in self.filters}
        screen.rows(self.key, await gateway.pages(self.key, *self.path, **query), self.columns)
        return 0


class Showing(Asked):
    """One thing, by its name. :cvar path: of the list that it is in."""

    path: ClassVar[tuple[str, ...]] = ()

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        screen.fields(await gateway.get(*self.path, *self.words))
        return 0


class Removing(Asked):
    """Takes one thing away, by its name. :cvar path: of the list that it is in."""

    path: ClassVar[tuple[str, ...]] = ()

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        await gateway.delete(*self.path, *self.words)
        screen.told({"removed": self.words[0]})
        screen.said(f"removed {self.words[0]}")
        return 0


def seconds(text: str) -> int:
    """
    :param text: a number, and perhaps one of s, m, h, d behind it.
    :raises UsageError: for anything else.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError(f"not a time like 90, 30m, 12h or 7d: {text!r}")
    return int(match[1]) * _SECONDS[match[2]]


def text_of(path: str, most: int = MAX_BODY) -> str:
    """
    :param most: in bytes.
    :returns: what is in a file that an option names.
    :raises UsageError: where it cannot be read.
    """
    try:
        return contents(Path(path), most).decode("utf-8")
    except Refused as e:
        raise UsageError(str(e)) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None


def done(screen: Screen, made: Fields, line: str) -> int:
    """:param line: for people. :returns: the exit code of what has succeeded."""
    screen.told(made)
    screen.said(line)
    return 0
