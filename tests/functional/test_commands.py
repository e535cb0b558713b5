"""The console script as a process of its own: what a shell sees of it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parent.parent.parent
_PROGRAM = "from rescriptum.cli.main import run; run()"
WRITING = (("config",), ("boot", "menu"), ("boot", "check"), ("--help",), ("--version",))


class CommandTests(SynchronousTestCase):
    def start(self, *argv: str, stdout: int, **environ: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *argv],
            env={"RESCRIPTUM_PUBLIC_HOST": "127.0.0.1", "PYTHONPATH": str(ROOT), **environ},
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def test_a_full_disk_is_told_in_a_line(self) -> None:
        """Exit code 1 and the reason, of commands with a reactor and of those without."""
        for argv in WRITING:
            with open("/dev/full", "wb") as full:
                process = self.start(*argv, stdout=full.fileno())
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, (argv, err))
            self.assertTrue(err.endswith(b"error: No space left on device\n"), (argv, err))
            self.assertNotIn(b"Traceback", err)

    def test_names_that_no_terminal_should_see(self) -> None:
        """A directory of answers is others' work, too: nothing in it moves a cursor or begins a
        line, and none of it is too much for a terminal of another encoding."""
        answers = Path(self.mktemp()).absolute()
        names = b"groups/g\n\x1b[2J\xff/a.ks", "m\u4e2d/a\x1b[31m.ks".encode(), b"m2/\xe9\n.toml"
        for name, data in zip(
            names, (b"# answer: member m-000003\n", b"{{ x }", b"a ="), strict=True
        ):
            path = os.fsencode(answers) + b"/" + name
            os.makedirs(os.path.dirname(path))
            with open(path, "wb") as file:
                file.write(data)
        database = {"RESCRIPTUM_STORE": "sqlite", "RESCRIPTUM_DB_PATH": str(answers / "db")}
        for argv, settings in (
            (("render", "m-000003"), {}),
            (("render", "m-000003", "--explain"), {}),
            (("render", "m2", "--explain"), {}),
            (("render", "m\u4e2d", "--path", "/ks"), {}),
            (("check", "--no-tools"), {}),
            (("import", str(answers)), database),
            (("disarm", "m2"), {}),
        ):
            for encoding in "utf-8", "latin-1", "ascii":
                process = self.start(
                    *argv,
                    stdout=subprocess.PIPE,
                    RESCRIPTUM_ANSWERS_DIR=str(answers),
                    PYTHONIOENCODING=encoding,
                    **settings,
                )
                told = b"".join(process.communicate(timeout=60))
                self.assertIn(process.returncode, (0, 1), told)
                self.assertNotIn(b"Traceback", told)
                self.assertNotIn(b"\x1b", told)
                self.assertNotRegex(told, rb"(?m)^(?:\.toml|\\udcff|\[2J)")

    def test_a_reader_that_went_away_is_no_error_to_show(self) -> None:
        """``rescriptum … | head -1``."""
        for argv in WRITING:
            gone, pipe = os.pipe()
            os.close(gone)
            process = self.start(*argv, stdout=pipe)
            os.close(pipe)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, (argv, err))
            self.assertNotIn(b"rror", err)

    def test_interrupted_is_not_done(self) -> None:
        """A check that was broken off has not said that a machine would boot."""
        boot = Path(self.mktemp()).absolute()
        boot.mkdir()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            silent.settimeout(60)
            process = self.start(
                *("boot", "check"),
                stdout=subprocess.PIPE,
                RESCRIPTUM_BOOT_DIR=str(boot),
                RESCRIPTUM_TFTP_ADDR=f"127.0.0.1:{silent.getsockname()[1]}",
            )
            silent.recv(600)  # it asks, and hears nothing
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, b""))
        self.assertIn(b"error: interrupted", err)
        self.assertNotIn(b"Traceback", err)
