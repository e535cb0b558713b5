"""Descriptors and directory records of ISO 9660 as values: ECMA-119 sections 8 and 9."""

from collections.abc import Iterable, Iterator
from typing import Self

from attrs import field, frozen

from ..errors import MalformedImage
from ..values import Extent
from .rockridge import both

SECTOR = 2048

DIRECTORY, ASSOCIATED, MORE = 0x02, 0x04, 0x80
_JOLIET = (b"%/@", b"%/C", b"%/E")
_UDF = (b"NSR02", b"NSR03")
_RECOGNISED = (b"BEA01", b"TEA01", b"BOOT2", *_UDF)


@frozen
class Node:
    """
    A file, a directory or a link in the image.

    :ivar extents: where its bytes are; several only where they do not touch.
    :ivar target: of a symbolic link.
    """

    name: str
    directory: bool
    extents: tuple[Extent, ...] = field(repr=False)
    target: str | None = None

    @property
    def size(self) -> int:
        return sum(each.length for each in self.extents)


@frozen
class Record:
    """One directory record (9.1)."""

    raw_name: bytes
    flags: int
    extent: Extent
    system_use: bytes

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """
        :param data: the whole record.
        :raises MalformedImage: unless it is one.
        """
        if len(data) < 34 or 33 + data[32] > len(data):
            raise MalformedImage(f"a directory record of {len(data)} bytes")
        if data[26] or data[27]:
            raise MalformedImage("an interleaved file")
        start = both(data[2:10]) + data[1]  # an extended attribute record goes before
        length = both(data[10:18])
        end = 33 + data[32]
        area = data[end + (1 - data[32] % 2) :]
        return cls(data[33:end], data[25], Extent(start * SECTOR, length), area)

    def name(self, joliet: bool) -> str:
        """:returns: its own name, without the version and the dot of an empty suffix."""
        text = self.raw_name.decode("utf-16-be" if joliet else "latin-1", "replace")
        return text.partition(";")[0].removesuffix(".")


def descriptors(head: bytes) -> tuple[bytes | None, bytes | None, bool]:
    """:returns: the primary and the Joliet descriptor (8.4, 8.5), and whether there is UDF."""
    primary = joliet = None
    udf = False
    for at in range(0, len(head) - SECTOR + 1, SECTOR):
        block = head[at : at + SECTOR]
        kind, mark = block[0], block[1:6]
        if mark == b"CD001":
            if kind == 1 and primary is None:
                primary = block
            elif kind == 2 and joliet is None and block[88:91] in _JOLIET:
                joliet = block
        elif mark in _RECOGNISED:
            udf = udf or mark in _UDF
        else:
            break
    return primary, joliet, udf


def root(descriptor: bytes) -> Node:
    return Node("", True, (Record.parse(descriptor[156:190]).extent,))


def records(data: bytes) -> Iterator[bytes]:
    """:returns: a directory's records; none crosses the end of a sector (6.8.1.1)."""
    at = 0
    while at < len(data):
        length = data[at]
        if length == 0:
            at += SECTOR - at % SECTOR
            continue
        if at % SECTOR + length > SECTOR:
            raise MalformedImage("a directory record across the end of a sector")
        yield data[at : at + length]
        at += length


def merged(sections: Iterable[Extent]) -> tuple[Extent, ...]:
    """:returns: the same bytes in as few extents as there can be."""
    extents: list[Extent] = []
    for each in sections:
        last = extents[-1] if extents else Extent(0, 0)
        if extents and last.offset + last.length == each.offset:
            extents[-1] = Extent(last.offset, last.length + each.length)
        elif each.length:
            extents.append(each)
    return tuple(extents)
