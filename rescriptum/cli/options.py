"""What every command of ``rescriptum`` shares: options, and the three ways to perform one."""

import sys
from collections.abc import Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from typing import ClassVar, Protocol, TextIO, runtime_checkable

from twisted.python.usage import Options, UsageError

from .. import __version__
from ..config import Config, Reading


class Command(Options):
    """A command or a group of them."""

    synopsis = "Usage: rescriptum COMMAND"
    longdesc = ""  # else usage.py borrows the docstring of whatever is __main__

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Options may stand behind arguments too: people do not stop at the first one."""
        argv = list(sys.argv[1:] if options is None else options)
        if getattr(self, "subCommands", None):
            super().parseOptions(argv)
            return
        try:
            named, arguments = gnu_getopt(argv, self.shortOpt, self.longOpt)
        except GetoptError as e:
            raise UsageError(str(e)) from e
        first: list[str] = []
        for name, value in named:
            # A value may be empty, and is one all the same.
            takes = f"{name[1]}:" in self.shortOpt or f"{name[2:]}=" in self.longOpt
            first += [name, value] if takes else [name]
        super().parseOptions([*first, "--", *arguments])

    def getSynopsis(self) -> str:
        """Each command's own, which names the whole way to it; usage.py would put them together."""
        return self.synopsis

    def opt_version(self) -> None:
        """Print the version of rescriptum, not of Twisted."""
        print(f"rescriptum {__version__}")
        raise SystemExit(0)


class Group(Command):
    """A command that only means something with one of its subcommands."""

    subCommands: ClassVar[list[list[object]]] = []

    def postOptions(self) -> None:
        if self.subCommand is None:
            raise UsageError(f"which one? {', '.join(str(each[0]) for each in self.subCommands)}")


@runtime_checkable
class Performed(Protocol):
    """A leaf that needs a configuration that would start."""

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """:returns: the exit code: 0 done, 1 it did not succeed, 2 it was not asked rightly."""


@runtime_checkable
class PerformedLater(Protocol):
    """A leaf that waits for the network or for threads."""

    async def perform_async(self, reactor: object, config: Config, out: TextIO, err: TextIO) -> int:
        """:returns: the exit code, as ``Performed`` does."""


@runtime_checkable
class PerformedApart(Protocol):
    """A leaf that waits for the network, and has nothing to do with the boot server's settings."""

    async def perform_apart(
        self, reactor: object, environ: Mapping[str, str], out: TextIO, err: TextIO
    ) -> int:
        """:returns: the exit code, as ``Performed`` does."""


@runtime_checkable
class PerformedOnReading(Protocol):
    """A leaf that must work on a broken configuration too."""

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        """:returns: the exit code, as ``Performed`` does."""
