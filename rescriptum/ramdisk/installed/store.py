"""What is in our hands for a moment: in memory, in a directory that nobody else reads."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW


class Scratch:
    """A directory in the file system of the ramdisk, which is memory: nothing here waits."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, name: str) -> str:
        """:returns: of a file here, for tools; the directory is made for it."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(self._directory / name)

    def write(self, name: str, data: bytes) -> None:
        """Secrets among it: nobody else reads it."""
        self.remove(name)
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)

    @contextmanager
    def kept(self, name: str, data: bytes) -> Iterator[str]:
        """:returns: where it is for tools, for as long as they need it: it may be a secret."""
        self.write(name, data)
        try:
            yield self.path(name)
        finally:
            self.remove(name)

    def read(self, name: str, most: int) -> bytes:
        """:returns: nothing where there is no such file."""
        try:
            with os.fdopen(os.open(self.path(name), os.O_RDONLY | _FLAGS), "rb") as file:
                return file.read(most)
        except FileNotFoundError:
            return b""

    def size(self, name: str) -> int:
        """:returns: 0 where there is no such file."""
        try:
            return os.stat(self.path(name), follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    def remove(self, name: str) -> None:
        """It may be gone already."""
        with suppress(FileNotFoundError):
            os.unlink(self.path(name))


class Beneath:
    """
    A directory tree that an image brought: no link of it leads anywhere, and no file is opened that
    is not below it.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def _opened(self, parts: tuple[str, ...], make: bool) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | _FLAGS
        fd = os.open(self._directory, flags)
        try:
            for each in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(each, 0o755, dir_fd=fd)
                inner = os.open(each, flags, dir_fd=fd)
                os.close(fd)
                fd = inner
        except BaseException:
            os.close(fd)
            raise
        return fd

    def listed(self, parts: tuple[str, ...], most: int) -> list[tuple[str, bool]]:
        """:returns: names, and whether each is a file; nothing where there is no directory."""
        try:
            fd = self._opened(parts, False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        try:
            with os.scandir(fd) as entries:
                some = islice(entries, most)
                return [(each.name, each.is_file(follow_symlinks=False)) for each in some]
        finally:
            os.close(fd)

    def copy(self, parts: tuple[str, ...], to: str, most: int) -> None:
        """
        :raises OSError: when there is no such file, or a link in its place, or it has more than
            ``most`` bytes.
        """
        with self._read(parts) as read, open(to, "wb") as written:
            if os.fstat(read.fileno()).st_size > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), parts[-1])
            while piece := read.read(1 << 20):
                written.write(piece)

    def write(self, parts: tuple[str, ...], data: bytes, mode: int) -> None:
        """Made anew, so that no link is written through. :raises OSError: when it cannot be."""
        *directories, name = parts
        fd = self._opened(tuple(directories), True)
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
            file = os.open(name, flags, 0o600, dir_fd=fd)
            with os.fdopen(file, "wb") as opened:
                opened.write(data)
                os.fchmod(opened.fileno(), mode)
                opened.flush()
                os.fsync(opened.fileno())
        finally:
            os.close(fd)

    def read(self, parts: tuple[str, ...], most: int) -> bytes:
        """:raises OSError: as :meth:`copy` does."""
        with self._read(parts) as file:
            return file.read(most)

    def _read(self, parts: tuple[str, ...]) -> BinaryIO:
        *directories, name = parts
        above = self._opened(tuple(directories), False)
        try:  # a pipe would wait for whoever writes to it
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _FLAGS, dir_fd=above)
        finally:
            os.close(above)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "not a file", name)
        return os.fdopen(fd, "rb")
