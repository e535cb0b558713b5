"""A directory of places: the answer set's own, or ``groups``."""

import os
from collections.abc import Iterable

from attrs import define, field

from ..documents import GROUPS, format_of
from ..formats.table import PARTS
from .entries import Signature, settled, signature, visible


@define(eq=False)
class Level:
    """
    :ivar source: what its entries' names begin with, below the set's directory.
    :ivar directories: names of what may be a place; whether each is a symbolic link.
    :ivar loose: names of documents that lie where they are not served.
    """

    source: str
    path: str
    directories: dict[str, bool] = field(factory=dict)
    loose: set[str] = field(factory=set)
    _signature: Signature | None = None

    def look(self, status: os.stat_result, now: float) -> bool:
        """
        :param status: of the directory.
        :param now: Unix time.
        :returns: whether it was listed again.
        :raises OSError: when it cannot be listed.
        """
        if self._signature == signature(status):
            return False
        directories, loose = {}, set()
        for entry in visible(self.path):
            if entry.is_symlink():
                directories[entry.name] = True
            elif entry.is_dir(follow_symlinks=False):
                directories[entry.name] = False
            elif format_of(entry.name) is not None:
                loose.add(entry.name)
        self.directories, self.loose = directories, loose
        self._signature = settled(status, now)
        return True

    def note(self, name: str) -> None:
        """Look at one entry only."""
        self.directories.pop(name, None)
        self.loose.discard(name)
        path = f"{self.path}/{name}"
        if os.path.islink(path):
            self.directories[name] = True
        elif os.path.isdir(path):
            self.directories[name] = False
        elif os.path.exists(path) and format_of(name) is not None:
            self.loose.add(name)


def spellings(path: str, names: Iterable[str], word: str) -> list[str]:
    """
    :param path: of the directory that has entries of these names.
    :param word: ``DEFAULT`` or ``GROUPS``.
    :returns: names of directories, or of links that lead nowhere, that are the word in any case.
        The first is the one that counts.
    """
    found = sorted(name for name in names if name.lower() == word)
    return [name for name in found if not os.path.isfile(f"{path}/{name}")]


def belongs(source: str) -> str | None:
    """
    :param source: of a document that lies loose in the set's directory, or in ``groups``.
    :returns: where it would be served, below the set's directory; None where nobody can tell.
    """
    directory, slash, name = source.rpartition("/")
    stem, _, _ = name.rpartition(".")
    kind = format_of(name)
    if kind is None or not stem or kind.extension in PARTS:
        return None
    if not slash and stem.lower() == GROUPS:
        return None  # of which group?
    return f"{directory}{slash}{stem}/{kind.filename}"
