"""The boot directory: what is on the disk, and what is answered from memory beside it."""

import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from ..errors import Forbidden, NotFound, Unavailable
from ..values import OCTET_STREAM, Content, Extent, Generated
from .names import segments

#: Firmware decides by these what a file is; a parameter after one would break the match (W152).
MEDIA_TYPES = {
    ".efi": "application/efi",
    ".img": "application/vnd.efi-img",
    ".ipxe": "text/plain",
    ".iso": "application/vnd.efi-iso",
    ".png": "image/png",
}

#: Directories whose names are remembered, and names remembered of one directory.
MAX_LISTINGS = 32
MAX_LISTED = 4096
#: What the system says of a name that is not there, or that nobody may look up.
_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES))


class BootDirectory:
    """
    Every loader by its name, however firmware spells it: ``interfaces.Loaders``.

    A name is looked up as it is, then without regard to case (W145), then among the generated
    ones. Whatever it names, the real path is a readable regular file inside the root (W147).
    """

    def __init__(self, root: Path, generated: Mapping[str, Generated]) -> None:
        """
        :param root: may be missing, and may be a symbolic link that is moved while we run.
        :param generated: by name. One answers in every directory, since a loader asks beside
            itself: ``autoexec.ipxe`` also as ``x64/autoexec.ipxe``.
        """
        self._root = root
        self._generated = {
            tuple(name.lower().split("/")): content for name, content in generated.items()
        }
        self._depths = sorted({len(each) for each in self._generated}, reverse=True)
        self._listings: OrderedDict[str, tuple[int, dict[str, str]]] = OrderedDict()

    def find(self, name: bytes) -> Content | Generated:
        """
        :param name: as it came from the wire, whatever it holds.
        :raises NotFound: where there is nothing of that name.
        :raises Forbidden: for a name or a symbolic link that leaves the root.
        :raises Unavailable: when the disk does not answer.
        """
        parts = segments(name)
        try:
            return self._on_disk(parts)
        except NotFound:
            pass
        except OSError as e:
            # A disk that does not answer says nothing of what is on it: what is generated must
            # not stand in for the operator's own.
            if e.errno not in _ABSENT:
                raise Unavailable(f"{'/'.join(parts)}: {e.strerror}") from e
        folded = tuple(part.lower() for part in parts)
        for depth in self._depths:
            if (found := self._generated.get(folded[-depth:])) is not None:
                return found
        raise NotFound("/".join(parts))

    def _on_disk(self, parts: tuple[str, ...]) -> Content:
        root = os.path.realpath(self._root)
        path = root
        for part in parts:
            path = self._inside(root, os.path.join(path, self._spelling(path, part)))
        found = os.stat(path)
        # Opening a FIFO would wait for ever: only the kind of the file is asked for here.
        if not stat.S_ISREG(found.st_mode) or not _readable(path):
            raise NotFound("/".join(parts))
        return Content(
            Path(path),
            (Extent(0, found.st_size),),
            (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns),
            MEDIA_TYPES.get(os.path.splitext(parts[-1])[1].lower(), OCTET_STREAM),
            modified=int(found.st_mtime),
        )

    @staticmethod
    def _inside(root: str, path: str) -> str:
        real = os.path.realpath(path, strict=True)
        if os.path.commonpath((root, real)) != root:
            raise Forbidden("a symbolic link that leaves the boot directory")
        return real

    def _spelling(self, directory: str, part: str) -> str:
        """:returns: how the disk spells ``part``: the same letters win over other case."""
        if os.path.lexists(os.path.join(directory, part)):
            return part
        return self._listing(directory).get(part.lower(), part)

    def _listing(self, directory: str) -> dict[str, str]:
        """What is in ``directory``, by lower-case name; read again when the directory changes."""
        changed = os.stat(directory).st_mtime_ns
        known = self._listings.pop(directory, None)
        if known is None or known[0] != changed:
            known = (changed, _names(directory))
        self._listings[directory] = known
        if len(self._listings) > MAX_LISTINGS:
            self._listings.popitem(last=False)
        return known[1]


def _readable(path: str) -> bool:
    return os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)


def _names(directory: str) -> dict[str, str]:
    names: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) == MAX_LISTED:
                break
    return {name.lower(): name for name in sorted(names, reverse=True)}
