"""Tests for ``rescriptum.answers.service``."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.service import AnswersService
from rescriptum.answers.store import AnswerStore

_T = TypeVar("_T")


class AtOnce:
    """Workers that are done at once."""

    async def run(self, work: Callable[[], _T]) -> _T:
        return work()


class Never:
    """Workers behind a disk that does not answer."""

    async def run(self, work: Callable[[], _T]) -> _T:
        return await Deferred()


class AnswersServiceTests(SynchronousTestCase):
    def said_at_start(self, path: Path) -> list[str]:
        service = AnswersService(AnswerStore(path, AtOnce(), Clock()))
        with capturedLogs() as events:
            service.startService()
        service.stopService()
        return [f"{each['source']}: {each['reason']}" for each in events]

    def test_problems_are_told_before_a_machine_asks(self) -> None:
        path = Path(self.mktemp())
        (path / "m1").mkdir(parents=True)
        (path / "m1" / "x.toml").write_text("nonsense")
        [line] = self.said_at_start(path)
        self.assertIn("m1/x.toml: not TOML", line)

    def test_a_directory_that_cannot_be_read_is_told_too(self) -> None:
        path = Path(self.mktemp())
        path.write_bytes(b"")
        self.assertEqual(self.said_at_start(path), [f"{path}: Not a directory"])

    def test_stops_while_it_still_waits(self) -> None:
        service = AnswersService(AnswerStore(Path("."), Never(), Clock()))
        service.startService()
        service.stopService()
        self.assertEqual(self.flushLoggedErrors(), [])
