"""Files with secrets in them: for one user alone, written whole or not at all."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ..errors import ConfigError
from ..values import Problem
from .directories import sync

#: Bytes of a file.
LONGEST: Final = 64 * 1024
LOCK: Final = "lock"


class KeyFiles:
    """A directory of mode 0700, and files of mode 0600 in it."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened or made before :meth:`open`."""
        self.path = path

    def open(self) -> None:
        """
        Make the directory where it is missing.

        :raises ConfigError: when others may look into it, or it cannot be made.
        """
        try:
            made = not self.path.is_dir()
            if made:
                self.path.mkdir(mode=0o700, parents=True)
                sync(self.path.parent)
            mode = stat.S_IMODE(self.path.stat().st_mode)
        except OSError as e:
            raise self._wrong(self.path, f"cannot be made: {e.strerror}") from e
        if mode & 0o077:
            raise self._wrong(
                self.path, f"others may look into it (mode {mode:04o}): chmod 0700 {self.path}"
            )

    def read(self, name: str) -> bytes | None:
        """
        :returns: None: there is none.
        :raises ConfigError: when others may read it, or nobody can.
        """
        path = self.path / name
        try:
            # A FIFO would keep us waiting for its other end.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as e:
            raise self._wrong(path, f"cannot be read: {e.strerror}") from e
        try:
            found = os.fstat(descriptor)
            mode = stat.S_IMODE(found.st_mode)
            if not stat.S_ISREG(found.st_mode):
                raise self._wrong(path, "is not a regular file")
            if mode & 0o077:
                raise self._wrong(
                    path, f"others may read it (mode {mode:04o}): chmod 0600 {path}, and renew it"
                )
            data = os.read(descriptor, LONGEST + 1)
        except OSError as e:
            raise self._wrong(path, f"cannot be read: {e.strerror}") from e
        finally:
            os.close(descriptor)
        if len(data) > LONGEST:
            raise self._wrong(path, f"is larger than {LONGEST} bytes")
        return data

    def write(self, name: str, data: bytes) -> None:
        """
        Put it there, whatever was.

        :raises ConfigError: when it cannot be written: what was there still is.
        """
        path = self.path / name
        try:
            descriptor, draft = tempfile.mkstemp(prefix=f".{name}.", dir=self.path)  # mode 0600
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                os.replace(draft, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft)
                raise
            sync(self.path)
        except OSError as e:
            raise self._wrong(path, f"cannot be written: {e.strerror}") from e

    @contextmanager
    def held(self) -> Iterator[None]:
        """
        Keep other processes of this host out while files are looked at and made; waits for them.

        :raises ConfigError: when the directory cannot be written.
        """
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            lock = os.open(self.path / LOCK, flags, 0o600)
        except OSError as e:
            raise self._wrong(self.path, f"cannot be written: {e.strerror}") from e
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    @staticmethod
    def _wrong(path: Path, what: str) -> ConfigError:
        return ConfigError([Problem(str(path), what)])
