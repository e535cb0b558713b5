"""Tests of roles whose extras are not installed: a line, and exit code 2, as for any setting."""

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parent.parent.parent
#: twistd, in a process for which the packages of the extras are not there.
TWISTD = """
import sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"alembic", "cattrs", "joserfc", "psycopg", "sqlalchemy"}:
            raise ModuleNotFoundError(name, name=name)


sys.meta_path.insert(0, Missing())
sys.argv[0] = "twistd"
from twisted.scripts.twistd import run

run()
"""


class MissingExtrasTests(SynchronousTestCase):
    def told(self, role: str, *options: str) -> tuple[int, str]:
        """:returns: exit code, and the last line of stderr."""
        command = [sys.executable, "-c", TWISTD, "-n", "--pidfile=", "rescriptum", role, *options]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        return run.returncode, run.stderr.splitlines()[-1]

    def test_site(self) -> None:
        code, line = self.told("site", "--config", "/nonexistent")
        self.assertEqual(code, 2)
        self.assertIn("twistd rescriptum site: needs joserfc: install rescriptum[site]", line)

    def test_ramdisk(self) -> None:
        code, line = self.told("ramdisk", "--cmdline", "/nonexistent")
        self.assertEqual(code, 2)
        self.assertIn("twistd rescriptum ramdisk: needs joserfc: install rescriptum[ramdisk]", line)

    def test_gateway(self) -> None:
        code, line = self.told("gateway", "--data-dir", self.mktemp())
        self.assertEqual(code, 2)
        self.assertIn(
            "twistd rescriptum gateway: needs sqlalchemy: install rescriptum[gateway]", line
        )
