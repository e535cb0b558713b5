"""The answer set's directory as a listing: after the first time only what has changed is read."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from ...errors import Unavailable
from ...values import Problem
from ..documents import DEFAULT, GROUPS, Folder, Kind, Listing, Place, format_of
from .level import Level, belongs
from .place import PlaceReader
from .watches import Watches


class Tree:
    """
    Directories and files that look unchanged are not read again, and those that are watched are
    not even looked at. What a request names never becomes a path: only what is listed is opened.

    A directory's key is its path below the set's; it is watched under that too.
    """

    def __init__(self, path: Path, now: Callable[[], float], watches: Watches) -> None:
        """:param now: Unix time."""
        self._path = str(path)
        self._now = now
        self._watches = watches
        problem = Problem(self._path, "no such directory: no machine gets an answer")
        self._missing = Listing(problems=(problem,))
        self._listing = Listing()
        self._readers: dict[str, PlaceReader] = {}
        self._groups: Level | None = None
        self._forget()

    def _forget(self) -> None:
        for key in tuple(self._readers):
            self._drop(key)
        self._leave_groups()
        self._watches.drop("")
        self._root = Level("", self._path)
        self._default = ""
        self._words: dict[str, bool] = {}
        self._ignored: tuple[Problem, ...] = ()
        self._loose: set[str] = set()
        self._folders: dict[Place, Folder] = {}
        self._changed = self._doubted = True

    def listing(self) -> Listing:
        """
        :returns: what is there; the same object while nothing has changed.
        :raises Unavailable: when the set's directory, or that of the groups, cannot be read:
            a machine must not be told that nothing claims it because a disk has gone.
        """
        told = self._watches.told()
        doubted, self._doubted = self._doubted, True  # until all of this is done
        now = self._now()
        try:
            status = os.stat(self._path)
            if doubted or told is None or not self._look_at(told, status, now):
                self._look_everywhere(status, now)
        except FileNotFoundError as e:
            if e.filename == self._path:
                self._forget()
                return self._missing
            raise Unavailable(f"{e.filename}: {e.strerror}") from e
        except OSError as e:
            raise Unavailable(f"{e.filename or self._path}: {e.strerror}") from e
        self._doubted = False
        problems = tuple(self._problems())
        if self._changed or problems != self._listing.problems:
            self._listing = Listing(dict(self._folders), problems)
            self._changed = False
        return self._listing

    def _spellings(self, word: str) -> list[str]:
        return sorted(n for n, file in self._words.items() if n.lower() == word and not file)

    def _is_file(self, name: str) -> bool:
        """:returns: whether it is a link to one: of others the level knows that they are none."""
        return self._root.directories[name] and os.path.isfile(f"{self._path}/{name}")

    def _look_everywhere(self, status: os.stat_result, now: float) -> None:
        self._watches.renew()
        link = os.path.realpath(self._path) != os.path.abspath(self._path)
        self._look_level(self._root, "", link, status, now)
        self._words = {
            name: self._is_file(name)
            for name in self._root.directories
            if name.lower() in (DEFAULT, GROUPS)
        }
        groups, defaults = self._spellings(GROUPS), self._spellings(DEFAULT)
        self._ignored = tuple(
            Problem(other, f"ignored: {names[0]} is there too")
            for names in (defaults, groups)
            for other in names[1:]
        )
        self._default = defaults[0] if defaults else ""
        reserved = self._words.keys() - {self._default}
        keys = self._root.directories.keys() - reserved
        if groups:
            self._look_groups(groups[0], now)
        else:
            self._leave_groups()
        if self._groups is not None:
            keys |= {f"{self._groups.source}{name}" for name in self._groups.directories}
        # First: a directory that was renamed is watched under its old name until then.
        for key in (self._readers.keys() | self._loose).difference(keys):
            self._drop(key)
        for name in self._root.directories:
            if name not in reserved:
                self._visit(self._root, name, now)
        if self._groups is not None:
            for name in self._groups.directories:
                self._visit(self._groups, name, now)

    def _look_groups(self, name: str, now: float) -> None:
        if self._groups is None or self._groups.source != f"{name}/":
            self._leave_groups()
            self._groups = Level(f"{name}/", f"{self._path}/{name}")
        status = os.stat(self._groups.path)
        self._look_level(self._groups, name, self._root.directories[name], status, now)

    def _leave_groups(self) -> None:
        if self._groups is not None:
            self._watches.drop(self._groups.source.rstrip("/"))
            self._groups = None

    def _look_level(
        self, level: Level, key: str, link: bool, status: os.stat_result, now: float
    ) -> None:
        if not link and self._watches.watch(key, level.path, status):
            status = os.stat(level.path)
        self._watches.rely(key, blind=False)
        level.look(status, now)

    def _look_at(self, told: set[tuple[str, str]], status: os.stat_result, now: float) -> bool:
        """:returns: False when that is not enough."""
        levels = {"": self._root}
        if not (self._watches.holds("", status) or "" in self._watches.polled):
            return False  # another directory has taken its place
        if any(self._is_file(name) != was for name, was in self._words.items()):
            return False  # a link has come to lead to a file, or to a directory
        if self._groups is not None:
            levels[self._groups.source.rstrip("/")] = self._groups
        touched = self._watches.polled.difference(levels)
        for key, name in told:
            if key not in levels:
                touched.add(key)
            elif not name or (not key and name.lower() in (GROUPS, DEFAULT)):
                return False
            else:
                levels[key].note(name)
                touched.add(f"{levels[key].source}{name}")
        for key, level in levels.items():
            if key in self._watches.polled:
                found = status if level is self._root else os.stat(level.path)
                if level.look(found, now):
                    return False
        # Those that are gone first, as above.
        located = [self._located(key) for key in touched]
        for level, name in sorted(located, key=lambda each: each[1] in each[0].directories):
            self._visit(level, name, now)
        return True

    def _located(self, key: str) -> tuple[Level, str]:
        if self._groups is not None and key.startswith(self._groups.source):
            return self._groups, key[len(self._groups.source) :]
        return self._root, key

    def _place(self, level: Level, name: str) -> Place:
        if level is not self._root:
            return Place(Kind.GROUP, name)
        return Place(Kind.DEFAULT) if name == self._default else Place(Kind.MACHINE, name)

    def _visit(self, level: Level, name: str, now: float) -> None:
        key = level.source + name
        link = level.directories.get(name)
        if link is None:
            self._drop(key)
            return
        reader = self._readers.get(key)
        path = f"{level.path}/{name}" if reader is None else reader.path
        status, error = None, ""
        try:
            status = os.stat(path)
            if not link and self._watches.watch(key, path, status):
                status = os.stat(path)
        except OSError as e:
            error = f"unreadable: {e.strerror}"
            if e.errno in (errno.ENOENT, errno.ELOOP):
                if not link:
                    self._drop(key)
                    return
                error = "a symbolic link that leads nowhere"
        if status is not None and not stat.S_ISDIR(status.st_mode):
            self._drop(key)
            if format_of(name) is not None:
                self._loose.add(key)
            self._watches.rely(key, blind=True)
            return
        if reader is None:
            self._loose.discard(key)
            reader = self._readers[key] = PlaceReader(self._place(level, name), key, path)
        before = reader.folder
        if status is None:
            reader.fail(error)
        else:
            reader.look(status, now)
        self._watches.rely(key, reader.blind)
        if reader.folder is not None and reader.folder is not before:
            self._folders[reader.place] = reader.folder
            self._changed = True

    def _drop(self, key: str) -> None:
        self._watches.drop(key)
        self._loose.discard(key)
        reader = self._readers.pop(key, None)
        if reader is not None and self._folders.pop(reader.place, None) is not None:
            self._changed = True

    def _problems(self) -> Iterator[Problem]:
        yield from self._ignored
        loose = {*self._root.loose, *self._loose}
        if self._groups is not None:
            loose.update(f"{self._groups.source}{name}" for name in self._groups.loose)
        for source in sorted(loose):
            where = belongs(source) or "the directory of a machine or a group"
            yield Problem(source, f"not served: it belongs in {where}")
