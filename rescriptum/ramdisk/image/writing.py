"""
An image on its way to a disk: three threads, so that the slowest of hashing, unpacking and writing
sets the pace.

What makes a disk boot is written last, once the digest is right: until then its ends are empty.
"""

import hashlib
import mmap
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from attrs import frozen

from ...errors import RescriptumError, Unverified
from .compression import HEAD, Compression, promised, unpacked
from .pipe import Broken, Pipe
from .store import BUFFER, END, Disk, DiskTrouble, TooLarge, buffer

#: Batches of stored bytes that may wait to be unpacked, and buffers that go round.
_BATCHES, _BUFFERS = 16, 5
#: Bytes after which the disk is to empty its cache: while others unpack, not all at the end.
FLUSH: Final = 256 << 20
_GIVEN_UP: Final = "it was given up"


class WrongDigest(Unverified):
    """All of it came, and it is another image."""

    code = "digest-mismatch"


class GivenUp(RescriptumError):
    """Whoever wanted the image wants it no more."""

    code = "revoked"


class StageFailed(RescriptumError):
    """
    One stage has ended the others.

    :ivar stage: ``receive``, ``unpack``, ``write`` or ``verify``. :ivar code: of what it met.
    """

    def __init__(self, stage: str, trouble: RescriptumError) -> None:
        super().__init__(f"{stage}: {trouble}")
        self.stage = stage
        self.code = trouble.code


#: Stored bytes, in order.
_Batch = Sequence[bytes]


@frozen
class _Filled:
    """:ivar data: whose first ``count`` bytes go to ``at``."""

    data: mmap.mmap
    count: int
    at: int


class Writing:
    """
    One image, onto one disk. Its methods block, and are called one at a time; but for
    :meth:`abandon`, which may come while another one still runs, and waits for it.

    :ivar have: stored bytes that have come. :ivar written: bytes of the disk; any thread may look.
    :ivar length: of all stored bytes, where it is known.
    """

    def __init__(self, disk: Disk, expected: Compression = Compression.NONE) -> None:
        self._disk = disk
        self._expected = expected
        self._threads: tuple[threading.Thread, ...] = ()
        self._pipes: tuple[Pipe[_Batch], Pipe[_Filled], Pipe[mmap.mmap]] | None = None
        self._trouble: StageFailed | None = None
        self._held: list[_Filled] = []
        self._step = threading.Lock()
        self._given_up = False
        self.length: int | None = None
        self._hash = hashlib.sha256()
        self.have = self.written = 0

    def begin(self, have: int, length: int | None) -> None:
        """
        Take bytes from now on.

        :param have: those that stay: all, or none of them; then it is begun anew.
        :param length: of all stored bytes, where it is known.
        :raises StageFailed: when the disk cannot be written.
        """
        with self._step:
            self._look()
            self.length = length
            if not self._threads or have != self.have:
                self._begin()

    def _begin(self) -> None:
        self.stop()
        self.have = self.written = 0
        self._hash, self._held, self._trouble = hashlib.sha256(), [], None
        try:
            self._disk.empty_ends()
        except DiskTrouble as e:
            raise self._failed("write", e) from None
        stored: Pipe[_Batch] = Pipe(_BATCHES)
        filled: Pipe[_Filled] = Pipe(_BUFFERS)
        free: Pipe[mmap.mmap] = Pipe(_BUFFERS)
        for _ in range(_BUFFERS):
            free.put(buffer())
        self._pipes = stored, filled, free
        self._threads = (
            self._thread("unpack", lambda: self._unpack(stored, filled, free)),
            self._thread("write", lambda: self._write(filled, free)),
        )

    def write(self, chunks: Sequence[bytes]) -> None:
        """
        :param chunks: stored bytes, in order.
        :raises StageFailed: when a later stage has failed; then it does so each time.
        """
        pipes = self._pipes
        for chunk in chunks:
            self._hash.update(chunk)
            self.have += len(chunk)
        try:
            if pipes is None:
                raise Broken
            pipes[0].put(chunks)
        except Broken:
            raise self._failed("write", GivenUp(_GIVEN_UP)) from None

    def end(self) -> None:
        """None come for a while: what there is goes on to the disk."""

    def finish(self, sha256: str) -> None:
        """
        All has come: see that it is what it should be, and let the disk boot.

        :raises StageFailed: when it is not, or the disk says no; then it is to be abandoned.
        """
        with self._step:
            self._finish(sha256)

    def _finish(self, sha256: str) -> None:
        self._look()
        assert self._pipes is not None
        self._pipes[0].close()
        for each in self._threads:
            each.join()
        if self._trouble is not None:
            raise self._trouble
        self._look()
        found = self._hash.hexdigest()
        if found != sha256:
            raise self._failed("verify", WrongDigest(f"it is {found}, and {sha256} was wanted"))
        try:
            self._disk.sync()  # what is in the middle is there before it can be booted
            self._look()
            for held in reversed(self._held):  # the beginning last
                self._put(held)
            self._disk.sync()
        except DiskTrouble as e:
            raise self._failed("write", e) from None

    def stop(self) -> None:
        """Whatever runs ends; what is on the disk stays as it is."""
        self._break()
        for each in self._threads:
            each.join()
        self._threads, self._pipes = (), None

    def abandon(self) -> None:
        """
        Whatever runs ends, and nothing on the disk boots.

        :raises DiskTrouble: when not even that can be written.
        """
        self._given_up = True
        self._break()
        with self._step:
            self.stop()
            self._disk.empty_ends()

    def _look(self) -> None:
        """:raises StageFailed: when it was given up, meanwhile or before."""
        if self._given_up:
            raise self._failed("write", GivenUp(_GIVEN_UP))

    def _thread(self, stage: str, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except Broken:
                pass  # somebody else's trouble
            except Exception as e:  # noqa: BLE001 - others would wait for this thread for ever
                if not isinstance(e, RescriptumError):
                    e = RescriptumError(f"{type(e).__name__}: {e}")
                self._failed(stage, e)
                self._break()

        thread = threading.Thread(target=run, name=f"image {stage}", daemon=True)
        thread.start()
        return thread

    def _failed(self, stage: str, trouble: RescriptumError) -> StageFailed:
        if self._trouble is None:
            self._trouble = StageFailed(stage, trouble)
        return self._trouble

    def _break(self) -> None:
        for each in self._pipes or ():
            each.break_()

    def _unpack(self, stored: Pipe[_Batch], filled: Pipe[_Filled], free: Pipe[mmap.mmap]) -> None:
        head, pieces = _peeked(chain.from_iterable(stored))
        size = promised(head, self.length)
        if size is not None and size > self._disk.size:
            raise TooLarge(f"the image has {size} bytes, and {self._disk.path} {self._disk.size}")
        into, count, at = free.take(), 0, 0
        for piece in unpacked(pieces, self._expected):
            left = memoryview(piece)
            while left:
                assert into is not None
                taken = left[: BUFFER - count]
                into[count : count + len(taken)] = taken
                count, left = count + len(taken), left[len(taken) :]
                if count == BUFFER:
                    filled.put(_Filled(into, count, at))
                    into, count, at = free.take(), 0, at + BUFFER
        if count:
            assert into is not None
            whole = -(-count // self._disk.sector) * self._disk.sector
            into[count:whole] = bytes(whole - count)
            filled.put(_Filled(into, whole, at))
        filled.close()

    def _write(self, filled: Pipe[_Filled], free: Pipe[mmap.mmap]) -> None:
        for each in filled:
            if each.at == 0 or self._disk.size - END < each.at + each.count <= self._disk.size:
                self._held.append(each)  # three of the buffers at the most
                continue
            self._put(each)
            free.put(each.data)
            if each.at % FLUSH == 0:
                self._disk.sync()

    def _put(self, each: _Filled) -> None:
        with memoryview(each.data) as view, view[: each.count] as data:
            self._disk.write(data, each.at)
        self.written += each.count


def _peeked(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """:returns: the first bytes, and all of them."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= HEAD:
            break
    return head, chain((head,), pieces)
