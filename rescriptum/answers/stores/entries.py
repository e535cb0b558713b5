"""Entries of directories, and what tells that they have changed."""

import errno
import os
import stat

from ..documents import MAX_DOCUMENT

#: Seconds for which a changed entry is read again even if it looks the same: times are coarse.
_RECENT = 2.0

Signature = tuple[int, int, int, int, int]


def signature(status: os.stat_result) -> Signature:
    """What changes when an entry does, a copy that keeps the old time included (by ``ctime``)."""
    return (
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_dev,
    )


def settled(status: os.stat_result, now: float) -> Signature | None:
    """:returns: the signature, or None while it may hide another change within its time."""
    recent = max(status.st_mtime, status.st_ctime) >= now - _RECENT
    return None if recent else signature(status)


def visible(path: str) -> list[os.DirEntry[str]]:
    """
    :returns: entries by name but hidden ones: ``._answer.toml`` of a Mac is no answer.
    :raises OSError: when it cannot be listed.
    """
    with os.scandir(path) as entries:
        found = [entry for entry in entries if not entry.name.startswith(".")]
    return sorted(found, key=lambda entry: entry.name)


def contents(path: str) -> tuple[os.stat_result, bytes]:
    """
    :returns: at most a byte more than a document may have.
    :raises OSError: when it cannot be read.
    """
    # Not blocking: what was a file when it was listed may be a pipe now.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        size = min(status.st_size, MAX_DOCUMENT) + 1
        data = part = os.read(descriptor, size)
        while part and len(data) <= MAX_DOCUMENT:
            part = os.read(descriptor, MAX_DOCUMENT + 1 - len(data))
            data += part
    finally:
        os.close(descriptor)
    return status, data
