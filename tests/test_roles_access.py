"""Tests for ``rescriptum.roles.access``."""

import os
from pathlib import Path

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.config import read
from rescriptum.roles.access import AccessService, Need, needs


def wanted(**environ: str) -> list[tuple[str, str, str]]:
    """:returns: of the needs to write: what, where, and what comes of it."""
    found = needs(read({"RESCRIPTUM_PUBLIC_HOST": "192.0.2.10", **environ}).config())
    return [(each.name, str(each.path), each.otherwise) for each in found if each.mode == os.W_OK]


TOKEN = "0123456789abcdef"


class NeedsTests(SynchronousTestCase):
    def test_nothing_is_written_without_a_reason(self) -> None:
        self.assertEqual(wanted(RESCRIPTUM_ANSWERS_DIR="/a"), [])

    def test_an_installed_machine_is_disarmed(self) -> None:
        """In the directory of answers, or the database and what SQLite puts beside it."""
        armed = "installed machines stay armed"
        environ = {"RESCRIPTUM_ANSWERS_DIR": "/a", "RESCRIPTUM_INSTALLED_TOKEN": TOKEN}
        self.assertEqual(wanted(**environ), [("answers", "/a", armed)])
        environ |= {"RESCRIPTUM_STORE": "sqlite", "RESCRIPTUM_DB_PATH": "/var/a.db"}
        self.assertEqual(
            wanted(**environ), [("answers", "/var", armed), ("answers", "/var/a.db", armed)]
        )

    def test_changes_over_http(self) -> None:
        environ = {"RESCRIPTUM_ADMIN_ADDR": "127.0.0.1:8002", "RESCRIPTUM_ADMIN_TOKEN": TOKEN}
        [(_, _, said)] = wanted(**environ)
        self.assertEqual(said, "changes over HTTP are refused")
        [(_, _, said)] = wanted(**environ, RESCRIPTUM_INSTALLED_TOKEN=TOKEN)
        self.assertEqual(said, "installed machines stay armed and changes over HTTP are refused")

    def test_captures(self) -> None:
        here = Path(self.mktemp())
        here.mkdir()
        self.assertEqual(
            wanted(RESCRIPTUM_CAPTURE_DIR=str(here)),
            [("captures", str(here), "no request is kept")],
        )


class AccessTests(SynchronousTestCase):
    def told(self, need: Need) -> list[str]:
        with capturedLogs() as logs:
            AccessService([need]).startService()
        return [formatEvent(each) for each in logs]

    def test_what_is_not_allowed_is_told(self) -> None:
        """With the user, and what comes of it; root is allowed everything, so it is made up."""
        here = Path(self.mktemp())
        here.mkdir()
        written = Need("answers", here, os.W_OK, "they stay armed")
        read = Need("boot", here, os.R_OK | os.X_OK, "it is missing")
        self.assertEqual(self.told(written), [])
        self.patch(os, "access", lambda path, mode: False)
        [line] = self.told(written)
        self.assertRegex(line, rf"^answers: {here}: user \w+ cannot write it; they stay armed$")
        [line] = self.told(read)
        self.assertRegex(line, rf"^boot: {here}: user \w+ cannot read it; it is missing$")

    def test_what_is_made_by_the_first_write(self) -> None:
        """Is missing, and that is fine; what is behind a closed door may be there."""
        path = Path(self.mktemp())
        self.assertEqual(self.told(Need("answers", path, os.W_OK, "")), [])
        self.assertEqual(len(self.told(Need("boot", path, os.R_OK | os.X_OK, ""))), 1)
        path.touch()
        self.assertEqual(len(self.told(Need("answers", path / "in a file", os.W_OK, ""))), 1)
