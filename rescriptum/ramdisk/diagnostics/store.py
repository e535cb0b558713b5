"""The parts of this machine that tests take hold of: memory, processors, disks."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ...errors import RescriptumError

#: Of reads past the page cache.
_PAGE: Final = 4096


class PartTrouble(RescriptumError):
    """A part that cannot be taken hold of, or read."""

    code = "failed"


@contextmanager
def memory(size: int) -> Iterator[mmap.mmap]:
    """:returns: so many bytes, until they are let go of. :raises PartTrouble: there are not."""
    try:
        area = mmap.mmap(-1, size)
    except (OSError, ValueError, OverflowError) as e:
        raise PartTrouble(f"no {size} bytes of memory: {e}") from None
    with area:
        yield area


class Cores:
    """The processor's threads that this process may use."""

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(sorted(os.sched_getaffinity(0)))

    @contextmanager
    def bound(self) -> Iterator[None]:
        """This thread may be bound to one; afterwards it runs where it did before."""
        before = os.sched_getaffinity(0)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def on(self, core: int) -> None:
        """Bind this thread. :raises PartTrouble: when that one is gone."""
        try:
            os.sched_setaffinity(0, {core})
        except OSError as e:
            raise PartTrouble(f"processor {core}: {e.strerror}") from None


@contextmanager
def surface(path: Path) -> Iterator["Surface"]:
    """:raises PartTrouble: when it cannot be read at all."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        try:
            fd = os.open(path, flags | os.O_DIRECT)
        except OSError:  # a file system that knows no direct reads
            fd = os.open(path, flags)
    except OSError as e:
        raise PartTrouble(f"{path}: {e.strerror}") from None
    try:
        yield Surface(fd)
    finally:
        os.close(fd)


class Surface:
    """A disk, for reading."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._into: mmap.mmap | None = None

    def read(self, count: int, at: int) -> bytes:
        """:returns: what is on the disk itself. :raises PartTrouble: when it cannot be read."""
        size = -(-count // _PAGE) * _PAGE
        if self._into is None or len(self._into) != size:
            self._into = mmap.mmap(-1, size)
        try:
            done = os.preadv(self._fd, [self._into], at)
        except OSError as e:
            raise PartTrouble(e.strerror or str(e)) from None
        return self._into[: min(done, count)]
