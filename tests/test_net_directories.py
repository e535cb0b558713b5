"""Tests for ``rescriptum.net.directories``."""

import errno
import os

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.net.directories import sync


class SyncTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = self.mktemp()
        os.mkdir(self.directory)
        self.synced: list[int] = []
        self.patch(os, "fsync", self.synced.append)

    def fails(self, number: int) -> None:
        def fsync(descriptor: int) -> None:
            self.synced.append(descriptor)
            raise OSError(number, os.strerror(number))

        self.patch(os, "fsync", fsync)

    def closed(self) -> bool:
        with self.assertRaises(OSError):
            os.fstat(self.synced[0])
        return True

    def test_it_is_synced(self) -> None:
        sync(self.directory)
        self.assertEqual(len(self.synced), 1)
        self.assertTrue(self.closed())

    def test_a_file_system_that_cannot(self) -> None:
        """There is nothing that could be done about it, and what is written is there."""
        self.fails(errno.EINVAL)
        sync(self.directory)
        self.assertTrue(self.closed())

    def test_a_disk_that_fails(self) -> None:
        self.fails(errno.EIO)
        self.assertRaises(OSError, sync, self.directory)
        self.assertTrue(self.closed())

    def test_what_is_no_directory(self) -> None:
        self.assertRaises(NotADirectoryError, sync, __file__)
