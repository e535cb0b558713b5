"""What goes out for an answer: status, every header, which bytes. One function, for every path."""

from functools import lru_cache

from ..values import Extent
from .dates import http_date
from .decided import Decided, Headers, checked, rendered
from .ranges import select
from .reply import PHRASES, TEXT, FileReply
from .request import Request
from .routing import Answer


def decide(request: Request, answer: Answer) -> Decided:
    """
    :raises ValueError: for a header that no reply may carry: that is the route's fault.
    """
    if isinstance(answer, FileReply):
        return _of_file(request, answer)
    if request.method == "HEAD":
        return answer.decided_for_head
    return answer.decided


def _of_file(request: Request, answer: FileReply) -> Decided:
    content = answer.content
    size, etag, modified = content.size, content.etag, content.modified
    chosen = select(request.method, request.headers, size, etag, modified)
    status = chosen.status
    further = checked(answer.headers) if answer.headers else ()
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
    own: Headers = (
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
def _facts(etag: str, modified: int) -> Headers:
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


def head(decided: Decided, block: bytes, connection: str) -> bytes:
    """
    The head of a reply as bytes.

    :param block: status line, ``Server`` and ``Date``.
    :param connection: ``close``, ``keep-alive`` or empty: the header is left out then.
    """
    lines = decided.lines or rendered(decided.headers)
    if connection:
        return b"%b%bConnection: %b\r\n\r\n" % (block, lines, connection.encode("ascii"))
    return b"%b%b\r\n" % (block, lines)


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
