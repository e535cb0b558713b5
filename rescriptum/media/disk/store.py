"""Directories and images on the disk. Everything here blocks: it runs in a worker thread."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from ...errors import MalformedImage, NotFound, Unavailable
from ...values import Content, Extent, Problem
from ..catalogue import PREPARED, Candidate, Catalogue, Item, candidates
from ..files import file_type, image_type
from ..iso9660 import Image
from ..paths import walk
from ..probing import Probe, Scan, Seen, assemble, probe
from ..sidecar import MAX_BYTES, Sidecar, parse, render

MAX_LISTED = 65536
PIECE = 1 << 20


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
    An image's files; see :class:`~rescriptum.media.files.Files`.

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
    A tree's files; see :class:`~rescriptum.media.files.Files`.

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
                names = sorted(_listed(path))
            except OSError as e:
                raise NotFound(f"a directory of the tree: {e.strerror}") from e
            known = {name.lower(): name for name in reversed(names)} | {n: n for n in names}
            self._listings[path] = known
        return known


def _listed(path: str | Path) -> Iterator[str]:
    with os.scandir(path) as found:
        for count, entry in enumerate(found):
            if count == MAX_LISTED:
                break
            yield entry.name


def read_catalogue(directory: Path) -> Catalogue:
    """:returns: the whole catalogue at once: for commands, which have nothing else to do."""
    found = scan(directory)
    probes = {each.candidate.id: look_into(each) for each in found.seen if each.image is not None}
    return assemble(found, probes)


def scan(directory: Path) -> Scan:
    """
    What there is, without looking into images; directories are looked into each time.

    Never raises for the directory's state: what is wrong is a problem of the scan.
    """
    try:
        items = list(_items(directory))
    except OSError as e:
        return Scan((), (Problem(str(directory), f"cannot be listed: {e.strerror}"),))
    found, problems = candidates(items)
    seen, more = [], list(problems)
    for each in found:
        try:
            entry = _seen(directory, each)
        except (OSError, NotFound) as e:
            more.append(Problem(each.id, f"cannot be read: {e}"))
        else:
            # A directory of any other kind is the operator's own affair.
            if entry.image is not None or (entry.beside is not None and entry.beside.boots):
                seen.append(entry)
    around = None
    if PREPARED.issubset(each.name for each in items if not each.directory):
        around = probe(Folder(directory), Sidecar(kernel="vmlinuz", initrd="initrd.img"))
    return Scan(tuple(seen), tuple(more), around)


def _items(directory: Path) -> Iterator[Item]:
    with os.scandir(directory) as found:
        for count, entry in enumerate(found):
            if count == MAX_LISTED:
                break
            if entry.is_dir() or entry.is_file():
                yield Item(entry.name, entry.is_dir())


def _seen(directory: Path, candidate: Candidate) -> Seen:
    sidecar = Sidecar()
    if candidate.sidecar is not None:
        sidecar = parse(read_sidecar(directory / candidate.sidecar))
    image = None
    if candidate.image is not None:
        image = content_of(directory / candidate.image, image_type(candidate.image))
    folder = directory / candidate.folder if candidate.folder is not None else None
    beside = None
    if folder is not None:
        # What a sidecar says of paths is about the image, where there is one.
        beside = probe(Folder(folder), Sidecar() if image is not None else sidecar)
    return Seen(candidate, image, folder, beside, sidecar)


def read_sidecar(path: Path) -> str:
    """:raises OSError: when it cannot be read."""
    with open(path, "rb") as file:
        return file.read(MAX_BYTES).decode("utf-8", "replace")


def look_into(seen: Seen) -> Probe:
    """:returns: what the image of ``seen``, which has one, turned out to be."""
    assert seen.image is not None
    try:
        disc = Disc(seen.image)
    except MalformedImage as e:
        promised = seen.image.path.suffix.lower() == ".iso"  # an .img is any disk's image
        return Probe(problems=(f"{e}; it is served whole",) if promised else ())
    except Unavailable as e:
        return Probe(problems=(str(e),), fleeting=True)
    probed = probe(disc, seen.sidecar)
    if disc.short:
        text = "is shorter than the volume in it says: was it copied or downloaded to its end?"
        probed = evolve(probed, problems=(*probed.problems, text))
    return probed


def digest_of(content: Content, told: Callable[[int], None]) -> str:
    """
    :param told: called with the number of bytes of each piece that was read.
    :returns: SHA-256 of a whole file, in hexadecimal.
    :raises OSError: when it cannot be read.
    :raises Unavailable: when it changed meanwhile: the digest would be of no file that ever was.
    """
    digest = hashlib.sha256()
    with open(content.path, "rb", buffering=0) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            told(len(piece))
        if version_of(os.fstat(file.fileno())) != content.version:
            raise Unavailable(f"{content.path.name} changed while it was read")
    return digest.hexdigest()


def write_sidecar(path: Path, changes: Mapping[str, str]) -> None:
    """
    Record ``changes``, keep everything else that the sidecar says, its mode and its owner.

    The new one replaces the old in one step.

    :raises OSError: when it cannot be written.
    """
    was = path.stat() if path.exists() else None
    text = render(read_sidecar(path) if was is not None else "", changes)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, stat.S_IMODE(was.st_mode) if was is not None else 0o644)
        if was is not None and os.geteuid() == 0:
            os.chown(draft, was.st_uid, was.st_gid)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
