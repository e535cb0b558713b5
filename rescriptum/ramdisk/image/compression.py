"""How an image is packed, by its first bytes, and what comes out of it, to the last member."""

import lzma
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import chain
from typing import Final, Protocol, cast

from isal import igzip_lib

from ...errors import Malformed, Refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Bytes that come out at once, at the most, whatever goes in: a processor's cache holds them.
PIECE: Final = 128 << 10
#: Bytes by which every packing is known; and what a frame of zstd promises, too.
MAGIC, HEAD = 8, 18
#: Bytes of memory that one stream may ask for.
_MEMORY: Final = 256 << 20
#: Of a member of gzip, what its header may have: a check of it, and three fields.
_CHECKED, _FIELDS = 0x02, 0x1C
#: Of zstd's window, as a power of two: 128 MiB.
_WINDOW: Final = 27


class Compression(Enum):
    """How bytes are packed."""

    NONE = "raw"
    GZIP = "gzip"
    ZSTD = "zstd"
    XZ = "xz"


class UnsupportedImage(Refused):
    """An image that is not a sequence of a disk's sectors, packed or not."""

    code = "unsupported-image"


class DamagedImage(Malformed):
    """Bytes that do not unpack, or that end too early (W294)."""

    code = "damaged-image"


_MAGICS: Final = (
    (b"\x1f\x8b", Compression.GZIP),
    (b"\x28\xb5\x2f\xfd", Compression.ZSTD),
    # A frame without data, which may come first: RFC 8878 section 3.1.2.
    *((bytes([0x50 + each]) + b"\x2a\x4d\x18", Compression.ZSTD) for each in range(16)),
    (b"\xfd7zXZ\0", Compression.XZ),
)
_CONTAINERS: Final = ((b"QFI\xfb", "qcow2"), (b"KDMV", "vmdk"), (b"vhdxfile", "vhdx"))


def recognised(head: bytes) -> Compression:
    """
    :param head: the first :data:`MAGIC` bytes; fewer where there are no more. Names, and types that
        somebody gave the image, do not matter (W292).
    :raises UnsupportedImage: for what cannot be written from its beginning to its end.
    """
    for magic, name in _CONTAINERS:
        if head.startswith(magic):
            raise UnsupportedImage(
                f"a {name} image cannot be written as it comes: store it as a raw one"
                " (qemu-img convert -O raw), packed by zstd"
            )
    return _packing(head)


def _packing(head: bytes) -> Compression:
    found = (packing for magic, packing in _MAGICS if head.startswith(magic))
    return next(found, Compression.NONE)


def promised(head: bytes, stored: int | None) -> int | None:
    """
    :param head: the first bytes of an image. :param stored: of how many, where that is known.
    :returns: bytes that will come out at least; None: nobody can tell before they do.
    """
    packing = _packing(head)
    if packing is Compression.NONE:
        return stored
    if packing is Compression.ZSTD:
        try:
            return zstd.get_frame_info(head).decompressed_size
        except zstd.ZstdError:
            return None
    return None


class _Member(Protocol):
    """What unpacks one member of a stream, as zstd, lzma and isal have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Zlib:
    """Satisfies :class:`_Member`, as zlib unpacks a member of RFC 1952."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = len(out) < max_length and not self._inner.unconsumed_tail
        return out


def _gzip(head: bytes) -> _Member:
    """
    :returns: what unpacks it at twice the pace of zlib; but isal loses its place in a header that
        comes in pieces, if it has a check or more than one field.
    """
    if head[3] & _CHECKED or (head[3] & _FIELDS).bit_count() > 1:
        return _Zlib()
    made: _Member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    return made


def _zstd(head: bytes) -> _Member:
    made: _Member = zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: _WINDOW}
    )
    return made


def _xz(head: bytes) -> _Member:
    made: _Member = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY)
    return made


_MEMBERS: Final[dict[Compression, Callable[[bytes], _Member]]] = {
    Compression.GZIP: _gzip,
    Compression.ZSTD: _zstd,
    Compression.XZ: _xz,
}
#: What they raise; the stubs of isal take its class for an instance of it.
_TROUBLES: Final = (
    cast(type[Exception], igzip_lib.IsalError),
    lzma.LZMAError,
    zlib.error,
    zstd.ZstdError,
    EOFError,
)


def unpacked(pieces: Iterator[bytes], expected: Compression = Compression.NONE) -> Iterator[bytes]:
    """
    :param pieces: an image's stored bytes, in order; they are read to the end, whatever is behind
        the last member: their digest covers that, too.
    :param expected: as somebody said; ``NONE``: nobody said.
    :returns: what goes to the disk; of a packed image at most :data:`PIECE` bytes at once.
    :raises UnsupportedImage: before anything has come out.
    :raises DamagedImage: for what does not unpack, or ends within a member (W294).
    """
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= MAGIC:
            break
    found = recognised(head)
    if expected not in (found, Compression.NONE):
        raise UnsupportedImage(f"it is said to be {expected.value}, and it is {found.value}")
    whole = chain((head,), pieces)
    if found is Compression.NONE:
        yield from whole
        return
    try:
        yield from _members(whole, found, head)
    except _TROUBLES as e:
        raise DamagedImage(f"not {found.value}: {str(e) or type(e).__name__}") from None


def _members(pieces: Iterator[bytes], packing: Compression, head: bytes) -> Iterator[bytes]:
    if len(head) < MAGIC:
        raise DamagedImage(f"this {packing.value} image ends before its end")
    member = _MEMBERS[packing](head)
    rest = b""
    for piece in pieces:
        rest += piece
        while rest:
            if member.eof:
                rest = rest.lstrip(b"\0")  # what fills up a block of a tape
                if len(rest) < MAGIC:
                    break  # the next piece tells whether another one begins
                if _packing(rest[:MAGIC]) is not packing:
                    deque(pieces, 0)
                    return
                member = _MEMBERS[packing](rest)
            yield from _out(member, rest)
            rest = member.unused_data if member.eof else b""
    if not member.eof or _packing(rest) is packing:  # or one begins, and has no more than that
        raise DamagedImage(f"this {packing.value} image ends before its end")


def _out(member: _Member, data: bytes) -> Iterator[bytes]:
    out = member.decompress(data, PIECE)
    while True:
        if out:
            yield out
        if member.eof or member.needs_input:
            return
        out = member.decompress(b"", PIECE)
