"""A disk, or a file that stands for one: written past the page cache, to its end and not beyond."""

import errno
import fcntl
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from ...errors import RescriptumError

#: Bytes of one write, and of what is emptied at either end.
BUFFER, END = 4 << 20, 2 << 20
#: Of sectors that no disk's are larger than (W283).
_SECTOR: Final = 4096
#: linux/fs.h: the size of a block device, and of its sectors.
_BLKGETSIZE64, _BLKSSZGET = 0x80081272, 0x1268


class DiskTrouble(RescriptumError):
    """
    The disk said no.

    :ivar code: ``disk-failed``, or ``image-too-large``.
    """

    code = "disk-failed"


class TooLarge(DiskTrouble):
    """More bytes than the disk has (W295)."""

    code = "image-too-large"


def buffer() -> mmap.mmap:
    """:returns: one that begins at a page, as direct writes need it."""
    return mmap.mmap(-1, BUFFER)


class Disk:
    """
    Open for writing, and for nobody else beside us.

    :ivar size: bytes. :ivar sector: bytes that every write is a multiple of.
    """

    def __init__(self, path: Path, fd: int, size: int, sector: int) -> None:
        self.path = path
        self._fd = fd
        self.size = size
        self.sector = sector

    @classmethod
    def open(cls, path: Path) -> Self:
        """:raises DiskTrouble: when it cannot be written, or something of it is in use."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_EXCL  # exclusive: not while it is mounted
        with _told(path):
            try:
                fd = os.open(path, flags | os.O_DIRECT)
            except OSError as e:
                if e.errno != errno.EINVAL:  # a file system that knows no direct writes
                    raise
                fd = os.open(path, flags)
            try:
                return cls(path, fd, *_shape(fd))
            except BaseException:
                os.close(fd)
                raise

    def write(self, data: memoryview, at: int) -> None:
        """
        :param data: whole sectors.
        :raises TooLarge: before anything of it is written. :raises DiskTrouble: else.
        """
        if at + len(data) > self.size:
            raise TooLarge(f"the image has more than the {self.size} bytes of {self.path}")
        with _told(self.path):
            while data:
                done = os.pwrite(self._fd, data, at)
                data, at = data[done:], at + done

    def read(self, count: int, at: int) -> bytes:
        """:returns: what is on the disk itself; sectors of them. :raises DiskTrouble: else."""
        into = mmap.mmap(-1, -(-count // _SECTOR) * _SECTOR)
        with _told(self.path):
            done = os.preadv(self._fd, [into], at)
        return into[: min(done, count)]

    def sync(self) -> None:
        """:raises DiskTrouble: when something that was written is not there."""
        with _told(self.path):
            os.fsync(self._fd)

    def put(self, data: bytes, at: int) -> None:
        """:param data: whole sectors, from anywhere. :raises DiskTrouble: as :meth:`write` does."""
        with mmap.mmap(-1, len(data)) as aligned:
            aligned[:] = data
            with memoryview(aligned) as view:
                self.write(view, at)

    def zero(self, at: int, count: int) -> None:
        """:param count: of bytes, in whole sectors. :raises DiskTrouble: as :meth:`write` does."""
        with mmap.mmap(-1, count) as zeros, memoryview(zeros) as view:
            self.write(view, at)

    def empty_ends(self) -> None:
        """
        Zeros at both ends: nothing on it boots, and no table of it is found.

        :raises DiskTrouble: when they cannot be written.
        """
        count = min(END, self.size)
        troubles = []
        for at in (0, self.size - count):  # the one also where the other cannot be
            try:
                self.zero(at, count)
            except DiskTrouble as e:
                troubles.append(e)
        self.sync()
        if troubles:
            raise troubles[0]

    def close(self) -> None:
        fd, self._fd = self._fd, -1  # its number is somebody else's soon
        with suppress(OSError):  # it was synced where that matters
            os.close(fd)


def _shape(fd: int) -> tuple[int, int]:
    """:returns: bytes of all of it, and of a sector."""
    try:
        (size,) = struct.unpack("Q", fcntl.ioctl(fd, _BLKGETSIZE64, bytes(8)))
        (sector,) = struct.unpack("I", fcntl.ioctl(fd, _BLKSSZGET, bytes(4)))
    except OSError as e:
        if e.errno != errno.ENOTTY:
            raise
        return os.fstat(fd).st_size, _SECTOR  # a file
    return size, sector


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise DiskTrouble(f"{path}: {e.strerror}") from e
