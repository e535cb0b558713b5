"""``rescriptum arm`` and ``disarm``: shall a machine install itself the next time it boots?"""

import json
from contextlib import closing
from typing import ClassVar, TextIO

from twisted.python.usage import UsageError

from ..answers.disarm import Switched, arm_machine, disarm_machine
from ..config import Config
from ..roles.stores import store_of
from .options import Command


class _Machine(Command):
    """A command about one machine."""

    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    identity = ""

    def parseArgs(self, *words: str) -> None:
        if len(words) > 1:
            raise UsageError(f"one machine at a time: {words[0]} or {words[1]}?")
        self.identity = words[0] if words else ""

    def postOptions(self) -> None:
        if not self.identity.strip():
            raise UsageError("which machine?")

    def tell(self, done: Switched, state: str, out: TextIO) -> int:
        """
        :param state: what the machine is now.
        :returns: the exit code.
        """
        if self["json"]:
            told = {
                "moved": [
                    {"from": str(each.key.place), "to": str(each.to.place)} for each in done.moved
                ],
                "already": [str(key.place) for key in done.already],
            }
            out.write(json.dumps(told, indent=1) + "\n")
            return 0
        for each in done.moved:
            out.write(f"{each}\n")
        for key in done.already:
            out.write(f"{state} already: {key.place}\n")
        return 0


class ArmOptions(_Machine):
    """``arm``."""

    synopsis = "Usage: rescriptum arm ID [--json]"
    longdesc = (
        "Puts the ipxe document of the machine ID, in any spelling, back from where disarm put "
        "it: the next time that it boots from the network it installs itself. "
        "Exit code 0: it is armed; 1: there is no such machine or document; 2: wrong usage."
    )

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises NotFound: when there is no such machine, or no document to arm it with.
        :raises Unavailable: when the store cannot be used.
        """
        with closing(store_of(config)) as store:
            return self.tell(arm_machine(store, self.identity), "armed", out)


class DisarmOptions(_Machine):
    """``disarm``."""

    synopsis = "Usage: rescriptum disarm ID [--json]"
    longdesc = (
        "Puts the ipxe document of the machine ID, in any spelling, away to installed-ID, where "
        "it claims no request: what POST /installed does. A group's or default document is left "
        "alone. "
        "Exit code 0: nothing of its own arms it; 1: there is no such machine or document; 2: "
        "wrong usage."
    )

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises NotFound: when there is no such machine, or it has no such document.
        :raises Unavailable: when the store cannot be used.
        """
        with closing(store_of(config)) as store:
            return self.tell(disarm_machine(store, self.identity), "disarmed", out)
