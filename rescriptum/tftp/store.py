"""Reading the files that are sent."""

import errno
import os
from collections.abc import Callable, Hashable

from twisted.internet.defer import Deferred

from ..errors import NotFound, Unavailable
from ..interfaces import Workers
from ..values import Content, Generated
from .cache import Cache
from .packets import Packets, Source, interleave, weight
from .transfer import blocks_of

#: Larger files, and blocks smaller than every client's default, are read while they are sent.
LARGEST, SMALLEST_BLOCK = 16 << 20, 512
#: What opening a file says where there is none that we could ever read.
_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP))


class PacketSource:
    """Datagrams in memory."""

    def __init__(self, packets: Packets, close: Callable[[], None]) -> None:
        self.packets: Packets | None = packets
        self.window = packets.window
        self.close = close


class FileSource:
    """Datagrams made from an open file, a window at a time."""

    packets: Packets | None = None

    def __init__(self, content: Content, blksize: int) -> None:
        """
        :raises NotFound: when it is not there for us.
        :raises Unavailable: when it was replaced since it was found, or cannot be opened now.
        """
        self._content = content
        self._blksize = blksize
        self._blocks = blocks_of(content.size, blksize)
        # An object, so that whoever leaves before it is handed over leaves nothing open.
        self._file = os.fdopen(_opened(content), "rb", buffering=0)

    def window(self, first: int, count: int) -> bytes:
        start = (first - 1) * self._blksize
        end = min(start + count * self._blksize, self._content.size)
        fd = self._file.fileno()
        _unchanged(fd, self._content)
        data = _read(fd, self._content, start, end)
        return interleave(data, first, count, self._blksize)

    def close(self) -> None:
        self._file.close()


class PacketStore:
    """
    Every source, sharing datagrams between clients.

    A file is read once for each block size, in a worker; requests that come meanwhile wait for
    the same reading. A replaced file has another version, so another key: nothing is mixed.
    """

    def __init__(self, workers: Workers, limit: int) -> None:
        """:param limit: bytes of datagrams in memory."""
        self._workers = workers
        self._cache: Cache[Packets] = Cache(limit)
        self._waiting: dict[Hashable, list[Deferred[None]]] = {}

    def held(self, found: Content | Generated, blksize: int) -> Source | None:
        """:returns: what needs no reading; None for the rest."""
        if isinstance(found, Generated):
            return _made(found, blksize)
        key = _key(found, blksize)
        packets = self._cache.take(key)
        if packets is None:
            return None
        return PacketSource(packets, lambda: self._cache.give_back(key))

    async def open(self, found: Content | Generated, blksize: int) -> Source:
        """
        :raises NotFound: when the file is not there for us.
        :raises Unavailable: when it was replaced since it was found, the disk or the system
            refuses to read it now, or too much is being read.
        """
        if isinstance(found, Generated):
            return _made(found, blksize)
        key = _key(found, blksize)
        while True:
            held = self.held(found, blksize)
            if held is not None:
                return held
            if key not in self._waiting:
                break
            waiting: Deferred[None] = Deferred()
            self._waiting[key].append(waiting)
            await waiting
        cost = weight(found.size, blksize)
        kept = found.size <= LARGEST and blksize >= SMALLEST_BLOCK
        if not kept or not self._cache.reserve(cost):
            return await self._workers.run(lambda: FileSource(found, blksize))
        self._waiting[key] = []
        try:
            packets = await self._workers.run(lambda: Packets(_whole(found), blksize))
        except BaseException:
            self._cache.release(cost)
            raise
        else:
            self._cache.put(key, packets, cost)
        finally:
            for each in self._waiting.pop(key):
                each.callback(None)
        return PacketSource(packets, lambda: self._cache.give_back(key))


def _made(found: Generated, blksize: int) -> Source:
    return PacketSource(Packets(found.data, blksize), _nothing)


def _key(found: Content, blksize: int) -> Hashable:
    return found.version, found.extents, blksize


def _nothing() -> None:
    """What was made for one client is not counted."""


def _whole(content: Content) -> bytes:
    fd = _opened(content)
    try:
        data = _read(fd, content, 0, content.size)
        _unchanged(fd, content)
    finally:
        os.close(fd)
    return data


def _opened(content: Content) -> int:
    try:
        # Never wait for the other end of a FIFO that was put in its place (W147).
        fd = os.open(content.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as e:
        # Only what is so for good is said at once; a host out of descriptors is asked again.
        kind = NotFound if e.errno in _ABSENT else Unavailable
        raise kind(f"{content.path}: {e.strerror}") from e
    try:
        _unchanged(fd, content)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _unchanged(fd: int, content: Content) -> None:
    now = os.fstat(fd)
    if (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) != content.version:
        raise Unavailable(f"{content.path} has changed")


def _read(fd: int, content: Content, start: int, end: int) -> bytes:
    """Bytes ``start`` to ``end`` of what the extents hold, one behind the other."""
    pieces = []
    for extent in content.extents:
        at, stop = max(start, 0), min(end, extent.length)
        while at < stop:
            try:
                piece = os.pread(fd, stop - at, extent.offset + at)
            except OSError as e:
                raise Unavailable(f"{content.path}: {e.strerror}") from e
            if not piece:
                raise Unavailable(f"{content.path} has changed")
            pieces.append(piece)
            at += len(piece)
        start -= extent.length
        end -= extent.length
    return b"".join(pieces)
