"""Which bytes of a file are in memory already: the reactor never waits for a disk."""

import errno
import os

#: How much is asked of the disk ahead of a long transfer.
AHEAD = 32 << 20
_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)
_SHORT = 128 * 1024
_one = bytearray(1)
_UNKNOWN = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


def resident(fd: int, offset: int, length: int) -> bool:
    """
    Whether sending ``length`` bytes from ``offset`` would not wait for the disk.

    The last, the middle and the first byte are looked at; of a short range the last. Where the
    file system cannot say, the answer is yes: then sendfile(2) may wait, as it does in every
    other server.
    """
    if not _NOWAIT:
        return True
    positions = (offset + length - 1, offset + length // 2, offset)
    try:
        for position in positions if length > _SHORT else positions[:1]:
            os.preadv(fd, [_one], position, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError as e:
        return e.errno in _UNKNOWN or e.errno != errno.EAGAIN
    return True


def read_ahead(fd: int, offset: int, length: int) -> None:
    """Have the disk begin to read: in a thread, since its queue may be full."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, offset, length, os.POSIX_FADV_WILLNEED)


def fetch(fd: int, offset: int, length: int) -> None:
    """Have the disk read, and wait for it: in a thread."""
    read_ahead(fd, offset, length)
    for position in (offset, offset + length // 2, offset + length - 1):
        os.pread(fd, 1, position)
