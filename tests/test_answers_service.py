"""Tests for ``rescriptum.answers.service``."""

from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.service import AnswersService
from rescriptum.answers.store import AnswerStore
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.testing import MemoryWorkers

from .test_answers_store import MemoryStore, MemoryWatcher


class AnswersServiceTests(SynchronousTestCase):
    def said_at_start(self, path: Path) -> list[str]:
        clock = Clock()
        store = AnswerStore(AnswerDirectory(path, clock.seconds), MemoryWorkers(), clock)
        service = AnswersService(store)
        with capturedLogs() as events:
            service.startService()
        self.successResultOf(service.stopService())
        return [f"{each['source']}: {each['reason']}" for each in events]

    def test_problems_are_told_before_a_machine_asks(self) -> None:
        path = Path(self.mktemp())
        (path / "m1").mkdir(parents=True)
        (path / "m1" / "x.ks").write_text("{{ nonsense")
        [line] = self.said_at_start(path)
        self.assertIn("m1/x.ks: line 1", line)

    def test_a_directory_that_cannot_be_read_is_told_too(self) -> None:
        path = Path(self.mktemp())
        path.write_bytes(b"")
        self.assertEqual(self.said_at_start(path), [f"{path}: Not a directory"])

    def test_watches_from_the_first_reading_on(self) -> None:
        """Until it is stopped, and that is when the store is left alone."""
        workers, watcher, memory = MemoryWorkers(held=True), MemoryWatcher(), MemoryStore()
        store = AnswerStore(memory, workers, Clock(), watcher)
        service = AnswersService(store)
        self.assertEqual(watcher.taken(), [])
        service.startService()
        self.assertEqual(watcher.taken(), ["start"])
        stopped: Deferred[None] = service.stopService()
        self.assertNoResult(stopped)
        workers.proceed()
        self.successResultOf(stopped)
        self.assertEqual(watcher.taken(), ["doubt", "resume", "stop"])
        self.assertTrue(memory.closed)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_stops_before_it_started(self) -> None:
        """There may be no thread yet to close anything in, nor anything to close."""
        store = AnswerStore(MemoryStore(), MemoryWorkers(held=True), Clock(), MemoryWatcher())
        self.successResultOf(AnswersService(store).stopService())
