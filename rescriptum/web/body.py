"""Bodies of requests, as they arrive: counted, or in chunks (RFC 9112 section 7.1)."""

import re
from typing import Final

from .head import CHUNKED, Unreadable

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*+(?:;[\t -~\x80-\xff]*+)?")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++:[\t -~\x80-\xff]*+")
#: Of a chunk's size line, and of all the trailers together.
MAX_LINE: Final = 256
MAX_TRAILERS: Final = 4096


class TooLarge(Unreadable):
    """A body over its bound."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a body of more than {limit} bytes", 413)


class Body:
    """
    One body. Feed it until :attr:`complete`; what comes after it is :attr:`rest`.

    :ivar limit: bytes; a larger one is refused as soon as that is known.
    :ivar data: what has come so far.
    """

    def __init__(self, length: int, limit: int) -> None:
        """
        :param length: as in the head.
        :raises TooLarge: from the header alone, with nothing read.
        """
        if length > limit:
            raise TooLarge(limit)
        self.limit = limit
        self.complete = length == 0
        self.rest = b""
        self.data = bytearray()
        self._left = length if length != CHUNKED else 0
        self._chunks = _Chunks() if length == CHUNKED else None

    def feed(self, data: bytes) -> None:
        """:raises Unreadable: for chunks that are none, or too many."""
        if self._chunks is None:
            piece, self.rest = data[: self._left], data[self._left :]
            self.data += piece
            self._left -= len(piece)
            self.complete = not self._left
            return
        self._chunks.feed(data, self.data, self.limit)
        self.complete = self._chunks.complete
        self.rest = self._chunks.rest if self.complete else b""


class _Chunks:
    """The framing alone."""

    def __init__(self) -> None:
        self.rest = b""
        self.complete = False
        self._left = 0  # of the chunk that is being read
        self._ending = False  # its CRLF is due
        self._trailers: int | None = None  # bytes of them so far, once the last chunk was read

    def feed(self, data: bytes, body: bytearray, limit: int) -> None:
        """Append to ``body`` what is of it in ``data``."""
        data, at = self.rest + data, 0
        while not self.complete:
            if self._left:
                piece = data[at : at + self._left]
                body += piece
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._ending = True
            elif self._ending:
                if len(data) - at < 2:
                    break
                if not data.startswith(b"\r\n", at):
                    raise Unreadable("a chunk that is longer than its size")
                at += 2
                self._ending = False
            else:
                end = data.find(b"\r\n", at, at + MAX_LINE + 2)
                if end < 0:
                    if len(data) - at > MAX_LINE + 1:
                        raise Unreadable(f"a line of more than {MAX_LINE} bytes between chunks")
                    break
                line, at = data[at:end], end + 2
                self._take(line)
                if len(body) + self._left > limit:
                    raise TooLarge(limit)
        self.rest = data[at:]

    def _take(self, line: bytes) -> None:
        if self._trailers is None:
            match = _SIZE_LINE.fullmatch(line)
            if match is None:
                raise Unreadable("a chunk without a size")
            self._left = int(match[1], 16)
            if not self._left:
                self._trailers = 0
        elif not line:
            self.complete = True
        else:  # read past, and believed in nothing
            self._trailers += len(line) + 2
            if self._trailers > MAX_TRAILERS or _TRAILER.fullmatch(line) is None:
                raise Unreadable("trailers that are none, or too many")
