"""Tests for ``rescriptum.web.files`` and ``rescriptum.web.pages``."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import NotFound, RescriptumError, Unavailable
from rescriptum.values import Content, Extent
from rescriptum.web.files import FileTable, OpenFile
from rescriptum.web.pages import fetch, resident

from .webclient import InlineWorkers

_T = TypeVar("_T")


def content(path: Path) -> Content:
    found = path.stat()
    version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return Content(path, (Extent(0, found.st_size),), version)


class FileTableTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = 100.0
        self.table = FileTable(InlineWorkers(), lambda: self.now, spare=2)
        self.addCleanup(self.table.close)
        self.directory = Path(self.mktemp())
        self.directory.mkdir()

    def write(self, name: str, data: bytes) -> Content:
        path = self.directory / name
        path.write_bytes(data)
        return content(path)

    def take(self, wanted: Content) -> OpenFile:
        file = self.table.take(wanted)
        return self.successResultOf(file) if isinstance(file, Deferred) else file

    def fails(self, wanted: Content) -> BaseException:
        file = self.table.take(wanted)
        assert isinstance(file, Deferred)
        error = self.failureResultOf(file).value
        assert isinstance(error, BaseException)
        return error

    def is_open(self, file: OpenFile) -> bool:
        try:
            os.fstat(file.fd)
        except OSError:
            return False
        return True

    def test_one_descriptor_for_all(self) -> None:
        """It is there at once for the second, and stays until the last has done with it."""
        wanted = self.write("a", b"a")
        first = self.take(wanted)
        second = self.table.take(wanted)
        self.assertIs(first, second)
        self.table.close()
        first.release()
        self.assertTrue(self.is_open(first))
        first.release()
        self.assertFalse(self.is_open(first))

    def test_a_file_that_is_opened_too_late(self) -> None:
        """The thread comes back after the table was closed: its user is the last one."""
        opening: list[Callable[[], None]] = []

        class Later:
            async def run(self, work: Callable[[], _T]) -> _T:
                done: Deferred[_T] = Deferred()
                opening.append(lambda: done.callback(work()))
                return await done

        table = FileTable(Later(), lambda: self.now)
        taken = table.take(self.write("a", b"a"))
        assert isinstance(taken, Deferred)
        table.close()
        opening[0]()
        file = self.successResultOf(taken)
        self.assertEqual(len(table), 0)
        file.release()
        self.assertFalse(self.is_open(file))

    def test_a_replaced_file_is_two_files(self) -> None:
        """Old readers keep the old one; the old description finds nothing any more."""
        old = self.take(self.write("a", b"old"))
        self.write("b", b"newer")
        (self.directory / "b").rename(self.directory / "a")
        new = self.take(content(self.directory / "a"))
        self.assertEqual((os.pread(old.fd, 9, 0), os.pread(new.fd, 9, 0)), (b"old", b"newer"))

    def test_a_description_of_another_file(self) -> None:
        wanted = self.write("a", b"old")
        self.write("a", b"newer")
        self.assertIsInstance(self.fails(wanted), Unavailable)

    def test_a_file_that_is_written_to_is_found_out_within_a_second(self) -> None:
        wanted = self.write("a", b"old")
        file = self.take(wanted)
        self.write("a", b"newer")
        self.assertIs(self.table.take(wanted), file)
        self.now += 1
        self.assertRaises(Unavailable, self.table.take, wanted)
        self.assertEqual(len(self.table), 0)
        file.release()
        file.release()
        self.assertFalse(self.is_open(file))

    def test_what_is_no_file(self) -> None:
        wanted = self.write("a", b"a")
        (self.directory / "a").unlink()
        self.assertIsInstance(self.fails(wanted), NotFound)
        (self.directory / "a").mkdir()
        self.assertIsInstance(self.fails(wanted), NotFound)
        os.mkfifo(self.directory / "pipe")
        pipe = Content(self.directory / "pipe", (), (0, 0, 0, 0))
        self.assertIsInstance(self.fails(pipe), NotFound)
        (self.directory / "loop").symlink_to("loop")
        error = self.fails(Content(self.directory / "loop", (), (0, 0, 0, 0)))
        self.assertIs(type(error), RescriptumError)

    def test_unused_files_are_bounded(self) -> None:
        """The latest used of them stay; those in use stay in any case."""
        files = [self.take(self.write(str(n), b"x")) for n in range(5)]
        for file in files[1:]:
            self.now += 0.1
            file.used = self.now
            file.release()
        self.take(self.write("more", b"x"))
        self.assertEqual([self.is_open(each) for each in files], [True, False, False, False, True])

    def test_an_unused_file_gives_its_disk_space_back(self) -> None:
        file = self.take(self.write("a", b"x"))
        file.release()
        self.table.sweep()
        self.assertTrue(self.is_open(file))
        self.now += 5
        self.table.sweep()
        self.assertFalse(self.is_open(file))


class PagesTests(SynchronousTestCase):
    def test_what_was_just_written_is_in_memory(self) -> None:
        path = Path(self.mktemp())
        path.write_bytes(b"x" * 100_000)
        with path.open("rb") as file:
            self.assertTrue(resident(file.fileno(), 0, 100_000))
            fetch(file.fileno(), 0, 100_000)

    def test_the_end_of_a_file_is_not_waited_for(self) -> None:
        """That it is shorter than it was is for sendfile to find out."""
        path = Path(self.mktemp())
        path.write_bytes(b"")
        with path.open("rb") as file:
            self.assertTrue(resident(file.fileno(), 1 << 40, 100_000))
