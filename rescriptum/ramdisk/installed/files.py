"""Files of a system that does not run, in whatever file system: each way is behind one face."""

from collections.abc import Awaitable
from typing import Final, Protocol

from attrs import frozen

from ...errors import Malformed, RescriptumError

#: Bytes of a path, and entries of a directory that are looked at.
LONGEST, MOST = 1024, 10_000
#: Bytes of one that is copied, and of one that is read: copies are in memory, and a file may be
#: long and have nothing in it.
LARGEST, READABLE = 1 << 30, 16 << 20
#: What a path may not have: debugfs and mtools read them as their own.
_FORBIDDEN: Final = frozenset("\"'\\\n\r\t*?[]")


class FilesTrouble(RescriptumError):
    """A file that cannot be read or written there."""

    code = "files-failed"


@frozen
class Entry:
    """:ivar regular: a file, and no link or directory."""

    name: str
    regular: bool


class Files(Protocol):
    """One file system. Paths begin with a slash, and no link in one is followed."""

    def listed(self, directory: str) -> Awaitable[tuple[Entry, ...]]:
        """:returns: nothing where there is no such directory. :raises FilesTrouble: else."""

    def copied(self, path: str, name: str) -> Awaitable[str]:
        """
        :param name: of the copy, in a directory of ours.
        :returns: where the copy is, whole.
        :raises FilesTrouble: when there is no such file, or no room for it in memory.
        """

    def read(self, path: str, most: int) -> Awaitable[bytes]:
        """
        :returns: the first bytes of a file.
        :raises FilesTrouble: when there is no such file, or it is too large to be looked into.
        """

    def write(self, path: str, data: bytes, mode: int) -> Awaitable[None]:
        """
        Put a file where it is to be, and its directories; what it said before is gone.

        :raises FilesTrouble: unless it can be read back as it was written.
        """

    def done(self) -> Awaitable[None]:
        """Nothing more is asked of it."""


def checked(path: str, top: bool = False) -> tuple[str, ...]:
    """
    :param top: whether ``/`` itself is right, too.
    :returns: the parts of an absolute path.
    :raises Malformed: for one that leads elsewhere, or that a tool would read as something else.
    """
    parts = tuple(each for each in path.split("/") if each)
    if (
        not path.startswith("/")
        or len(path) > LONGEST
        or not (parts or top)
        or any(each in (".", "..") for each in parts)
        or not path.isprintable()
        or not _FORBIDDEN.isdisjoint(path)
        or any(each.startswith("-") for each in parts)
    ):
        raise Malformed(f"not an absolute path of a file: {path[:80]!r}")
    return parts
