"""Tests for ``rescriptum.net.workers``."""

import threading

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from rescriptum.errors import Unavailable
from rescriptum.net.workers import WorkerPool


class WorkerPoolTests(TestCase):
    """Threads are the subject, so the reactor is the real one."""

    def setUp(self) -> None:
        self.pool = WorkerPool(reactor, "test", threads=1, waiting=1)  # type: ignore[arg-type]
        self.pool.start()
        self.addCleanup(self.pool.stop)

    def later(self, work: object) -> Deferred[object]:
        return Deferred.fromCoroutine(self.pool.run(work))  # type: ignore[arg-type]

    async def test_returns_what_the_work_returned(self) -> None:
        here = threading.get_ident()
        self.assertNotEqual(await self.pool.run(threading.get_ident), here)

    async def test_raises_what_the_work_raised(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            await self.pool.run(lambda: 1 // 0)

    async def test_refuses_more_than_may_wait(self) -> None:
        """One runs, one waits, the third is told to come back; afterwards there is room again."""
        go = threading.Event()
        held = [self.later(go.wait), self.later(go.wait)]
        with self.assertRaises(Unavailable):
            await self.pool.run(int)
        go.set()
        await gatherResults(held)
        self.assertEqual(await self.pool.run(int), 0)

    async def test_whoever_left_is_not_answered(self) -> None:
        go = threading.Event()
        left = self.later(go.wait)
        left.addErrback(lambda _: None)
        left.cancel()
        go.set()
        self.assertEqual(await self.pool.run(int), 0)
