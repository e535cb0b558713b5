"""Files of an answer set, written so that a reader finds the old one or the new one, whole."""

import errno
import os
import tempfile
from contextlib import suppress

from ...net.directories import sync

#: Of files and directories that are made: documents hold passwords, and groups may share them.
_FILE, _DIRECTORY = 0o640, 0o750
#: What says that a file cannot have a second name: the file system, or a rule of the kernel's.
_UNLINKABLE = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def made(path: str) -> list[str]:
    """
    Make a directory and those above it, as far as they are missing.

    :returns: those that were made, the deepest first.
    :raises OSError: when one cannot be made; then none is.
    """
    new: list[str] = []
    try:
        missing = []
        while not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path) or "."
        for each in reversed(missing):
            os.mkdir(each, _DIRECTORY)
            new.insert(0, each)
            _own(each, os.stat(path))
            sync(os.path.dirname(each) or ".")
    except OSError:
        unmake(new)
        raise
    return new


def unmake(directories: list[str]) -> None:
    """Remove directories that are empty."""
    for each in directories:
        with suppress(OSError):
            os.rmdir(each)


def write(directory: str, name: str, data: bytes) -> None:
    """
    A file, whole or not at all; over another one with that one's owner and mode.

    :raises OSError: when it cannot be written; what was there still is.
    """
    path = f"{directory}/{name}"
    mode = _FILE
    try:
        like = os.stat(path)
        mode = like.st_mode & 0o777
    except OSError:
        like = os.stat(directory)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=directory)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _own(descriptor, like)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync(directory)


def _own(file: int | str, like: os.stat_result) -> None:
    """What root makes belongs to whom the rest does: the server that reads it is not root."""
    owner = like.st_uid if os.geteuid() == 0 else -1
    with suppress(PermissionError):
        os.chown(file, owner, like.st_gid)


def link(source: str, target: str) -> None:
    """
    Have a file under a second name, or where it cannot have two, under that alone.

    :raises FileExistsError: when there is something of that name.
    :raises OSError: when it cannot be done.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as e:
        if e.errno not in _UNLINKABLE:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from e
        os.rename(source, target)


def remove(path: str) -> None:
    """
    Have a name no more; it may be gone already.

    :raises OSError: when it cannot be removed.
    """
    with suppress(FileNotFoundError):
        os.unlink(path)


def tidy(directory: str) -> None:
    """
    Remove a directory whose last entry is gone.

    :raises OSError: when the disk does not know what entries there are.
    """
    sync(directory)
    with suppress(OSError):  # it is not empty, or a link
        os.rmdir(directory)
        sync(os.path.dirname(directory))
