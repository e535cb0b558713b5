"""The controllers file on its disk: for its owner's eyes alone."""

import os
import stat
from pathlib import Path
from typing import Final

from ..errors import ConfigError
from ..values import Problem

#: Bytes of a file.
LONGEST: Final = 8 << 20


def contents(path: Path) -> str:
    """
    :raises ConfigError: when others may read it: then they have every password in it.
    """
    try:
        # A FIFO would keep us waiting for its other end.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            mode = stat.S_IMODE(found.st_mode)
            if not stat.S_ISREG(found.st_mode):
                raise _wrong(path, "is not a regular file")
            if mode & 0o077:
                text = f"others may read or change it (mode {mode:04o}); want 0600: chmod 0600 "
                raise _wrong(path, f"{text}{path}")
            data = file.read(LONGEST + 1)
    except OSError as e:
        raise _wrong(path, f"cannot be read: {e.strerror}") from None
    if len(data) > LONGEST:
        raise _wrong(path, f"is larger than {LONGEST} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise _wrong(path, f"is not UTF-8, from byte {e.start} on") from None


def _wrong(path: Path, text: str) -> ConfigError:
    return ConfigError([Problem(str(path), text)])
