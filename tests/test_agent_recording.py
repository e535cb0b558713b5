"""Tests for ``rescriptum.agent.recording``."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from rescriptum.agent.journal import Journal
from rescriptum.agent.recording import Recording
from rescriptum.contract.commands import Result
from rescriptum.contract.refusals import Rejected
from rescriptum.errors import Unavailable
from rescriptum.net.workers import WorkerPool

from .agent_commands import NOW, command, digest, octets

_T = TypeVar("_T")


class Overloaded:
    async def run(self, work: Callable[[], _T]) -> _T:
        raise Unavailable("1024 pieces of work are waiting")


def journal_of(case: TestCase | SynchronousTestCase) -> Journal:
    path = Path(case.mktemp())
    path.touch()
    journal = Journal(str(path), NOW)
    case.addCleanup(journal.close)
    return journal


class OverloadedTests(SynchronousTestCase):
    def test_a_thread_without_room_is_a_journal_without_room(self) -> None:
        recording = Recording(journal_of(self), Overloaded(), lambda: NOW)
        failure = self.failureResultOf(recording.start("c1", "b"), Rejected)
        self.assertEqual(failure.value.code, "journal-unavailable")
        self.assertIn("1024", failure.value.detail)


class RecordingTests(TestCase):
    """A thread is the subject, so the reactor is the real one."""

    def setUp(self) -> None:
        self.pool = WorkerPool(reactor, "journal", threads=1)  # type: ignore[arg-type]
        self.pool.start()
        self.addCleanup(self.pool.stop)

    async def test_a_life_in_another_thread(self) -> None:
        recording = Recording(journal_of(self), self.pool, lambda: NOW + 7)
        self.assertEqual((recording.made_at, recording.now()), (NOW, NOW + 7))
        one = command()
        self.assertTrue(await recording.receive(one, digest(one), octets(one)))
        self.assertFalse(await recording.receive(one, digest(one), octets(one)))
        [waiting] = await recording.waiting()
        self.assertEqual(waiting.command, one)
        await recording.start("c1", "boot-1")
        [left] = await recording.recover("boot-2", lambda *_: None)
        self.assertEqual(await recording.unacknowledged(), [left])
        await recording.acknowledge(["c1"])
        self.assertEqual(await recording.unacknowledged(), [])
        two = command("c2")
        await recording.receive(two, digest(two), octets(two))
        await recording.finish("c2", Result(False, "revoked"), "boot-2")
        found = await recording.find("c2")
        assert found is not None
        self.assertEqual(found.finished_at, NOW + 7)
        await recording.close()
