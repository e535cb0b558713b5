"""Tests for ``rescriptum.power.store``: the file has passwords in it."""

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import ConfigError
from rescriptum.power.store import LONGEST, contents


class StoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.path.write_text("[a]\n")
        self.path.chmod(0o600)

    def refused(self) -> str:
        error = self.assertRaises(ConfigError, contents, self.path)
        self.assertEqual([each.source for each in error.problems], [str(self.path)])
        return str(error)

    def test_its_owner_alone(self) -> None:
        """Any right of anybody else is one too many."""
        for mode in (0o600, 0o400, 0o700):
            self.path.chmod(mode)
            self.assertEqual(contents(self.path), "[a]\n")
        for mode in (0o640, 0o604, 0o620, 0o602, 0o610, 0o601):
            self.path.chmod(mode)
            said = self.refused()
            self.assertIn(f"(mode {mode:04o}); want 0600: chmod 0600 {self.path}", said)

    def test_what_is_no_file(self) -> None:
        self.path.unlink()
        self.assertIn("cannot be read: No such file", self.refused())
        os.mkfifo(self.path, 0o600)
        self.assertIn("is not a regular file", self.refused())

    def test_bounds(self) -> None:
        self.path.write_bytes(b"#" * LONGEST)
        self.assertEqual(len(contents(self.path)), LONGEST)
        self.path.write_bytes(b"#" * (LONGEST + 1))
        self.assertIn(f"is larger than {LONGEST} bytes", self.refused())
        self.path.write_bytes(b"[\xff]")
        self.assertIn("is not UTF-8, from byte 1 on", self.refused())
