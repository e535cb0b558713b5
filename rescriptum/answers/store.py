"""Reads the answer set off the disk, and keeps it fresh while requests come."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import Unavailable
from ..interfaces import Workers
from ..values import Problem
from .documents import (
    GROUPS,
    MAX_DOCUMENT,
    AnswerSet,
    Document,
    Folder,
    Listing,
    format_of,
)
from .formats.table import Format

#: Seconds for which a set is believed; a change on disk is served at most this much later.
MAX_AGE = 1.0
#: Seconds for which a changed file is read again even if it looks the same: its times are coarse.
_RECENT = 2.0
#: Problems that are logged one by one; a thousand at once say no more than their number.
_SHOWN = 50

Signature = tuple[int, int, int, int, int]


def _signature(status: os.stat_result) -> Signature:
    """What changes when a file does, a copy that keeps the old time included (by ``ctime``)."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


class AnswerDirectory:
    """
    A directory of answers; blocking, and in one thread at a time.

    Files that look unchanged are not read again. What a request names never becomes a path:
    only what is listed here is opened.
    """

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        """:param now: Unix time."""
        self._path = path
        self._now = now
        self._documents: dict[str, tuple[Signature, Document]] = {}
        self._listing: Listing | None = None
        self._answers: AnswerSet | None = None

    def read(self) -> AnswerSet:
        """
        :returns: the set as it is now; the very same object while nothing has changed. A
            directory that is missing is an empty set.
        :raises Unavailable: when the directory cannot be listed: that is no empty set.
        """
        known, self._documents = self._documents, {}
        try:
            listing = self._listed(known)
        except OSError as e:
            self._documents = known
            raise Unavailable(f"{self._path}: {e.strerror}") from e
        if self._answers is None or listing != self._listing:
            self._listing, self._answers = listing, AnswerSet.of(listing)
        return self._answers

    def _listed(self, known: dict[str, tuple[Signature, Document]]) -> Listing:
        folders, loose = [], []
        try:
            entries = _visible(self._path)
        except FileNotFoundError:
            problem = Problem(str(self._path), "no such directory: no machine gets an answer")
            return Listing(problems=(problem,))
        for entry in entries:
            if _is_directory(entry):
                if entry.name.lower() != GROUPS:
                    folders.append(self._folder(entry, known))
            elif format_of(entry.name) is not None:
                loose.append(entry.name)
            elif entry.is_symlink() and not os.path.exists(entry.path):
                folders.append(Folder(entry.name, error="a symbolic link that leads nowhere"))
        return Listing(tuple(folders), tuple(loose))

    def _folder(
        self, folder: os.DirEntry[str], known: dict[str, tuple[Signature, Document]]
    ) -> Folder:
        try:
            files = [
                (f"{folder.name}/{entry.name}", entry, kind)
                for entry in _visible(folder.path)
                if (kind := format_of(entry.name)) is not None and not _is_directory(entry)
            ]
        except FileNotFoundError:  # gone since it was listed
            return Folder(folder.name)
        except OSError as e:
            return Folder(folder.name, error=f"unreadable: {e.strerror}")
        documents = (self._document(source, entry, kind, known) for source, entry, kind in files)
        return Folder(folder.name, tuple(documents))

    def _document(
        self,
        source: str,
        entry: os.DirEntry[str],
        kind: Format,
        known: dict[str, tuple[Signature, Document]],
    ) -> Document:
        try:
            status = entry.stat()
            if source in known and known[source][0] == _signature(status):
                self._documents[source] = known[source]
                return known[source][1]
            if not stat.S_ISREG(status.st_mode):
                return Document(source, kind, None, "not a regular file")
            status, data = _contents(entry.path)
        except OSError as e:
            return Document(source, kind, None, f"unreadable: {e.strerror}")
        document = Document.of(source, kind, data)
        if max(status.st_mtime, status.st_ctime) < self._now() - _RECENT:
            self._documents[source] = (_signature(status), document)
        return document


def _visible(path: str | Path) -> Iterator[os.DirEntry[str]]:
    """Entries by name but hidden ones: ``._answer.toml`` of a Mac is no answer."""
    with os.scandir(path) as entries:
        found = [entry for entry in entries if not entry.name.startswith(".")]
    return iter(sorted(found, key=lambda entry: entry.name))


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads round in a circle: reading it will say so
        return False


def _contents(path: str) -> tuple[os.stat_result, bytes]:
    """:returns: at most a byte more than a document may have."""
    # Not blocking: what was a file when it was listed may be a pipe now.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return os.fstat(descriptor), file.read(MAX_DOCUMENT + 1)


class AnswerStore:
    """
    The answer set of a running server: read in a thread, and again when a request finds it older
    than ``MAX_AGE``. Requests that find that together wait for one reading.
    """

    _log = Logger()

    def __init__(self, directory: Path, workers: Workers, clock: IReactorTime) -> None:
        self._directory = AnswerDirectory(directory, clock.seconds)
        self._workers = workers
        self._clock = clock
        self._answers: AnswerSet | None = None
        self._read_at = 0.0
        self._problems: frozenset[Problem] = frozenset()
        self._waiting: list[Deferred[AnswerSet]] = []

    def fresh(self) -> AnswerSet | None:
        """:returns: the set, or None when it has to be read first: :meth:`latest` does."""
        # A clock that was set back leaves an age below zero, not a set that never ages.
        age = self._clock.seconds() - self._read_at
        return self._answers if 0 <= age <= MAX_AGE else None

    async def latest(self) -> AnswerSet:
        """:raises Unavailable: when the directory cannot be read, or too much is waiting."""
        waiter: Deferred[AnswerSet] = Deferred()
        self._waiting.append(waiter)
        if len(self._waiting) == 1:
            Deferred.fromCoroutine(self._refresh()).addBoth(self._conclude)
        return await waiter

    async def _refresh(self) -> AnswerSet:
        started = self._clock.seconds()
        answers = await self._workers.run(self._directory.read)
        self._answers, self._read_at = answers, started
        self._report(answers.problems)
        return answers

    def _conclude(self, result: AnswerSet | Failure) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.errback(result) if isinstance(result, Failure) else each.callback(result)

    def _report(self, problems: tuple[Problem, ...]) -> None:
        """Say what is new and what is mended; what stays was said already."""
        appeared = [each for each in problems if each not in self._problems]
        mended = [each for each in self._problems if each not in problems]
        self._problems = frozenset(problems)
        for each in appeared[:_SHOWN]:
            self._log.warn("answers: {source}: {reason}", source=each.source, reason=each.text)
        if len(appeared) > _SHOWN:
            self._log.warn("answers: {count} more problems", count=len(appeared) - _SHOWN)
        for each in sorted(mended, key=str)[:_SHOWN]:
            self._log.info(
                "answers: mended: {source}: {reason}", source=each.source, reason=each.text
            )
