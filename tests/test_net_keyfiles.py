"""Tests for ``rescriptum.net.keyfiles``."""

import errno
import fcntl
import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import ConfigError
from rescriptum.net import directories, keyfiles
from rescriptum.net.keyfiles import LOCK, LONGEST, KeyFiles


class KeyFilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        old = os.umask(0)  # modes are ours, and not the umask's
        self.addCleanup(os.umask, old)
        self.path = Path(self.mktemp()) / "data" / "keys"
        self.files = KeyFiles(self.path)
        self.files.open()

    def names(self) -> set[str]:
        return {each.name for each in self.path.iterdir()}

    def mode(self, path: Path) -> int:
        return path.stat().st_mode & 0o777

    def problem(self, name: str = "key") -> str:
        error: ConfigError = self.assertRaises(ConfigError, self.files.read, name)
        [problem] = error.problems
        self.assertIn(str(self.path / name), str(problem))
        return str(problem)

    def test_only_their_user_gets_at_them(self) -> None:
        self.files.write("key", b"secret")
        self.assertEqual(self.mode(self.path), 0o700)
        self.assertEqual(self.mode(self.path / "key"), 0o600)
        self.assertEqual(self.files.read("key"), b"secret")

    def test_there_may_be_none(self) -> None:
        self.assertIsNone(self.files.read("key"))

    def test_a_directory_that_others_may_look_into(self) -> None:
        for mode in (0o750, 0o705, 0o701, 0o777):
            self.path.chmod(mode)
            error: ConfigError = self.assertRaises(ConfigError, KeyFiles(self.path).open)
            self.assertIn(f"mode {mode:04o}", str(error))
            self.assertIn(f"chmod 0700 {self.path}", str(error))
        self.path.chmod(0o700)
        KeyFiles(self.path).open()

    def test_a_file_that_others_may_read(self) -> None:
        self.files.write("key", b"secret")
        for mode in (0o640, 0o604, 0o620, 0o601, 0o644):
            (self.path / "key").chmod(mode)
            self.assertIn(f"mode {mode:04o}", self.problem())
        (self.path / "key").chmod(0o400)
        self.assertEqual(self.files.read("key"), b"secret")

    def test_what_is_no_file(self) -> None:
        os.mkfifo(self.path / "key", 0o600)
        self.assertIn("not a regular file", self.problem())
        (self.path / "folder").mkdir(0o700)
        self.assertIn("not a regular file", self.problem("folder"))
        (self.path / "loop").symlink_to("loop")
        self.assertIn("cannot be read", self.problem("loop"))

    def test_a_link_is_followed(self) -> None:
        """As orchestrators mount secrets."""
        self.files.write("real", b"secret")
        (self.path / "key").symlink_to("real")
        self.assertEqual(self.files.read("key"), b"secret")

    def test_the_bound(self) -> None:
        self.files.write("key", b"x" * LONGEST)
        self.assertEqual(self.files.read("key"), b"x" * LONGEST)
        self.files.write("key", b"x" * (LONGEST + 1))
        self.assertIn("larger than", self.problem())

    def test_a_directory_that_cannot_be_made(self) -> None:
        self.files.write("key", b"")
        error: ConfigError = self.assertRaises(ConfigError, KeyFiles(self.path / "key").open)
        self.assertIn("cannot be made", str(error))
        error = self.assertRaises(ConfigError, KeyFiles(self.path / "key" / "below").open)
        self.assertIn("cannot be made", str(error))

    def test_a_write_is_whole_or_not_at_all(self) -> None:
        """Whichever call fails, the old file stands and nothing is left beside it."""
        self.files.write("key", b"old")
        for call in ("fsync", "replace"):
            double = FailingSystem(call)
            self.patch(keyfiles, "os", double)
            error: ConfigError = self.assertRaises(ConfigError, self.files.write, "key", b"new")
            self.assertIn("cannot be written: No space left", str(error))
            self.patch(keyfiles, "os", os)
            self.assertEqual(self.files.read("key"), b"old")
            self.assertEqual(self.names(), {"key"})
        self.files.write("key", b"new")
        self.assertEqual(self.files.read("key"), b"new")

    def test_a_write_reaches_the_disk_before_its_name(self) -> None:
        double = RecordingSystem()
        for each in (keyfiles, directories):
            self.patch(each, "os", double)
        self.files.write("key", b"new")
        self.assertEqual(double.calls, ["fsync", "replace", "fsync"])

    def test_processes_take_turns(self) -> None:
        with self.files.held():
            other = os.open(self.path / LOCK, os.O_RDWR)
            self.addCleanup(os.close, other)
            self.assertRaises(BlockingIOError, fcntl.flock, other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_a_directory_that_is_gone(self) -> None:
        files = KeyFiles(self.path / "none")
        self.assertRaises(ConfigError, files.write, "key", b"")

        def hold() -> None:
            with files.held():
                self.fail("held what is not there")

        self.assertRaises(ConfigError, hold)


class RecordingSystem:
    """The operating system, and which of its calls were made."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def fsync(self, descriptor: int) -> None:
        self.calls.append("fsync")
        os.fsync(descriptor)

    def replace(self, old: str, new: Path) -> None:
        self.calls.append("replace")
        os.replace(old, new)


class FailingSystem(RecordingSystem):
    """One whose disk is full at one call."""

    def __init__(self, call: str) -> None:
        super().__init__()
        self.call = call

    def fsync(self, descriptor: int) -> None:
        if self.call == "fsync":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def replace(self, old: str, new: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
