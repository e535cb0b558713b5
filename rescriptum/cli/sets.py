"""``rescriptum import``, ``export`` and ``migrate``: a whole answer set from here to there."""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import ClassVar, TextIO

from twisted.python.usage import UsageError

from ..answers.stores.copying import Copied, export_to, import_from
from ..answers.stores.migrate import Migration, migrated, planned
from ..answers.stores.store import Store
from ..config import Config
from ..roles.stores import store_of
from ..values import Problem
from .options import Command
from .progress import Advance, counted


class _Directory(Command):
    """A command about one directory."""

    directory: Path | None = None

    def parseArgs(self, *words: str) -> None:
        if len(words) > 1:
            raise UsageError(f"one directory at a time: {words[0]} or {words[1]}?")
        self.directory = Path(words[0]) if words and words[0] else None

    def named(self) -> Path:
        """:raises UsageError: when none is."""
        if self.directory is None:
            raise UsageError("which directory?")
        return self.directory


class _Copying(_Directory):
    """A command that copies all documents between a directory and the store."""

    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    def postOptions(self) -> None:
        self.named()

    def copied(self, directory: Path, store: Store, advance: Advance) -> Copied:
        raise NotImplementedError

    def where(self, directory: Path, store: Store) -> str:
        """:returns: what they were copied to, for people."""
        raise NotImplementedError

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises NotFound: when there is no directory to copy from.
        :raises Refused: when there is something else in the directory to copy to.
        :raises Unavailable: when one of the two cannot be used.
        """
        directory = self.named()
        with closing(store_of(config)) as store, counted(err) as follow:
            done = self.copied(directory, store, follow("documents"))
            where = self.where(directory, store)
            about = {"directory": str(directory), "store": store.describe()}
        return _report(done, where, about, self["json"], out, err)


class ImportOptions(_Copying):
    """``import``."""

    synopsis = "Usage: rescriptum import DIR [--json]"
    longdesc = (
        "Every document that would be served from DIR goes into the store that is configured, "
        "byte for byte, over the one that is there; other documents of the store stay. "
        "Exit code 0: the store has them all; 1: something was left out, and standard error says "
        "why; 2: wrong usage."
    )

    def copied(self, directory: Path, store: Store, advance: Advance) -> Copied:
        return import_from(directory, store, time.time, advance)

    def where(self, directory: Path, store: Store) -> str:
        return f"into {store.describe()}"


class ExportOptions(_Copying):
    """``export``."""

    synopsis = "Usage: rescriptum export DIR [--json]"
    longdesc = (
        "Every document of the store that is configured goes to a file of DIR, byte for byte. DIR "
        "is made where it is missing, and has to be empty but for hidden files and what an export "
        "has written there. "
        "Exit code 0: DIR has them all; 1: it was refused, or something was left out; 2: wrong "
        "usage."
    )

    def copied(self, directory: Path, store: Store, advance: Advance) -> Copied:
        return export_to(store, directory, time.time, advance)

    def where(self, directory: Path, store: Store) -> str:
        return f"to {directory}"


class MigrateOptions(_Directory):
    """``migrate``."""

    synopsis = "Usage: rescriptum migrate [--apply] [DIR] [--json]"
    longdesc = (
        "Lists documents that lie flat, as MACHINE.toml, and where they are served from: "
        "MACHINE/proxmox.toml. With --apply they are renamed; nothing is ever overwritten. DIR is "
        "the answer set's directory unless it is named. "
        "Exit code 0: all can go there, or did; 1: something stays; 2: wrong usage."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["apply", "a", "Rename them."],
        ["json", "j", "For programs."],
    ]

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises NotFound: when there is no such directory.
        :raises Unavailable: when it cannot be read.
        """
        directory = self.directory or config.answers.directory
        plan = planned(directory)
        if self["apply"]:
            plan = migrated(directory, plan)
        if self["json"]:
            told = {
                "directory": str(directory),
                "applied": bool(self["apply"]),
                "moves": [{"from": each.source, "to": each.to} for each in plan.moves],
                "problems": _as_json(plan.problems),
            }
            out.write(json.dumps(told, indent=1) + "\n")
        else:
            self._tell(plan, out, err)
        return 1 if plan.problems else 0

    def _tell(self, plan: Migration, out: TextIO, err: TextIO) -> None:
        for move in plan.moves:
            out.write(f"{move.source} -> {move.to}\n")
        for problem in plan.problems:
            err.write(f"problem: {problem}\n")
        if self["apply"]:
            out.write(f"renamed {len(plan.moves)}\n")
        elif plan.moves:
            out.write(f"{len(plan.moves)} to rename: 'rescriptum migrate --apply' does it\n")
        elif not plan.problems:
            out.write("nothing lies flat\n")


def _report(
    done: Copied, where: str, about: dict[str, str], as_json: bool, out: TextIO, err: TextIO
) -> int:
    """:returns: the exit code."""
    if as_json:
        told = {
            **about,
            "written": done.written,
            "unchanged": done.unchanged,
            "problems": _as_json(done.problems),
        }
        out.write(json.dumps(told, indent=1) + "\n")
    else:
        for problem in done.problems:
            err.write(f"left out: {problem}\n")
        there = f", {done.unchanged} are there already" if done.unchanged else ""
        out.write(f"{_documents(done.written)} {where}{there}\n")
    return 1 if done.problems else 0


def _documents(count: int) -> str:
    return "1 document" if count == 1 else f"{count} documents"


def _as_json(problems: tuple[Problem, ...]) -> list[dict[str, str]]:
    return [{"source": each.source, "text": each.text} for each in problems]
