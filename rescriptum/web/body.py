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
        self._parts: list[bytes] = []
        self.held = 0
        self._left = length if length != CHUNKED else 0
        self._chunks = _Chunks() if length == CHUNKED else None

    def feed(self, data: bytes) -> None:
        """:raises Unreadable: for chunks that are none, or too many."""
        if self._chunks is None:
            self._keep(data[: self._left])
            self.rest = data[self._left :]
            self._left -= len(data) - len(self.rest)
            self.complete = not self._left
            return
        for piece in self._chunks.feed(data):
            self._keep(piece)
            if self.held > self.limit:
                raise TooLarge(self.limit)
        self.complete = self._chunks.complete
        self.rest = self._chunks.rest if self.complete else b""

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._parts.append(piece)
            self.held += len(piece)
            if len(self._parts) > 256:  # a body sent byte by byte is not kept byte by byte
                self._parts = [b"".join(self._parts)]

    @property
    def data(self) -> bytes:
        return b"".join(self._parts)


class _Chunks:
    """The framing alone."""

    def __init__(self) -> None:
        self.rest = b""
        self.complete = False
        self._left = 0  # of the chunk that is being read
        self._ending = False  # its CRLF is due
        self._trailers: int | None = None  # bytes of them so far, once the last chunk was read

    def feed(self, data: bytes) -> list[bytes]:
        """:returns: the bytes of the body in ``data``."""
        self.rest += data
        pieces = []
        while not self.complete:
            if self._left:
                piece, self.rest = self.rest[: self._left], self.rest[self._left :]
                if not piece:
                    break
                pieces.append(piece)
                self._left -= len(piece)
                self._ending = not self._left
            elif self._ending:
                if len(self.rest) < 2:
                    break
                if self.rest[:2] != b"\r\n":
                    raise Unreadable("a chunk that is longer than its size")
                self.rest = self.rest[2:]
                self._ending = False
            else:
                line = self._line()
                if line is None:
                    break
                self._take(line)
        return pieces

    def _line(self) -> bytes | None:
        end = self.rest.find(b"\r\n")
        if end < 0 and len(self.rest) <= MAX_LINE:
            return None
        if end < 0 or end > MAX_LINE:
            raise Unreadable(f"a line of more than {MAX_LINE} bytes between chunks")
        line, self.rest = self.rest[:end], self.rest[end + 2 :]
        return line

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
