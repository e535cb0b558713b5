"""
A bounded reader of ISO 9660 images: ECMA-119, with Rock Ridge and Joliet.

It is given a function that reads, decides nothing about files, and trusts nothing in the image:
every number is checked, every list has an end.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from ..errors import MalformedImage, NotFound
from ..values import Extent
from . import rockridge
from .paths import walk
from .records import (
    ASSOCIATED,
    DIRECTORY,
    MORE,
    SECTOR,
    Node,
    Record,
    descriptors,
    merged,
    records,
    root,
)

_T = TypeVar("_T")
#: Bytes at an offset; fewer than asked at the end of the image.
Read = Callable[[int, int], bytes]

MAX_DESCRIPTORS = 32
MAX_DIRECTORY = 4 << 20
MAX_CHILDREN = 65536
MAX_SECTIONS = 256
#: Bytes of directories and continuations that one look-up may cost, and what a record costs
#: beside its own: the time that it takes to understand.
MAX_LOOKUP = 32 << 20
RECORD_COST = 256
#: Children that are remembered, over all directories of an image.
REMEMBERED = 32768


class _Names:
    """A directory's children, by their names and by their names without case."""

    def __init__(self, nodes: list[Node]) -> None:
        self.exact = {each.name: each for each in reversed(nodes)}
        self.folded = {each.name.lower(): each for each in reversed(nodes)}

    def find(self, name: str) -> Node:
        node = self.exact.get(name) or self.folded.get(name.lower())
        if node is None:
            raise NotFound(f"no {name!r} in this directory of the image")
        return node


class _Meter:
    """Reads for one look-up, up to a bound: links and depth multiply what a directory costs."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._left = MAX_LOOKUP

    def exactly(self, offset: int, length: int) -> bytes:
        """:raises MalformedImage: when there are not as many bytes, or too many were read."""
        self.spend(max(length, SECTOR))
        data = self._read(offset, length)
        if len(data) != length:
            raise MalformedImage("a directory beyond the end of the image")
        return data

    def spend(self, cost: int) -> None:
        """:raises MalformedImage: when nothing is left."""
        self._left -= cost
        if self._left < 0:
            raise MalformedImage("directories without end")

    def continuation(self, block: int, offset: int, length: int) -> bytes:
        if offset + length > SECTOR:
            raise MalformedImage("a continuation of more than one block")
        return self.exactly(block * SECTOR + offset, length)


class _Tree:
    """
    One of the directory trees of an image.

    :ivar posix: bytes to pass over before Rock Ridge's fields; None: there are none.
    """

    def __init__(self, read: Read, root: Node, joliet: bool = False) -> None:
        self._read = read
        self._root = root
        self._joliet = joliet
        self._known: dict[Extent, _Names] = {}
        self._held = 0
        self.posix: int | None = None
        if not joliet:
            data = self._bytes(root, _Meter(read))
            own = Record.parse(data[: data[0]] if data else b"")
            self.posix = rockridge.skip(own.system_use)

    def find(self, path: str) -> Node:
        """:raises NotFound: when there is nothing of that name."""
        meter = _Meter(self._read)
        return walk(self._root, path, lambda node, name: self._names(node, meter).find(name))

    def names(self, path: str) -> tuple[str, ...]:
        """:raises NotFound: when there is no such directory."""
        node = self.find(path)
        if not node.directory:
            raise NotFound(f"{path!r} is no directory")
        return tuple(self._names(node, _Meter(self._read)).exact)

    def _bytes(self, node: Node, meter: _Meter) -> bytes:
        [extent] = node.extents
        if extent.length > MAX_DIRECTORY:
            raise MalformedImage(f"a directory of {extent.length} bytes")
        return meter.exactly(extent.offset, extent.length)

    def _names(self, node: Node, meter: _Meter) -> _Names:
        [extent] = node.extents
        names = self._known.get(extent)
        if names is None:
            names = _Names(list(self._children(self._bytes(node, meter), meter)))
            if self._held + len(names.exact) > REMEMBERED:
                self._known, self._held = {}, 0
            if len(names.exact) <= REMEMBERED:
                self._known[extent] = names
                self._held += len(names.exact)
        return names

    def _children(self, data: bytes, meter: _Meter) -> Iterator[Node]:
        sections: list[Extent] = []
        count = 0
        for raw in records(data):
            record = Record.parse(raw)
            meter.spend(RECORD_COST)
            count += 1
            if count > MAX_CHILDREN or len(sections) > MAX_SECTIONS:
                raise MalformedImage("a directory without end")
            if record.raw_name in (b"\0", b"\1") or record.flags & ASSOCIATED:
                continue  # itself, its parent; a resource fork
            sections.append(record.extent)
            if record.flags & MORE:
                continue  # a file of 4 GiB and more has a record for each part of it
            node = self._node(record, tuple(sections), meter)
            sections = []
            if node is not None:
                yield node

    def _node(self, record: Record, sections: tuple[Extent, ...], meter: _Meter) -> Node | None:
        name = record.name(self._joliet)
        directory = bool(record.flags & DIRECTORY)
        posix = rockridge.Posix()
        if self.posix is not None:
            posix = rockridge.parse(record.system_use[self.posix :], meter.continuation)
        if posix.moved:
            return None
        if posix.child is not None:
            # Its own first record says how long a directory is that was moved elsewhere.
            start = posix.child * SECTOR
            own = meter.exactly(start, SECTOR)
            length = Record.parse(own[: own[0]]).extent.length
            directory, sections = True, (Extent(start, length),)
        if directory and len(sections) != 1:
            raise MalformedImage("a directory in several parts")
        extents = sections if directory else merged(sections)
        return Node(posix.name or name, directory, extents, posix.target)


class Image:
    """
    An image's names.

    :ivar label: the volume's id.
    :ivar udf: whether it also holds a UDF volume, which this does not read.
    :ivar volume: how many bytes the volume says it has.
    """

    def __init__(self, read: Read, size: int) -> None:
        """
        :param size: of the image, in bytes.
        :raises MalformedImage: when it has no primary volume descriptor that makes sense.
        """
        primary, joliet, self.udf = descriptors(read(16 * SECTOR, MAX_DESCRIPTORS * SECTOR))
        if primary is None:
            raise MalformedImage("a UDF image" if self.udf else "not an ISO 9660 image")
        if int.from_bytes(primary[128:130], "little") != SECTOR:
            raise MalformedImage("blocks that are not of 2048 bytes")
        self._size = size
        self.label = primary[40:72].decode("ascii", "replace").strip(" \0")
        self.volume = rockridge.both(primary[80:88]) * SECTOR
        first = _Tree(read, root(primary))
        self._trees = [first]
        if joliet is not None:
            # Its names beat the upper-case ones of plain ISO 9660; Rock Ridge beats both.
            at = 0 if first.posix is None else 1
            self._trees.insert(at, _Tree(read, root(joliet), joliet=True))

    def find(self, path: str) -> Node:
        """
        :raises NotFound: when there is no such file, or it is a directory.
        :raises MalformedImage: when the image contradicts itself on the way there.
        """
        node = self._first(lambda tree: tree.find(path))
        if node.directory:
            raise NotFound(f"{path!r} is a directory of the image")
        if any(each.offset + each.length > self._size for each in node.extents):
            raise MalformedImage(f"{path!r} goes on beyond the end of the image")
        return node

    def names(self, path: str) -> tuple[str, ...]:
        """
        :returns: the names in a directory.
        :raises NotFound: when there is no such directory.
        :raises MalformedImage: when the image contradicts itself on the way there.
        """
        return self._first(lambda tree: tree.names(path))

    def _first(self, ask: Callable[[_Tree], _T]) -> _T:
        for tree in self._trees[:-1]:
            try:
                return ask(tree)
            except NotFound:
                continue
        return ask(self._trees[-1])
