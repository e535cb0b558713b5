"""Tests for ``rescriptum.cache.store``."""

import errno
import os
import resource
import signal
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.images import CachedImage, Sidecar
from rescriptum.cache.store import CacheDirectory, DiskFailed, DiskFull, Draft, Found, WrongBytes
from rescriptum.errors import Unavailable

DATA = b"an image " * 1000
DIGEST = sha256(DATA).hexdigest()
URL = "http://images/a?signature"


class DirectoryCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()) / "data" / "cache"
        self.directory = CacheDirectory(self.path, spare=0)
        self.directory.open()

    def names(self) -> list[str]:
        return sorted(each.name for each in self.path.iterdir())

    def draft(self, data: bytes = DATA, digest: str = DIGEST) -> Draft:
        draft = self.directory.draft(digest)
        draft.begin(0, len(data))
        draft.write([data[:100], data[100:]])
        return draft

    def pulled(self, data: bytes = DATA) -> CachedImage:
        return self.draft(data, sha256(data).hexdigest()).finish(URL, 1_700_000_000)

    def found(self) -> Found:
        return CacheDirectory(self.path).open()


class DraftTests(DirectoryCase):
    def test_an_image(self) -> None:
        """It and its sidecar, for this user alone, and nothing else."""
        image = self.pulled()
        self.assertEqual(self.names(), [DIGEST, f"{DIGEST}.json"])
        self.assertEqual((self.path / DIGEST).read_bytes(), DATA)
        sidecar = Sidecar.parse((self.path / f"{DIGEST}.json").read_bytes())
        self.assertEqual((sidecar.url, sidecar.used), (URL, 1_700_000_000))
        for each in (self.path, *self.path.iterdir()):
            self.assertFalse(each.stat().st_mode & 0o077, each)
        self.assertEqual(self.found(), Found((image,), ()))

    def test_bytes_that_are_not_the_image(self) -> None:
        """Are never called by its name, and are gone."""
        draft = self.draft(b"another", DIGEST)
        error = self.assertRaises(WrongBytes, draft.finish, URL, 0)
        self.assertIn(sha256(b"another").hexdigest(), str(error))
        self.assertEqual(self.names(), [])
        draft.begin(0, len(DATA))
        draft.write([DATA])
        draft.finish(URL, 0)
        self.assertEqual((self.path / DIGEST).read_bytes(), DATA)

    def test_going_on(self) -> None:
        """What is there stays, over as many beginnings as it takes."""
        draft = self.directory.draft(DIGEST)
        for at in range(0, len(DATA), 1000):
            draft.begin(at, len(DATA))
            draft.write([DATA[at : at + 1000]])
            draft.end()
            draft.end()
        draft.begin(len(DATA), len(DATA))
        self.assertEqual(draft.finish(URL, 0).size, len(DATA))

    def test_beginning_anew(self) -> None:
        """Nothing is left of what was there, if it was longer too."""
        draft = self.directory.draft(DIGEST)
        draft.begin(0, None)
        draft.write([b"x" * 20_000])
        draft.end()
        draft.begin(0, len(DATA))
        draft.write([DATA])
        draft.finish(URL, 0)
        self.assertEqual((self.path / DIGEST).read_bytes(), DATA)

    def test_given_up(self) -> None:
        draft = self.draft()
        draft.discard()
        draft.discard()
        self.assertEqual((self.names(), draft.have), ([], 0))

    def test_an_empty_image(self) -> None:
        self.assertEqual(self.pulled(b"").size, 0)

    def test_its_space_is_taken_before_it_comes(self) -> None:
        draft = self.directory.draft(DIGEST)
        draft.begin(0, 1 << 20)
        self.assertEqual((self.path / f".pull-{DIGEST}").stat().st_blocks * 512, 1 << 20)
        draft.write([DATA])
        self.assertEqual(draft.finish(URL, 0).size, len(DATA))


class FullDiskTests(DirectoryCase):
    def test_no_room(self) -> None:
        """Is seen before anything comes, and what is to stay free does."""
        tight = CacheDirectory(self.path, spare=1 << 60)
        error = self.assertRaises(DiskFull, tight.draft(DIGEST).begin, 0, 1)
        self.assertEqual(error.code, "disk-full")
        self.assertIn("room for 0", str(error))
        room = self.directory.room()
        error = self.assertRaises(DiskFull, self.directory.draft(DIGEST).begin, 0, room + (1 << 40))
        self.assertIn(f"{room + (1 << 40)} bytes more are needed", str(error))

    def test_no_room_for_an_image_of_unknown_length(self) -> None:
        """It is written until what is to stay free would not."""
        tight = CacheDirectory(self.path, spare=1 << 60)
        draft = tight.draft(DIGEST)
        draft.begin(0, None)
        self.assertRaises(DiskFull, draft.write, [b"x"])
        draft.discard()
        self.assertEqual(self.names(), [])

    def test_a_disk_that_says_no(self) -> None:
        """Whatever it says, it is an error of ours, and the next try goes on where this ended."""
        draft = self.draft(DATA[:5000])
        real = os.write
        for number, kind in (
            (errno.ENOSPC, DiskFull),
            (errno.EDQUOT, DiskFull),
            (errno.EIO, DiskFailed),
            (errno.EROFS, DiskFailed),
        ):

            def full(fd: int, data: bytes, number: int = number) -> int:
                if len(data) <= 1000:
                    raise OSError(number, os.strerror(number))
                return real(fd, data[:1000])

            with patch("os.write", full):
                error = self.assertRaises(kind, draft.write, [DATA[5000:7000]])
            self.assertIn(os.strerror(number), str(error))
            self.assertEqual(draft.have, 6000)
            draft.end()
            draft.begin(6000, len(DATA))
            with patch("os.write", full):
                self.assertRaises(kind, draft.write, [DATA[6000:6010]])
            draft.discard()
            draft.begin(0, len(DATA))
            draft.write([DATA[:5000]])
        draft.write([DATA[5000:]])
        draft.finish(URL, 0)

    def test_what_comes_after_what_could_not_be_written(self) -> None:
        """Is not written either: something would be missing in between."""
        draft = self.draft(DATA[:5000])
        with patch("os.write", side_effect=OSError(errno.EIO, "Input/output error")):
            self.assertRaises(DiskFailed, draft.write, [DATA[5000:6000]])
        self.assertRaises(DiskFailed, draft.write, [DATA[6000:]])
        draft.begin(5000, len(DATA))
        draft.write([DATA[5000:]])
        draft.finish(URL, 0)

    def test_a_disk_that_fails_at_the_end(self) -> None:
        """Nothing is in its place before it is whole; what is there is kept for the next try."""
        for name in ("fsync", "rename", "replace"):

            def broken(*_: object) -> None:
                raise OSError(errno.ENOSPC, "full")

            draft = self.draft()
            with patch(f"os.{name}", broken):
                self.assertRaises(DiskFull, draft.finish, URL, 0)
            self.assertNotIn(DIGEST, self.names())
            self.assertEqual(draft.have, len(DATA))
            draft.discard()

    def test_a_limit_of_the_process(self) -> None:
        """The kernel's own word, not ours."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        draft = self.directory.draft(DIGEST)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
            draft.begin(0, None)
            self.assertRaises(DiskFull, draft.write, [DATA])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handled)
        self.assertEqual(draft.have, 4096)

    def test_a_file_system_that_reserves_nothing(self) -> None:
        def cannot(*_: object) -> None:
            raise OSError(errno.EOPNOTSUPP, "not here")

        with patch("os.posix_fallocate", cannot):
            self.assertEqual(self.pulled().size, len(DATA))


class OpeningTests(DirectoryCase):
    def kept(self, found: Found) -> tuple[list[str], list[str]]:
        return [each.digest for each in found.ready], [each.digest for each in found.unchecked]

    def test_what_a_crash_has_left(self) -> None:
        """Is removed; what others put there is left alone."""
        self.pulled()
        for name in (f".pull-{'ab' * 32}", f".pull-{'ab' * 32}.json", f"{'ab' * 32}.json"):
            (self.path / name).write_bytes(b"half")
        (self.path / "notes.txt").write_bytes(b"mine")
        (self.path / ("cd" * 32)).symlink_to("/etc/passwd")
        with capturedLogs() as events:
            found = self.found()
        self.assertEqual(self.kept(found), ([DIGEST], []))
        expected = sorted([DIGEST, f"{DIGEST}.json", "notes.txt", "cd" * 32])
        self.assertEqual(self.names(), expected)
        self.assertIn("cd" * 32, events[0]["file"])

    def test_a_sidecar_that_is_damaged(self) -> None:
        """Takes no image away: it is verified anew, and has a sidecar again."""
        damage: tuple[Callable[[Path], object], ...] = (
            lambda path: path.write_bytes(b"{"),
            lambda path: path.write_bytes(b"\xff" * 100_000),
            lambda path: path.unlink(),
        )
        for each in damage:
            self.setUp()
            image = self.pulled()
            each(self.path / f"{DIGEST}.json")
            found = self.found()
            self.assertEqual(self.kept(found), ([], [DIGEST]))
            checked = self.directory.check(found.unchecked[0], lambda: True)
            assert checked is not None
            self.assertEqual((checked.digest, checked.version), (DIGEST, image.version))
            self.assertEqual(self.kept(self.found()), ([DIGEST], []))

    def test_a_sidecar_that_cannot_be(self) -> None:
        """Takes no image away either."""
        self.pulled()
        (self.path / f"{DIGEST}.json").unlink()
        (self.path / f"{DIGEST}.json").mkdir()
        [image] = self.found().unchecked
        with capturedLogs() as events:
            self.assertEqual(self.directory.check(image, lambda: True), image)
        self.assertIn("cannot be written", events[0]["reason"])

    def test_an_image_that_has_changed(self) -> None:
        """
        It is not known any more to be what it is called; and if it is not, it is removed: what was
        written into it, and what somebody put there.
        """
        self.pulled()
        with (self.path / DIGEST).open("r+b") as file:
            file.write(b"no")
        os.utime(self.path / DIGEST, ns=(1, 1))
        (self.path / ("ab" * 32)).write_bytes(b"not that")
        found = self.found()
        self.assertEqual(self.kept(found), ([], sorted([DIGEST, "ab" * 32])))
        with capturedLogs() as events:
            for each in found.unchecked:
                self.assertIsNone(self.directory.check(each, lambda: True))
        self.assertEqual(len(events), 2)
        self.assertEqual(self.names(), [])

    def test_a_check_ends_when_there_is_no_time(self) -> None:
        """And nothing is decided; nor of an image that has gone meanwhile."""
        image = self.pulled()
        self.assertIsNone(self.directory.check(image, lambda: False))
        self.assertEqual(self.names(), [DIGEST, f"{DIGEST}.json"])
        self.directory.remove(DIGEST)
        self.directory.remove(DIGEST)
        self.assertIsNone(self.directory.check(image, lambda: True))
        self.assertEqual(self.names(), [])

    def test_its_last_use(self) -> None:
        image = self.pulled().used_at(1_700_009_999)
        self.directory.remember(image)
        self.assertEqual(self.found().ready, (image,))

    def test_a_directory_that_cannot_be(self) -> None:
        blocked = Path(self.mktemp())
        blocked.write_bytes(b"")
        error = self.assertRaises(Unavailable, CacheDirectory(blocked / "cache").open)
        self.assertIn(str(blocked), str(error))
