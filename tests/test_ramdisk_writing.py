"""Tests for writing images: what is on the disk afterwards, and what is not after any failure."""

import gzip
import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.ramdisk.image import writing as pipeline
from rescriptum.ramdisk.image.compression import Compression
from rescriptum.ramdisk.image.pipe import Broken, Pipe
from rescriptum.ramdisk.image.store import BUFFER, END, Disk, DiskTrouble
from rescriptum.ramdisk.image.writing import StageFailed, Writing

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SIZE = 3 * BUFFER
WRITE = ("write", "disk-failed")
#: Longer than two buffers, and no multiple of a sector.
IMAGE = b"\xfa\x33\xc0BOOT" + bytes(range(1, 256)) * (9 * (1 << 20) // 255)


class FailingDisk(Disk):
    """
    :ivar fails_at: the offset whose write fails; None: none does. :ivar syncs: left to go.
    :ivar on_sync: what happens at the next one.
    """

    fails_at: int | None = None
    syncs = 1000
    on_sync: Callable[[], None] | None = None

    def write(self, data: memoryview, at: int) -> None:
        if at == self.fails_at:
            raise DiskTrouble("the cable is loose")
        super().write(data, at)

    def sync(self) -> None:
        happens, self.on_sync = self.on_sync, None
        if happens is not None:
            happens()
        self.syncs -= 1
        if self.syncs < 0:
            raise DiskTrouble("it was not there after all")
        super().sync()


class WritingCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.write_bytes(b"old" * (SIZE // 3))
        self.disk = FailingDisk.open(self.path)
        self.addCleanup(self.disk.close)

    def writing(self, expected: Compression = Compression.NONE) -> Writing:
        writing = Writing(self.disk, expected)
        self.addCleanup(writing.stop)
        return writing

    def write(self, stored: bytes, digest: str | None = None, cut: int = 100_000) -> Writing:
        self.latest = writing = self.writing()
        writing.begin(0, len(stored))
        for at in range(0, len(stored), cut):
            writing.write([stored[at : at + cut]])
        writing.finish(digest or hashlib.sha256(stored).hexdigest())
        return writing

    def failed(self, stored: bytes, digest: str | None = None) -> StageFailed:
        with self.assertRaises(StageFailed) as caught:
            self.write(stored, digest)
        self.disk.syncs, self.disk.fails_at = 1000, None
        self.latest.abandon()
        error: StageFailed = caught.exception
        return error

    def assert_nothing_boots(self) -> None:
        data = self.path.read_bytes()
        self.assertEqual(len(data), SIZE)
        self.assertEqual(data[:END], bytes(END))
        self.assertEqual(data[-END:], bytes(END))


class WholeTests(WritingCase):
    def test_each_packing(self) -> None:
        """The image, zeros to the end of its last sector, and zeros at the end of the disk."""
        for stored in (IMAGE, gzip.compress(IMAGE, 1), zstd.compress(IMAGE, 1)):
            self.path.write_bytes(b"old" * (SIZE // 3))
            writing = self.write(stored)
            data = self.path.read_bytes()
            sectors = -(-len(IMAGE) // 4096) * 4096
            self.assertEqual(data[: len(IMAGE)], IMAGE)
            self.assertEqual(data[len(IMAGE) : sectors], bytes(sectors - len(IMAGE)))
            self.assertEqual(data[sectors:-END], (b"old" * SIZE)[sectors : SIZE - END])
            self.assertEqual(data[-END:], bytes(END))
            self.assertEqual((writing.have, writing.written), (len(stored), sectors))

    def test_as_large_as_the_disk(self) -> None:
        image = IMAGE.ljust(SIZE, b"x")[:SIZE]
        self.write(image)
        self.assertEqual(self.path.read_bytes(), image)

    def test_small_ones(self) -> None:
        for image in (b"", b"x", b"x" * 4096, b"x" * BUFFER):
            self.write(image)
            self.assertEqual(self.path.read_bytes()[: len(image)], image)

    @settings(max_examples=20)
    @given(st.lists(st.integers(1, 3 * (1 << 20)), max_size=5), st.integers(1, 1 << 20))
    def test_any_pieces(self, sizes: list[int], cut: int) -> None:
        stored = gzip.compress(IMAGE[: sum(sizes) % len(IMAGE)], 1)
        self.write(stored, cut=cut)
        size = sum(sizes) % len(IMAGE)
        self.assertEqual(self.path.read_bytes()[:size], IMAGE[:size])


class BegunAgainTests(WritingCase):
    def test_resumed(self) -> None:
        """W296: what has come stays, whether the connection broke off or not."""
        writing = self.writing()
        writing.begin(0, len(IMAGE))
        writing.write([IMAGE[:5_000_000]])
        writing.end()
        writing.begin(5_000_000, len(IMAGE))
        writing.write([IMAGE[5_000_000:]])
        writing.finish(hashlib.sha256(IMAGE).hexdigest())
        self.assertEqual(self.path.read_bytes()[: len(IMAGE)], IMAGE)

    def test_another_length(self) -> None:
        """What the first answer promised counts no more, although nothing of it had come."""
        writing = self.writing()
        writing.begin(0, 1 << 50)
        writing.begin(0, len(IMAGE))
        writing.write([IMAGE])
        writing.finish(hashlib.sha256(IMAGE).hexdigest())
        self.assertEqual(writing.length, len(IMAGE))

    def test_another_image(self) -> None:
        """W296: an image that has changed is begun anew."""
        writing = self.writing()
        writing.begin(0, len(IMAGE))
        writing.write([b"another" * 1_000_000])
        writing.begin(0, len(IMAGE))
        writing.write([IMAGE])
        writing.finish(hashlib.sha256(IMAGE).hexdigest())
        self.assertEqual(self.path.read_bytes()[: len(IMAGE)], IMAGE)

    def test_abandoned_in_the_middle(self) -> None:
        """Nothing boots, and no thread is left."""
        before = threading.active_count()
        writing = self.writing()
        writing.begin(0, None)
        writing.write([IMAGE])
        writing.abandon()
        self.assert_nothing_boots()
        self.assertEqual(threading.active_count(), before)


class FailureTests(WritingCase):
    def test_a_wrong_digest(self) -> None:
        error = self.failed(IMAGE, "ab" * 32)
        self.assertEqual((error.stage, error.code), ("verify", "digest-mismatch"))
        self.assert_nothing_boots()

    def test_damage(self) -> None:
        stored = gzip.compress(IMAGE, 1)
        error = self.failed(stored[:-9])
        self.assertEqual((error.stage, error.code), ("unpack", "damaged-image"))
        self.assert_nothing_boots()

    def test_each_write(self) -> None:
        """Wherever the disk fails, the first bytes included."""
        for at in (BUFFER, 2 * BUFFER, 0):
            self.path.write_bytes(b"old" * (SIZE // 3))
            writing = self.writing()
            writing.begin(0, None)
            self.disk.fails_at = at
            with self.assertRaises(StageFailed) as caught:
                writing.write([IMAGE])
                writing.finish(hashlib.sha256(IMAGE).hexdigest())
            self.disk.fails_at = None
            self.assertEqual((caught.exception.stage, caught.exception.code), WRITE)
            writing.abandon()
            self.assert_nothing_boots()

    def test_each_sync(self) -> None:
        """Of the three: before anything, before the first bytes and behind them."""
        for syncs in range(3):
            self.disk.syncs = syncs
            error = self.failed(IMAGE)
            self.assertEqual((error.stage, error.code), WRITE)
            self.assert_nothing_boots()

    def test_each_sync_on_the_way(self) -> None:
        """The disk empties its cache while others unpack; if it cannot, the write has failed."""
        self.patch(pipeline, "FLUSH", BUFFER)
        self.write(IMAGE)
        self.assertEqual(self.disk.syncs, 1000 - 5)
        for syncs in (1, 2):
            self.disk.syncs = syncs
            error = self.failed(IMAGE)
            self.assertEqual((error.stage, error.code), WRITE)
            self.assert_nothing_boots()

    def test_too_large(self) -> None:
        """W295: before anything of it was written, where that can be told."""
        large = IMAGE * 2
        for stored in (large, zstd.compress(large, 1)):
            self.path.write_bytes(b"old" * (SIZE // 3))
            error = self.failed(stored)
            self.assertEqual((error.stage, error.code), ("unpack", "image-too-large"))
            self.assertNotIn(bytes(range(1, 99)), self.path.read_bytes())

    def test_too_large_in_the_end(self) -> None:
        """gzip does not say how large it is: it shows when there is no room for it."""
        error = self.failed(gzip.compress(IMAGE * 2, 1))
        self.assertEqual((error.stage, error.code), ("write", "image-too-large"))
        self.assert_nothing_boots()

    def test_not_what_was_said(self) -> None:
        writing = self.writing(Compression.ZSTD)
        writing.begin(0, None)
        with self.assertRaises(StageFailed) as caught:
            writing.write([IMAGE])
            writing.finish("")
        writing.abandon()
        self.assertEqual(caught.exception.code, "unsupported-image")
        self.assert_nothing_boots()

    def test_the_ends_come_last(self) -> None:
        """Not even a table's copy at the end is there before the digest is right."""
        image = IMAGE.ljust(SIZE, b"x")
        writing = self.writing()
        writing.begin(0, SIZE)
        writing.write([image])
        with self.assertRaises(StageFailed):
            self.disk.syncs = 0
            writing.finish(hashlib.sha256(image).hexdigest())
        self.assert_nothing_boots()

    def test_given_up_while_it_is_finished(self) -> None:
        """The disk takes its time to sync, and meanwhile nobody wants the image any more."""
        writing = self.writing()
        writing.begin(0, None)
        writing.write([IMAGE])
        giving_up = threading.Thread(target=writing.abandon)
        self.disk.on_sync = giving_up.start
        with self.assertRaises(StageFailed) as caught:
            writing.finish(hashlib.sha256(IMAGE).hexdigest())
        giving_up.join()
        self.assertEqual((caught.exception.stage, caught.exception.code), ("write", "revoked"))
        self.assert_nothing_boots()
        for late in (lambda: writing.begin(0, None), lambda: writing.write([IMAGE])):
            self.assertRaises(StageFailed, late)
        self.assert_nothing_boots()

    def test_what_nobody_expected(self) -> None:
        """Nobody waits for a thread that is gone."""

        def out_of_memory() -> None:
            raise MemoryError("no more of it")

        self.patch(pipeline, "FLUSH", BUFFER)
        writing = self.writing()
        writing.begin(0, None)
        self.disk.on_sync = out_of_memory
        with self.assertRaises(StageFailed) as caught:
            for _ in range(100):
                writing.write([IMAGE])
        self.assertEqual(str(caught.exception), "write: MemoryError: no more of it")

    def test_it_says_so_each_time(self) -> None:
        """Whoever goes on writing is told again; it never waits for a thread that is gone."""
        writing = self.writing()
        writing.begin(0, None)
        self.disk.fails_at = BUFFER
        for _ in range(2):
            with self.assertRaises(StageFailed):
                for _ in range(100):
                    writing.write([IMAGE[: 1 << 20]])


class DiskTests(SynchronousTestCase):
    def test_no_disk(self) -> None:
        with self.assertRaises(DiskTrouble) as caught:
            Disk.open(Path("/nonexistent/sda"))
        self.assertEqual(str(caught.exception), "/nonexistent/sda: No such file or directory")

    def test_read(self) -> None:
        path = Path(self.mktemp())
        path.write_bytes(b"a" * 4096 + b"b" * 4096)
        disk = Disk.open(path)
        self.addCleanup(disk.close)
        self.assertEqual(disk.read(4096, 4096), b"b" * 4096)
        self.assertEqual((disk.size, disk.sector), (8192, 4096))

    def test_an_end_that_cannot_be_emptied(self) -> None:
        """The other one is, nevertheless."""
        path = Path(self.mktemp())
        path.write_bytes(b"a" * 3 * END)
        disk = FailingDisk.open(path)
        self.addCleanup(disk.close)
        disk.fails_at = 0
        self.assertRaises(DiskTrouble, disk.empty_ends)
        self.assertEqual(path.read_bytes()[-END:], bytes(END))

    def test_closed(self) -> None:
        """What comes too late goes to no file that has the number now."""
        path = Path(self.mktemp())
        path.write_bytes(bytes(4096))
        disk = Disk.open(path)
        disk.close()
        with path.open("rb"):
            with self.assertRaises(DiskTrouble):
                disk.put(b"x" * 4096, 0)
            disk.close()

    def test_smaller_than_its_ends(self) -> None:
        path = Path(self.mktemp())
        path.write_bytes(b"a" * 8192)
        disk = Disk.open(path)
        self.addCleanup(disk.close)
        disk.empty_ends()
        self.assertEqual(path.read_bytes(), bytes(8192))


class PipeTests(SynchronousTestCase):
    def test_order_and_end(self) -> None:
        pipe: Pipe[int] = Pipe(3)
        for each in (1, 2, 3):
            pipe.put(each)
        pipe.close()
        self.assertEqual(list(pipe), [1, 2, 3])

    def test_broken(self) -> None:
        """At both ends, also for whoever is waiting already."""
        full: Pipe[int] = Pipe(1)
        full.put(1)
        seen: list[str] = []

        def put() -> None:
            try:
                full.put(2)
            except Broken:
                seen.append("put")

        thread = threading.Thread(target=put)
        thread.start()
        full.break_()
        thread.join()
        self.assertEqual(seen, ["put"])
        self.assertRaises(Broken, full.take)
