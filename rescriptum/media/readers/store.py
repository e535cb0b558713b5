"""Images and directories opened for reading. Everything here blocks: it runs in a worker."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from attrs import field, frozen

from ...errors import NotFound, Unavailable
from ...values import Content, Extent
from ..files import file_type
from ..iso9660 import Image
from ..paths import walk

MAX_LISTED = 65536


def content_of(path: Path, media_type: str) -> Content:
    """
    :returns: a whole file, links followed.
    :raises OSError: when it is not there.
    :raises NotFound: when it is no regular file.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise NotFound(f"{path.name} is no file")
    return Content(
        path,
        (Extent(0, found.st_size),) if found.st_size else (),
        version_of(found),
        media_type,
        modified=int(found.st_mtime),
    )


def version_of(found: os.stat_result) -> tuple[int, int, int, int]:
    """What changes when a file is replaced."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read_extents(content: Content, length: int) -> bytes:
    """:returns: the first ``length`` bytes of ``content``."""
    pieces = []
    with open(content.path, "rb") as file:
        for extent in content.extents:
            if length <= 0:
                break
            file.seek(extent.offset)
            pieces.append(file.read(min(extent.length, length)))
            length -= len(pieces[-1])
    return b"".join(pieces)


class Disc:
    """
    An image's files; see ``media.files.Files``.

    The file is opened for every read: nothing is held open, and an image that was replaced in
    the meantime is noticed.
    """

    whole = True

    def __init__(self, content: Content) -> None:
        """:raises MalformedImage: when it is no ISO 9660 image."""
        self._content = content
        self._image = Image(self._read, content.size)
        self.label = self._image.label
        self.short = self._image.volume > content.size

    def _read(self, offset: int, length: int) -> bytes:
        try:
            with open(self._content.path, "rb", buffering=0) as file:
                if version_of(os.fstat(file.fileno())) != self._content.version:
                    raise Unavailable("the image was replaced while it was read", retry_after=1)
                pieces = []
                while length > 0 and (piece := os.pread(file.fileno(), length, offset)):
                    pieces.append(piece)
                    offset, length = offset + len(piece), length - len(piece)
                return b"".join(pieces)
        except OSError as e:
            raise Unavailable(f"cannot be read: {e.strerror}") from e

    def find(self, path: str) -> Content:
        node = self._image.find(path)
        whole = self._content
        return Content(
            whole.path, node.extents, whole.version, file_type(node.name), modified=whole.modified
        )

    def names(self, path: str) -> tuple[str, ...]:
        try:
            return self._image.names(path)
        except NotFound:
            return ()

    def read(self, path: str, length: int) -> bytes:
        pieces = []
        for extent in self._image.find(path).extents:
            pieces.append(self._read(extent.offset, min(extent.length, length)))
            length -= len(pieces[-1])
        return b"".join(pieces)


@frozen
class _Place:
    """A name in a directory on the disk: a node for :func:`walk`."""

    path: str
    directory: bool
    target: str | None = field(default=None)


class Folder:
    """
    A tree's files; see ``media.files.Files``.

    Its own path may lead anywhere; links inside it are followed inside it only. A path is made of
    names that the disk has, never of what was asked for.
    """

    whole = False
    label = ""

    def __init__(self, root: Path) -> None:
        self._root = _Place(os.path.realpath(root), True)
        self._listings: dict[str, dict[str, str]] = {}

    def find(self, path: str) -> Content:
        place = walk(self._root, path, self._child)
        if place.directory:
            raise NotFound(f"{path!r} is a directory")
        try:
            return content_of(Path(place.path), file_type(place.path))
        except OSError as e:
            raise NotFound(f"{path!r}: {e.strerror}") from e

    def names(self, path: str) -> tuple[str, ...]:
        try:
            place = walk(self._root, path, self._child)
        except NotFound:
            return ()
        if not place.directory:
            return ()
        return tuple(dict.fromkeys(self._listing(place.path).values()))

    def read(self, path: str, length: int) -> bytes:
        try:
            return read_extents(self.find(path), length)
        except OSError as e:
            raise NotFound(f"{path!r}: {e.strerror}") from e

    def _child(self, place: _Place, name: str) -> _Place:
        names = self._listing(place.path)
        real = names.get(name) or names.get(name.lower())
        if real is None:
            raise NotFound(f"no {name!r} in this directory of the tree")
        path = os.path.join(place.path, real)
        try:
            mode = os.lstat(path).st_mode
            target = os.readlink(path) if stat.S_ISLNK(mode) else None
        except OSError as e:
            raise NotFound(f"{name!r}: {e.strerror}") from e
        return _Place(path, stat.S_ISDIR(mode), target)

    def _listing(self, path: str) -> dict[str, str]:
        """:returns: the names in a directory, by themselves and by their lower-case form."""
        known = self._listings.get(path)
        if known is None:
            try:
                names = sorted(each.name for each in listed(path))
            except OSError as e:
                raise NotFound(f"a directory of the tree: {e.strerror}") from e
            known = {name.lower(): name for name in reversed(names)} | {n: n for n in names}
            self._listings[path] = known
        return known


def listed(path: str | Path) -> Iterator[os.DirEntry[str]]:
    """
    :returns: what a directory holds, up to a bound.
    :raises OSError: when it cannot be listed.
    """
    with os.scandir(path) as found:
        yield from islice(found, MAX_LISTED)
