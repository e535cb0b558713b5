"""A directory of answers for tests."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import Document, Kind, Place
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.inotify import Event
from rescriptum.answers.stores.watches import Watches

DEFAULT = Place(Kind.DEFAULT)


def machine(name: str) -> Place:
    return Place(Kind.MACHINE, name)


def group(name: str) -> Place:
    return Place(Kind.GROUP, name)


def error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class Kernel:
    """
    Satisfies ``Notifications``: one number for each path.

    :ivar room: how many may be watched.
    """

    def __init__(self) -> None:
        self.room = 1000
        self.refused = errno.ENOSPC
        self.numbers: dict[str, int] = {}
        self.events: list[Event] = []
        self.asked: list[str] = []
        self.closed = False

    def fileno(self) -> int:
        return 42

    def add(self, path: str) -> int:
        self.asked.append(path)
        if len(self.numbers) >= self.room:
            raise error(self.refused)
        return self.numbers.setdefault(path, len(self.asked))

    def remove(self, watch: int) -> None:
        self.numbers = {path: each for path, each in self.numbers.items() if each != watch}

    def read(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    def close(self) -> None:
        self.closed = True


class DirectoryCase(SynchronousTestCase):
    """
    A directory of answers to write in.

    :ivar now: what the time is; files that were written a moment ago are old.
    """

    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.path.mkdir()
        self.now = time.time() + 3600
        self.watches = Watches()
        self.addCleanup(self.watches.close)
        self.directory = AnswerDirectory(self.path, lambda: self.now, self.watches)

    def write(self, name: str, data: bytes = b"x") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def documents(self) -> dict[str, Document]:
        """:returns: all that are served, by where they lie."""
        return {
            document.source: document
            for folder in self.directory.listing().folders.values()
            for document in folder.documents.values()
        }

    def served(self) -> dict[str, bytes | str]:
        """:returns: what they hold, or why they cannot be served."""
        return {source: each.error or each.data for source, each in self.documents().items()}

    def problems(self) -> dict[str, str]:
        """:returns: of the directory itself, and of everything in it."""
        listing = self.directory.listing()
        found = [*listing.problems, *(x for f in listing.folders.values() for x in f.problems)]
        return {each.source: each.text for each in found}

    def opened(self) -> list[str]:
        """:returns: the names of files and directories that are opened from now on."""
        names: list[str] = []

        def counting(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(path: str, *args: object) -> object:
                names.append(os.path.relpath(path, self.path))
                return real(path, *args)

            return call

        self.patch(os, "open", counting(os.open))
        self.patch(os, "scandir", counting(os.scandir))
        return names
