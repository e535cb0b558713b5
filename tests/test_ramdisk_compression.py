"""Tests for packed images: members, ends and bombs."""

import contextlib
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.ramdisk.image.compression import (
    PIECE,
    Compression,
    DamagedImage,
    UnsupportedImage,
    recognised,
    unpacked,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.GZIP: gzip.compress,
    Compression.ZSTD: zstd.compress,
    Compression.XZ: lzma.compress,
}
DISK = b"\xfa\x33\xc0" + bytes(range(256)) * 100


SIZES = st.integers(0, 3 * PIECE) | st.builds(
    lambda count, more: count * PIECE + more, st.integers(1, 3), st.integers(-300, 300)
)
PACKINGS = st.sampled_from(sorted(PACKED, key=lambda packing: packing.value))
#: Up to some pieces of output, out of a few bytes: limits are met within a symbol, and at ends.
CONTENTS = st.builds(lambda each, size: (each * size)[:size], st.binary(min_size=1), SIZES)
#: Of pieces, over and over.
CUTS = st.lists(st.integers(1, 70_000) | st.integers(1, 20), min_size=1, max_size=5)


def uneven(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    at = 0
    for size in cycle(sizes):
        if at >= len(data):
            return
        yield data[at : at + size]
        at += size


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def whole(data: bytes, size: int = 1000, expected: Compression = Compression.NONE) -> bytes:
    return b"".join(unpacked(cut(data, size), expected))


class RecognisedTests(SynchronousTestCase):
    def test_magic_bytes(self) -> None:
        """W292: what it is called does not matter."""
        for packing, pack in PACKED.items():
            self.assertIs(recognised(pack(DISK)[:8]), packing)
        for head in (b"", b"\x1f", b"\xfa\x33\xc0", b"\0" * 8):
            self.assertIs(recognised(head), Compression.NONE)

    def test_a_frame_without_data_first(self) -> None:
        """RFC 8878 section 3.1.2: pzstd writes one, with the size of the next."""
        packed = b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(DISK)
        self.assertEqual(whole(packed), DISK)

    def test_containers(self) -> None:
        """They are not written as they come: what to do instead is said."""
        for head in (b"QFI\xfb\0\0\0\3", b"KDMV\1\0\0\0", b"vhdxfile"):
            with self.assertRaises(UnsupportedImage) as caught:
                whole(head * 100)
            self.assertIn("qemu-img convert -O raw", str(caught.exception))


class UnpackedTests(SynchronousTestCase):
    def test_sizes_of_pieces(self) -> None:
        for pack in PACKED.values():
            for size in (1, 7, 8, 1000, 1 << 20):
                self.assertEqual(whole(pack(DISK), size), DISK)
        self.assertEqual(whole(DISK), DISK)

    def test_short_ones(self) -> None:
        for data in (b"", b"\x1f", b"abc"):
            self.assertEqual(whole(data), data)

    def test_members(self) -> None:
        """W294: one after the other is one image, with zeros between them as tapes have them."""
        for pack in PACKED.values():
            for size in (1, 5, 1000):
                self.assertEqual(whole(pack(b"one") + pack(b"") + pack(DISK), size), b"one" + DISK)
                self.assertEqual(whole(pack(b"one") + bytes(9) + pack(b"two"), size), b"onetwo")

    @given(st.integers(0, 15), st.binary(max_size=40), CUTS)
    def test_headers_of_gzip(self, fields: int, content: bytes, sizes: list[int]) -> None:
        """RFC 1952 section 2.3: a check, an extra field, a name and a comment, in any pieces."""
        flags = 2 * fields
        header = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\xff"
        if flags & 4:
            header += len(content).to_bytes(2, "little") + content
        text = content.replace(b"\0", b"") + b"\0"
        header += text * (fields >> 2).bit_count()
        if flags & 2:
            header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
        stored = header + gzip.compress(DISK)[10:] + gzip.compress(b"more")
        self.assertEqual(b"".join(unpacked(uneven(stored, sizes))), DISK + b"more")
        much = header + gzip.compress(bytes(9 * PIECE))[10:]
        self.assertLessEqual(max(map(len, unpacked(uneven(much, sizes)))), PIECE)

    def test_what_follows_the_last_member(self) -> None:
        """It is read, since the digest covers it, and does not reach the disk."""
        for pack in PACKED.values():
            for tail in (b"x", b"nothing of ours" * 100, bytes(10_000)):
                pieces = cut(pack(DISK) + tail, 100)
                self.assertEqual(b"".join(unpacked(pieces)), DISK)
                self.assertEqual(list(pieces), [])

    def test_early_ends(self) -> None:
        """W294: wherever it is cut off, in the second member as well."""
        for pack in PACKED.values():
            for data in (pack(DISK), pack(b"one") + pack(DISK)):
                for kept in (9, len(data) // 2, len(data) - 1):
                    self.assertRaises(DamagedImage, whole, data[:kept])

    def test_damage(self) -> None:
        for packing, pack in PACKED.items():
            data = bytearray(pack(DISK))
            data[len(data) // 2] ^= 0xFF
            data[-3] ^= 0xFF
            with self.assertRaises(DamagedImage) as caught:
                whole(bytes(data))
            self.assertIn(packing.value, str(caught.exception))

    def test_bombs(self) -> None:
        """However much comes out, it comes in pieces."""
        for pack in PACKED.values():
            packed = pack(bytes(20 * PIECE))
            sizes = [len(each) for each in unpacked(iter((packed,)))]
            self.assertEqual(sum(sizes), 20 * PIECE)
            self.assertLessEqual(max(sizes), PIECE)

    def test_a_window_without_bound(self) -> None:
        """zstd: a frame that wants more than 128 MiB of memory is refused."""
        options: dict[int, int] = {
            zstd.CompressionParameter.window_log: 28,
            zstd.CompressionParameter.enable_long_distance_matching: 1,
        }
        packer = zstd.ZstdCompressor(options=options)
        packed = packer.compress(DISK) + packer.flush()
        self.assertRaises(DamagedImage, whole, packed)

    def test_not_what_somebody_said(self) -> None:
        """Before anything comes out."""
        said = Compression.GZIP
        for data in (DISK, zstd.compress(DISK)):
            self.assertRaises(UnsupportedImage, next, unpacked(cut(data, 100), said))
        self.assertEqual(whole(gzip.compress(DISK), expected=said), DISK)

    def test_an_end_within_the_next_magic(self) -> None:
        """What the last bytes begin is no longer than its magic: it ends early all the same."""
        for pack in PACKED.values():
            for kept in (6, 7):
                self.assertRaises(DamagedImage, whole, pack(DISK) + pack(b"two")[:kept])

    @given(PACKINGS, st.lists(CONTENTS, min_size=1, max_size=4), CUTS)
    def test_any_members_in_any_pieces(
        self, packing: Compression, contents: list[bytes], sizes: list[int]
    ) -> None:
        stored = b"".join(map(PACKED[packing], contents))
        self.assertEqual(b"".join(unpacked(uneven(stored, sizes))), b"".join(contents))

    @given(PACKINGS, CONTENTS, CONTENTS, CUTS, st.data())
    def test_any_early_end(
        self, packing: Compression, one: bytes, two: bytes, sizes: list[int], data: st.DataObject
    ) -> None:
        """W294: within either member, from where its magic can be seen."""
        first, second = PACKED[packing](one), PACKED[packing](two)
        within = st.integers(8, len(first) - 1) | st.integers(
            len(first) + 6, len(first) + len(second) - 1
        )
        pieces = uneven((first + second)[: data.draw(within)], sizes)
        self.assertRaises(DamagedImage, b"".join, unpacked(pieces))

    @given(st.binary(), st.sampled_from([b"", *(pack(b"abc")[:10] for pack in PACKED.values())]))
    def test_whatever_comes(self, data: bytes, head: bytes) -> None:
        with contextlib.suppress(DamagedImage, UnsupportedImage):
            whole(head + data, 3)
