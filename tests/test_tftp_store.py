"""Tests for ``rescriptum.tftp.store``."""

import errno
import os
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import NotFound, Unavailable
from rescriptum.testing import MemoryWorkers
from rescriptum.tftp.packets import Packets, Source
from rescriptum.tftp.store import LARGEST, PacketStore
from rescriptum.values import Content, Extent, Generated

from .descriptors import without_descriptors

DATA = b"".join(b"%07d\n" % n for n in range(5000))


def content(path: Path, *extents: Extent) -> Content:
    """What is at ``path`` now."""
    found = path.stat()
    version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return Content(path, extents or (Extent(0, found.st_size),), version)


class PacketStoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.write_bytes(DATA)
        self.workers = MemoryWorkers()
        self.store = PacketStore(self.workers, 1 << 20)

    def opening(self, found: Content | Generated, blksize: int = 512) -> Deferred[Source]:
        return Deferred.fromCoroutine(self.store.open(found, blksize))

    def opened(self, found: Content | Generated, blksize: int = 512) -> Source:
        return self.successResultOf(self.opening(found, blksize))

    def assertSends(self, source: Source, data: bytes, blksize: int = 512) -> None:
        """The source gives the datagrams of ``data``, by any window."""
        wanted = Packets(data, blksize)
        for count in (1, 7):
            for first in range(1, wanted.blocks + 1, count):
                count = min(count, wanted.blocks + 1 - first)
                self.assertEqual(bytes(source.window(first, count)), wanted.window(first, count))

    def test_sends_a_file(self) -> None:
        """Read in a worker, once; the second client has it from memory."""
        for _ in range(2):
            self.assertSends(self.opened(content(self.path)), DATA)
        self.assertEqual(self.workers.done, 1)

    def test_sends_what_was_made_up(self) -> None:
        """No worker is needed for it."""
        self.assertSends(self.opened(Generated(b"#!ipxe\n")), b"#!ipxe\n")
        self.assertEqual(self.workers.done, 0)

    def test_sends_extents_one_behind_the_other(self) -> None:
        """A file inside an image, in whatever order its parts lie there."""
        found = content(self.path, Extent(20000, 1000), Extent(8, 777), Extent(0, 0))
        expected = DATA[20000:21000] + DATA[8:785]
        self.assertSends(self.opened(found), expected)
        self.assertSends(self.opened(found, 8), expected, 8)

    def test_clients_that_come_together_share_one_reading(self) -> None:
        """They wait for it."""
        self.workers.held = True
        waiting = [self.opening(content(self.path)) for _ in range(5)]
        for each in waiting:
            self.assertNoResult(each)
        self.workers.proceed()
        for each in waiting:
            self.assertSends(self.successResultOf(each), DATA)
        self.assertEqual(self.workers.done, 1)

    def test_a_client_that_leaves_does_not_take_the_reading_with_it(self) -> None:
        """Whoever waits for it reads then; a waiting one that leaves harms nobody."""
        self.workers.held = True
        first, second, third = (self.opening(content(self.path)) for _ in range(3))
        second.cancel()
        first.cancel()
        self.workers.proceed()
        self.failureResultOf(first)
        self.failureResultOf(second)
        self.assertSends(self.successResultOf(third), DATA)

    def test_small_blocks_are_made_while_they_are_sent(self) -> None:
        """Datagrams of 8 bytes would take a large multiple of the file in memory."""
        source = self.opened(content(self.path), 8)
        self.assertIsNone(source.packets)
        self.assertSends(source, DATA, 8)
        source.close()
        source.close()

    def test_large_files_are_read_while_they_are_sent(self) -> None:
        """A kernel of hundreds of megabytes does not go through memory whole."""
        with self.path.open("r+b") as file:
            file.truncate(LARGEST + 1)
        source = self.opened(content(self.path))
        self.assertIsNone(source.packets)
        last = source.window(LARGEST // 512 + 1, 1)
        self.assertEqual(last[4:], b"\0")
        source.close()

    def test_what_does_not_fit_beside_what_is_in_use_is_read_while_it_is_sent(self) -> None:
        """The bound of memory holds whatever strangers combine."""
        store = PacketStore(self.workers, 150000)
        sources = []
        for blksize in range(512, 522):
            opening = Deferred.fromCoroutine(store.open(content(self.path), blksize))
            sources.append((blksize, self.successResultOf(opening)))
        self.assertEqual(sum(each.packets is not None for _, each in sources), 2)
        for blksize, source in sources:
            self.assertSends(source, DATA, blksize)
            source.close()
        again = self.successResultOf(Deferred.fromCoroutine(store.open(content(self.path), 600)))
        self.assertIsNotNone(again.packets)

    def test_a_file_replaced_while_it_is_sent_is_not_mixed(self) -> None:
        """Who has it in memory goes on with the old one, and the next gets the new one."""
        old = self.opened(content(self.path))
        other = self.path.with_suffix(".new")
        other.write_bytes(DATA[::-1])
        os.replace(other, self.path)
        self.assertSends(old, DATA)
        self.assertSends(self.opened(content(self.path)), DATA[::-1])

    def test_a_file_written_over_while_it_is_read_ends_the_transfer(self) -> None:
        """Rather than sending half of each."""
        source = self.opened(content(self.path), 8)
        with self.path.open("r+b") as file:
            file.write(b"other")
        os.utime(self.path, ns=(1, 1))
        self.assertRaises(Unavailable, source.window, 1, 1)

    def test_a_file_replaced_since_it_was_found_is_not_sent(self) -> None:
        """The client asks again, and then finds the new one; the room is free again."""
        found = content(self.path)
        self.path.write_bytes(DATA + b"more")
        for blksize in (8, 512):
            for _ in range(30):
                self.failureResultOf(self.opening(found, blksize), Unavailable)
        self.assertIsNotNone(self.opened(content(self.path)).packets)

    def test_a_file_that_cannot_be_opened_is_not_found(self) -> None:
        """Gone, or not ours to read; several who wait for it all hear it."""
        found = content(self.path)
        self.path.unlink()
        self.workers.held = True
        waiting = [self.opening(found) for _ in range(3)]
        self.workers.proceed()
        for each in waiting:
            self.failureResultOf(each, NotFound)

    def test_a_host_out_of_descriptors_is_unavailable(self) -> None:
        """Silence, so that the ROM asks again: "file not found" would be the end of its boot."""
        found = content(self.path)
        without_descriptors(self)
        self.failureResultOf(self.opening(found), Unavailable)

    def test_a_disk_that_fails_ends_the_transfer(self) -> None:
        """As our own words, not as a fault of ours."""
        source = self.opened(content(self.path), 8)

        def fails(fd: int, length: int, offset: int) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        self.patch(os, "pread", fails)
        with self.assertRaises(Unavailable):
            source.window(1, 1)
        source.close()

    def test_a_pipe_in_its_place_holds_nobody_up(self) -> None:
        """Opening one would wait for its other end for ever (W147)."""
        found = content(self.path)
        self.path.unlink()
        os.mkfifo(self.path)
        self.failureResultOf(self.opening(found), Unavailable)
