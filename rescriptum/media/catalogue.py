"""
What the media directory offers, as a value: images, trees, and what is wrong with either.

An image is ``<id>.iso`` or ``<id>.img``, a tree a directory ``<id>/`` with a kernel and an initrd;
a directory beside an image of the same id holds the boot files that the image lacks.
"""

import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from attrs import field, frozen

from ..values import Content, Problem
from .files import shown

#: First segments of the media listener that are no image.
RESERVED = frozenset(("boot", "ipxe", "netboot.xyz", "health", "media"))
SUFFIXES = (".iso", ".img")
SIDECAR = ".media"
MAX_ENTRIES = 1024
#: Names that do not fit, and are told one by one.
MAX_MISNAMED = 64
#: What Proxmox's assistant leaves beside the image that it stripped of them: no image itself.
PREPARED = frozenset(("vmlinuz", "initrd.img"))
#: Directories that stand in a media directory for reasons of their own.
_NO_TREES = RESERVED | {"lost+found"}

_NICKNAME = re.compile(r'\s*"[^"]*"')
_ID = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9._:-]{0,127}")


class Part(Enum):
    """What of a medium is asked for, by the word in its URL."""

    IMAGE = "iso"
    KERNEL = "kernel"
    INITRD = "initrd"
    FILE = "file"


@frozen
class Medium:
    """
    One entry of the catalogue.

    :ivar family: a name of ``families/table.py``, or ``unknown``.
    :ivar variant: which kind within the family, ``server`` or ``dvd``; empty where there is one.
    :ivar version: in the vendor's words, or empty.
    :ivar architecture: as iPXE calls it, ``x86_64``, ``arm64`` or ``i386``; None is not known.
    :ivar size: of the image in bytes; of a tree, its kernel and initrd.
    :ivar image: the whole image; None for a tree.
    :ivar folder: the tree, or the directory beside the image; None where there is none.
    :ivar digest: SHA-256 that was recorded for the image, whether or not it still holds.
    :ivar arguments: of the kernel, the operator's, beside those of the family.
    :ivar memory: megabytes a machine should have, or None: nobody measured.
    :ivar notes: what an operator should know of it; where it cannot be booted, why.
    """

    id: str
    family: str
    variant: str = ""
    version: str = ""
    architecture: str | None = None
    size: int = 0
    image: Content | None = field(default=None, repr=False)
    kernel: Content | None = field(default=None, repr=False)
    initrd: Content | None = field(default=None, repr=False)
    folder: Path | None = field(default=None, repr=False)
    digest: str | None = None
    arguments: tuple[str, ...] = ()
    memory: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def bootable(self) -> bool:
        """Whether iPXE can start it: it has a kernel and an initrd that work over the network."""
        return self.kernel is not None and self.initrd is not None

    @property
    def title(self) -> str:
        """For a line of a menu: the version without its nickname, else the id."""
        return _NICKNAME.sub("", self.version).replace(" GNU/Linux", "").strip() or self.id

    def content(self, part: Part) -> Content | None:
        """:returns: a part that has a route of its own, or None where the medium lacks it."""
        if part is Part.IMAGE:
            return self.image
        if part is Part.KERNEL:
            return self.kernel
        return self.initrd if part is Part.INITRD else None


@frozen
class Catalogue:
    """
    The directory at one moment.

    :ivar entries: sorted by id.
    :ivar problems: what an operator has to mend.
    :ivar pending: ids of images that were seen and not yet looked into.
    """

    entries: tuple[Medium, ...] = ()
    problems: tuple[Problem, ...] = ()
    pending: frozenset[str] = frozenset()
    _by_id: dict[str, Medium] = field(init=False, repr=False, eq=False)

    @_by_id.default
    def _index(self) -> dict[str, Medium]:
        return {each.id: each for each in self.entries}

    def find(self, name: str) -> Medium | None:
        return self._by_id.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_id


@frozen
class Item:
    """
    One name in the media directory.

    :ivar directory: else it is a file.
    """

    name: str
    directory: bool = False


@frozen
class Candidate:
    """
    An id and what the directory has under it.

    :ivar image: name of the image, or None.
    :ivar folder: name of the directory, or None: the tree, or what stands beside the image.
    :ivar sidecar: name of the sidecar, or None.
    """

    id: str
    image: str | None = None
    folder: str | None = None
    sidecar: str | None = None


def valid_id(text: str) -> bool:
    """Whether ``text`` may be an id: it becomes a segment of URLs and a word of scripts."""
    return _ID.fullmatch(text) is not None


def _suffix(name: str) -> str:
    return next((each for each in (*SUFFIXES, SIDECAR) if name.lower().endswith(each)), "")


def candidates(items: Iterable[Item]) -> tuple[tuple[Candidate, ...], tuple[Problem, ...]]:
    """
    Sort a listing into media.

    :param items: in any order; hidden ones and other kinds of file are passed over.
    """
    images: dict[str, str] = {}
    folders: dict[str, str] = {}
    sidecars: dict[str, str] = {}
    problems: list[Problem] = []
    items = sorted(items, key=lambda each: each.name)
    if PREPARED.issubset(each.name for each in items if not each.directory):
        items = [each for each in items if each.name not in PREPARED]
    for item in items:
        suffix = "" if item.directory else _suffix(item.name)
        if item.name.startswith(".") or not (item.directory or suffix):
            continue
        if item.directory and item.name.lower() in _NO_TREES:
            continue
        name = item.name[: len(item.name) - len(suffix)]
        known = images if suffix in SUFFIXES else sidecars if suffix else folders
        if trouble := _trouble(name, known):
            problems.append(Problem(shown(item.name), trouble))
        else:
            known[name] = item.name
    ids = sorted({*images, *folders})
    problems += [
        Problem(sidecars[name], "describes no image and no tree of this name")
        for name in sorted(set(sidecars) - set(ids))
    ]
    if (more := len(problems) - MAX_MISNAMED) > 0:
        # Somebody's downloads are as good a media directory as any.
        problems[MAX_MISNAMED:] = [Problem("media", f"{more} more names do not fit")]
    if len(ids) > MAX_ENTRIES:
        problems.append(Problem("media", f"only the first {MAX_ENTRIES} of {len(ids)} are listed"))
    found = (
        Candidate(name, images.get(name), folders.get(name), sidecars.get(name))
        for name in ids[:MAX_ENTRIES]
    )
    return tuple(found), tuple(problems)


def _trouble(name: str, known: dict[str, str]) -> str:
    if not valid_id(name):
        return "an id is letters, digits and - _ . : and does not start with a dot; rename it"
    if name.lower() in RESERVED:
        return f"{name!r} is a path of the server itself; rename it"
    if name in known:
        return f"has the same id as {known[name]}; rename one of them"
    return ""
