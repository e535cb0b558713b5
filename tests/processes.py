"""The real server as a process of its own, for tests that are about processes."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parent.parent
_TWISTD = "from twisted.scripts.twistd import run; run()"


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """:returns: a port that was free a moment ago."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """
    ``twistd -n rescriptum`` with an environment of its own.

    :ivar log: everything that it wrote.
    """

    def __init__(self, here: Path, *argv: str, **environ: str) -> None:
        """:param here: a directory for the log."""
        self.log = here / "log"
        kept = {key: value for key, value in os.environ.items() if key != "RESCRIPTUM_CONFIG"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "rescriptum", *argv],
                env={**kept, "PYTHONPATH": str(ROOT), **environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern: str, seconds: float = 30) -> re.Match[str]:
        """:raises AssertionError: with the log, where it never says so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if match := re.search(pattern, self.text):
                return match
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        if match := re.search(pattern, self.text):
            return match
        raise AssertionError(f"never said {pattern!r}; it said:\n{self.text}")

    def exited(self, seconds: float = 30) -> int:
        """:returns: its exit code, once it has ended by itself."""
        return self.process.wait(seconds)

    def end(self) -> int:
        """:returns: the exit code of a server that is asked to stop."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                return self.process.wait(45)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait(10)
