"""What Rock Ridge writes behind a directory record: POSIX names, links, moved directories."""

from collections.abc import Callable

from attrs import frozen

from ..errors import MalformedImage

MAX_CONTINUATIONS = 8
MAX_NAME = 1024
MAX_TARGET = 4096


@frozen
class Posix:
    """
    A record's POSIX side: IEEE P1282.

    :ivar name: the real one, or None: the record's own counts.
    :ivar target: of a symbolic link, as ``/`` joined text.
    :ivar child: first block of a directory that was moved elsewhere for being too deep.
    :ivar moved: this is such a directory where it does not belong.
    """

    name: str | None = None
    target: str | None = None
    child: int | None = None
    moved: bool = False


def both(data: bytes) -> int:
    """
    :param data: eight bytes, a number least significant byte first, and again the other way.
    :raises MalformedImage: when the two differ.
    """
    little, big = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "big")
    if len(data) < 8 or little != big:
        raise MalformedImage("a number that is not the same from both ends")
    return little


def skip(area: bytes) -> int | None:
    """
    :param area: the system use area of the root's own record.
    :returns: how many bytes to pass over in every other one; None: no Rock Ridge here.
    """
    at = area.find(b"SP\x07\x01\xbe\xef")  # CD-ROM XA puts 14 bytes before it
    return area[at + 6] if at in (0, 14) and len(area) > at + 6 else None


def _fields(area: bytes) -> list[tuple[bytes, bytes]]:
    fields, at = [], 0
    while at + 4 <= len(area):
        length = area[at + 2]
        if length < 4 or at + length > len(area) or area[at : at + 2] == b"ST":
            break  # padding, or the end
        fields.append((area[at : at + 2], area[at + 4 : at + length]))
        at += length
    return fields


class _Target:
    """A symbolic link's target, put together out of the components of its fields."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.joined = False

    def feed(self, data: bytes) -> None:
        at = 1
        while at + 2 <= len(data):
            flags, length = data[at], data[at + 1]
            content = data[at + 2 : at + 2 + length].decode("utf-8", "surrogateescape")
            at += 2 + length
            if flags & 8:
                self.parts = [""]  # from the root
            else:
                part = "." if flags & 2 else ".." if flags & 4 else content
                if self.joined and self.parts:
                    self.parts[-1] += part
                else:
                    self.parts.append(part)
            self.joined = bool(flags & 1)

    def __str__(self) -> str:
        return "/".join(self.parts) or "/"


def parse(area: bytes, read: Callable[[int, int, int], bytes]) -> Posix:
    """
    :param area: a record's system use area, without what :func:`skip` says.
    :param read: a continuation's bytes, of a block, an offset in it and a length.
    :raises MalformedImage: for continuations without end, or a name or target that has none.
    """
    name: bytes | None = None
    target: _Target | None = None
    child, moved, held = None, False, 0
    for _ in range(MAX_CONTINUATIONS):
        further = None
        for tag, data in _fields(area):
            if tag == b"NM" and data and not data[0] & 6:
                name = (name or b"") + data[1:]
                held += len(data)
            elif tag == b"SL" and data:
                target = target or _Target()
                target.feed(data)
                held += len(data)
            elif tag == b"CL":
                child = both(data[:8])
            elif tag == b"RE":
                moved = True
            elif tag == b"CE" and len(data) >= 24:
                further = (both(data[:8]), both(data[8:16]), both(data[16:24]))
        if (name is not None and len(name) > MAX_NAME) or held > MAX_NAME + MAX_TARGET:
            raise MalformedImage("a name without end")
        if further is None:
            return Posix(
                name.decode("utf-8", "surrogateescape") if name is not None else None,
                str(target) if target is not None else None,
                child,
                moved,
            )
        area = read(*further)
    raise MalformedImage("continuations without end")
