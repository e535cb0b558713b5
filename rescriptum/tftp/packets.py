"""A file as the datagrams that carry it."""

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

from .transfer import blocks_of
from .wire import Acknowledgement, Data

#: What one block costs beside its bytes: a view, an acknowledgement, two references.
_PER_BLOCK = 256
_HEADER = struct.Struct("!HH")


def interleave(data: bytes | memoryview, first: int, count: int, blksize: int) -> bytes:
    """
    Headers and data in one string, so that a window of datagrams is one slice of it.

    :param data: of ``count`` blocks from block ``first`` on.
    """

    def pieces() -> Iterator[bytes | memoryview]:
        view = memoryview(data)
        pack = _HEADER.pack
        at = 0
        for number in range(first, first + count):
            yield pack(Data.opcode, number & 0xFFFF)
            yield view[at : at + blksize]
            at += blksize

    return b"".join(pieces())


def weight(size: int, blksize: int) -> int:
    """:returns: bytes of memory that :class:`Packets` take."""
    return size + blocks_of(size, blksize) * _PER_BLOCK


class Packets:
    """
    All of a file, for any number of clients of one block size.

    :ivar stride: bytes from one datagram to the next.
    :ivar datagrams: all of them, one behind the other.
    """

    def __init__(self, data: bytes, blksize: int) -> None:
        self.blocks = blocks_of(len(data), blksize)
        self.stride = blksize + _HEADER.size
        self.datagrams = memoryview(interleave(data, 1, self.blocks, blksize))

    def window(self, first: int, count: int) -> memoryview:
        """:returns: ``count`` datagrams from block ``first`` on, one behind the other."""
        return self.datagrams[(first - 1) * self.stride : (first - 1 + count) * self.stride]

    @cached_property
    def lockstep(self) -> tuple[list[memoryview], list[bytes | None]]:
        """
        :returns: by how many blocks were sent, the next datagram, and the acknowledgement that
            asks for it; None for the one that asks for nothing.
        """
        views = [self.window(block, 1) for block in range(1, self.blocks + 1)]
        asking: list[bytes | None] = [
            Acknowledgement(number & 0xFFFF).encode() for number in range(self.blocks)
        ]
        return views, [*asking, None]


class Source(Protocol):
    """
    What a transfer sends.

    :ivar packets: all of it, where it is in memory.
    """

    packets: Packets | None

    def window(self, first: int, count: int) -> bytes | memoryview:
        """
        :returns: ``count`` datagrams from block ``first`` on, the same each time.
        :raises Unavailable: when the file is not what it was.
        """

    def close(self) -> None:
        """Once, at the end."""
