"""What goes out for an answer: status, every header, which bytes. One function, for every path."""

import re
from functools import lru_cache

from attrs import field, frozen

from ..values import Content, Extent
from .dates import http_date
from .ranges import select
from .reply import PHRASES, TEXT, FileReply
from .request import Request
from .routing import Answer

#: Never a control character: no header ends early or begins another.
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_BODILESS = (204, 304)


@frozen
class Decided:
    """
    A reply, decided to the last byte but for what is the connection's own.

    :ivar headers: without ``Date``, ``Server`` and ``Connection``.
    :ivar body: bytes in memory; empty for HEAD, as ``spans`` are.
    :ivar content: the file that ``spans`` are of.
    :ivar spans: which bytes of the file that holds the content, in order.
    :ivar size: of the entity, whole.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(default=b"", repr=False)
    content: Content | None = None
    spans: tuple[Extent, ...] = ()
    size: int = 0

    @property
    def length(self) -> int:
        """Bytes of the body that will leave."""
        if len(self.spans) == 1:
            return self.spans[0].length
        return len(self.body) or sum([span.length for span in self.spans])


def decide(request: Request, answer: Answer) -> Decided:
    """
    :raises ValueError: for a header that no reply may carry: that is the route's fault.
    """
    if isinstance(answer, FileReply):
        return _of_file(request, answer)
    body = answer.body
    further = _checked(answer.headers) if answer.headers else ()
    if answer.status in _BODILESS:
        return Decided(answer.status, further)
    own = (("Content-Type", answer.media_type), ("Content-Length", str(len(body))))
    if request.method == "HEAD":
        return Decided(answer.status, own + further, size=len(body))
    return Decided(answer.status, own + further, body, size=len(body))


def _of_file(request: Request, answer: FileReply) -> Decided:
    content = answer.content
    size, etag, modified = content.size, content.etag, content.modified
    chosen = select(request.method, request.headers, size, etag, modified)
    status = chosen.status
    further = _checked(answer.headers) if answer.headers else ()
    facts = _facts(etag, modified)
    if status == 304:
        return Decided(304, facts + further, size=size)
    if status in (412, 416):
        if status == 416:
            facts = (("Content-Range", f"bytes */{size}"), *facts)
        bare = f"{status} {PHRASES[status]}\n".encode("ascii")
        said = (("Content-Type", TEXT), ("Content-Length", str(len(bare))))
        body = b"" if request.method == "HEAD" else bare
        return Decided(status, said + facts + further, body, size=size)
    own: tuple[tuple[str, str], ...] = (
        ("Content-Type", content.media_type),
        ("Content-Length", str(chosen.length)),
    )
    if status == 206:
        last = chosen.start + chosen.length - 1
        own += (("Content-Range", f"bytes {chosen.start}-{last}/{size}"),)
    if request.method == "HEAD":
        return Decided(status, own + facts + further, size=size)
    spans = cut(content.extents, chosen.start, chosen.length)
    return Decided(status, own + facts + further, content=content, spans=spans, size=size)


@lru_cache(256)
def _facts(etag: str, modified: int) -> tuple[tuple[str, str], ...]:
    always = ("Accept-Ranges", "bytes"), ("ETag", etag)
    return (*always, ("Last-Modified", http_date(modified))) if modified else always


def cut(extents: tuple[Extent, ...], start: int, length: int) -> tuple[Extent, ...]:
    """
    The pieces of ``extents`` that hold ``length`` bytes from ``start`` on.

    :param length: no more than there are.
    """
    if len(extents) == 1 and length:
        return (Extent(extents[0].offset + start, length),)
    pieces = []
    for extent in extents:
        if start >= extent.length:
            start -= extent.length
            continue
        count = min(extent.length - start, length)
        if not count:
            break
        pieces.append(Extent(extent.offset + start, count))
        start = 0
        length -= count
    return tuple(pieces)


def _checked(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    for name, value in headers:
        if not _VALUE.fullmatch(value):
            raise ValueError(f"not a header value: {name}: {value!r}")
    return tuple(each for each in headers if each[1])  # an empty one locks OVMF up (W155)


def head(decided: Decided, block: bytes, connection: str) -> bytes:
    """
    The head of a reply as bytes.

    :param block: status line, ``Server`` and ``Date``.
    :param connection: ``close``, ``keep-alive`` or empty: the header is left out then.
    """
    lines = "".join([f"{name}: {value}\r\n" for name, value in decided.headers])
    if connection:
        lines += f"Connection: {connection}\r\n"
    return b"%b%b\r\n" % (block, lines.encode("latin-1"))


class Blocks:
    """The first lines of every reply, made once a second."""

    def __init__(self) -> None:
        self._second = -1
        self._by_status: dict[int, bytes] = {}
        self._tail = b""

    def block(self, status: int, now: float) -> bytes:
        """:param now: Unix time."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._by_status.clear()
            self._tail = f"\r\nServer: rescriptum\r\nDate: {http_date(second)}\r\n".encode("ascii")
        found = self._by_status.get(status)
        if found is None:
            found = f"HTTP/1.1 {status} {PHRASES.get(status, '')}".encode("ascii") + self._tail
            self._by_status[status] = found
        return found
