"""Agents as processes of their own, and what they say of themselves."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rescriptum.contract.structure import JSON
from tests.processes import ROOT

ENTRY = [sys.executable, "-m", "tests.site_entry"]
TWISTD = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()"]

CLI = [sys.executable, "-c", "from rescriptum.cli.main import run; run()"]


class AgentProcess:
    """
    One process.

    :ivar log: what it has written.
    """

    def __init__(
        self,
        here: Path,
        *argv: str,
        entry: Sequence[str] = ENTRY,
        role: str = "site",
        **environ: str,
    ) -> None:
        self.here = here
        self._log = here / "log"
        kept = {key: value for key, value in os.environ.items() if not key.startswith("RESCRIPTUM")}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*entry, "-n", "--pidfile=", "rescriptum", role, *argv],
                env={**kept, "PYTHONPATH": str(ROOT), **environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=here,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """:returns: the exit code of an agent that is asked to stop."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
        return self.exited()

    def exited(self) -> int:
        """:returns: the exit code, once it has ended by itself."""
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it does not end:\n{self.log}") from None

    def until(self, true: Callable[[], object], seconds: float = 30) -> None:
        """:raises AssertionError: with the log, when it never comes true."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"never came true; the agent said:\n{self.log}")
            time.sleep(0.02)


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(str(self._path))


def asked(path: Path) -> JSON:
    """:returns: what an agent says of itself."""
    connection = SocketConnection(path)
    try:
        connection.request("GET", "/status")
        reply = connection.getresponse()
        assert reply.status == 200, reply.status
        told: JSON = json.load(reply)
        return told
    finally:
        connection.close()
