"""Tests for ``rescriptum.web.local``."""

import shutil
import socket
import tempfile
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorTime, IReactorUNIX
from twisted.internet.threads import deferToThread
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import TestCase

from rescriptum.agent.resource import StatusTree
from rescriptum.contract.structure import JSON
from rescriptum.web.local import LocalService
from rescriptum.web.site import Limits, Site
from tests.agentprocess import asked
from tests.webclient import InlineWorkers


async def status() -> JSON:
    return {"site": "lyon"}


class LocalServiceTests(TestCase):
    def setUp(self) -> None:
        # Not trial's own: the path of a socket has to be short.
        self.here = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.here)
        self.path = self.here / "agent.sock"

    def service(self, path: Path) -> LocalService:
        site = Site(
            StatusTree(status),
            reactor=IReactorTime(reactor),
            limits=Limits(connections=2),
            workers=InlineWorkers(),
        )
        made = LocalService(IReactorUNIX(reactor), "status", path, site)
        self.addCleanup(made.stopService)
        return made

    async def test_answers(self) -> None:
        """For its owner alone, and gone when it stops."""
        service = self.service(self.path)
        service.startService()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(await deferToThread(asked, self.path), {"site": "lyon"})
        await service.stopService()
        self.assertFalse(self.path.exists())

    async def test_left_by_a_process_that_was_killed(self) -> None:
        """Its socket is in nobody's way."""
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(self.path))
        self.service(self.path).startService()
        self.assertEqual(await deferToThread(asked, self.path), {"site": "lyon"})

    def test_no_socket(self) -> None:
        """A file of that name stays, and the agent goes on without one; so it does elsewhere."""
        self.path.write_text("mine")
        long = self.here / ("x" * 100) / "agent.sock"
        for path in (self.path, long, self.here / "none" / "agent.sock"):
            with capturedLogs() as events:
                self.service(path).startService()
            [event] = [each for each in events if each["log_level"] is LogLevel.warn]
            self.assertEqual(event["path"], str(path))
        self.assertEqual(self.path.read_text(), "mine")

    async def test_so_many(self) -> None:
        """One more than there is room for is told so."""
        self.service(self.path).startService()
        for _ in range(2):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.connect(str(self.path))
            client.sendall(b"GET /status HTTP/1.1\r\n")
        with self.assertRaisesRegex(AssertionError, "503"):
            await deferToThread(asked, self.path)
