"""Directories on the disk: what is in one is only sure once the disk knows of it."""

import errno
import os


def sync(directory: str | os.PathLike[str]) -> None:
    """
    Have the disk know what entries there are.

    :raises OSError: when it does not.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as e:
        if e.errno != errno.EINVAL:  # a file system that cannot sync directories
            raise
    finally:
        os.close(descriptor)
