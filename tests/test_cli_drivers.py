"""Tests for ``rescriptum site drivers``."""

import json
import os
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.hosted.store import read
from rescriptum.bmc.ipmi.runner import NAME
from rescriptum.cli.drivers import install
from rescriptum.cli.main import main
from rescriptum.errors import ConfigError


class DriversTests(SynchronousTestCase):
    def setUp(self) -> None:
        here = Path(os.path.abspath(self.mktemp()))
        self.bin, self.drivers = here / "bin", here / "drivers"
        for each in (here, self.bin, self.drivers):
            each.mkdir(mode=0o755)
        self.program = self.bin / NAME
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)

    def call(self, *argv: str) -> tuple[int, str, str]:
        out, err = StringIO(), StringIO()
        with patch("sys.executable", str(self.bin / "python")):
            code = main(["site", "drivers", *argv], {}, out, err)
        return code, out.getvalue(), err.getvalue()

    def test_installed(self) -> None:
        """A link and a manifest, which a site agent would host; twice is as good as once."""
        for _ in range(2):
            code, out, err = self.call("install", "--dir", str(self.drivers))
            self.assertEqual((code, err), (0, ""))
            self.assertIn("boot, inventory, management, power", out)
        self.assertEqual(os.readlink(self.drivers / NAME), str(self.program))
        self.assertEqual(list(read(self.drivers).drivers), ["ipmi"])
        self.assertEqual(sorted(os.listdir(self.drivers)), [NAME, f"{NAME}.json"])

    def test_what_is_in_its_way(self) -> None:
        """A file that somebody put there stays; what is missing is named."""
        (self.drivers / NAME).write_text("mine")
        self.assertRaises(ConfigError, install, self.drivers, self.program)
        self.assertEqual((self.drivers / NAME).read_text(), "mine")
        self.assertRaises(ConfigError, install, self.drivers / "none", self.program)
        self.assertRaises(ConfigError, install, self.drivers, self.bin / "none")

    def test_listed(self) -> None:
        """Those that can be hosted; the exit code and a line tell of others."""
        self.call("install", "--dir", str(self.drivers))
        (self.drivers / "acme.json").write_text(json.dumps({"id": "acme"}))
        (self.drivers / "acme.json").chmod(0o644)
        code, out, err = self.call("list", "--dir", str(self.drivers))
        self.assertEqual(code, 1)
        self.assertTrue(out.startswith("ipmi"))
        self.assertIn("acme.json: missing: version", err)

    def test_the_directory_of_the_agent(self) -> None:
        """Comes from its file; one that names none says what to add."""
        config = self.bin / "site.toml"
        lines = ['gateway_url = "https://gw"', f'data_dir = "{self.bin}"', "[site]", 'name = "x"']
        config.write_text("\n".join([*lines, f'drivers_dir = "{self.drivers}"', ""]))
        config.chmod(0o640)
        self.assertEqual(self.call("list", "--config", str(config))[0], 0)
        config.write_text("\n".join([*lines, ""]))
        code, _, err = self.call("list", "--config", str(config))
        self.assertNotEqual(code, 0)
        self.assertIn("drivers_dir", err)
