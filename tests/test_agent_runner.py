"""Tests for ``rescriptum.agent.runner``."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.journal import Journal, State
from rescriptum.agent.kinds import AnyKind, KindTable
from rescriptum.agent.recording import Recording
from rescriptum.agent.runner import RETRY, Runner
from rescriptum.contract.commands import Command, Result
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Incomplete, Rejected
from rescriptum.contract.structure import JSON
from rescriptum.testing import MemoryWorkers

from .agent_commands import NOW, command, digest, octets
from .agent_kinds import FakeSurroundings, Slow, fakes

_T = TypeVar("_T")


class SteppingWorkers(MemoryWorkers):
    """Its work can be done one piece at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[Deferred[None]] = []

    async def run(self, work: Callable[[], _T]) -> _T:
        if self.held:
            piece: Deferred[None] = Deferred()
            self.pieces.append(piece)
            await piece
        return work()

    def step(self) -> None:
        """Do the only piece that waits; others go on waiting."""
        [piece], self.pieces = self.pieces, []
        piece.callback(None)

    def proceed(self) -> None:
        self.held = False
        pieces, self.pieces = self.pieces, []
        for each in pieces:
            each.callback(None)


class FailingRecording(Recording):
    """:ivar broken: the methods that find no room on the disk."""

    broken: tuple[str, ...] = ()

    async def receive(self, command: Command, digest: str, octets: bytes) -> bool:
        self._fail("receive")
        return await super().receive(command, digest, octets)

    async def start(self, command_id: str, boot_id: str) -> None:
        self._fail("start")
        await super().start(command_id, boot_id)

    async def finish(self, command_id: str, result: Result, boot_id: str) -> None:
        self._fail("finish")
        await super().finish(command_id, result, boot_id)

    def _fail(self, name: str) -> None:
        if name in self.broken:
            raise Rejected("journal-unavailable", "disk full")


class RunnerCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.path = Path(self.mktemp())
        self.path.touch()
        self.journal = Journal(str(self.path), NOW)
        self.addCleanup(lambda: self.journal.close())
        self.now = NOW
        self.echo, self.slow, *self.others = fakes()
        self.made()

    def made(self, abreast: int = 2, waiting: int = 3, boot_id: str = "boot-1") -> None:
        kinds: list[AnyKind] = [self.echo, self.slow, *self.others]
        self.workers = SteppingWorkers()
        self.around = FakeSurroundings()
        self.recording = FailingRecording(self.journal, self.workers, lambda: self.now)
        self.runner = Runner(
            self.clock,
            self.recording,
            KindTable(Role.SITE, kinds),
            boot_id,
            self.around,
            abreast,
            waiting,
        )

    def restarted(self, boot_id: str = "boot-1") -> None:
        """By another process, after the first one was killed."""
        self.journal.close()
        self.journal = Journal(str(self.path), NOW)
        self.echo, self.slow, *self.others = fakes()
        self.made(boot_id=boot_id)
        self.successResultOf(self.runner.start())

    def taking(self, taken: Command) -> Deferred[bool]:
        return Deferred.fromCoroutine(self.runner.take(taken, digest(taken), octets(taken)))

    def take(self, *commands: Command) -> None:
        for each in commands:
            self.assertTrue(self.successResultOf(self.taking(each)))

    def refused(self, taken: Command, code: str) -> None:
        failure = self.failureResultOf(self.taking(taken), Rejected)
        self.assertEqual(failure.value.code, code)

    def state(self, command_id: str = "c1") -> State | None:
        found = self.journal.find(command_id)
        return None if found is None else found.state

    def result(self, command_id: str = "c1") -> Result:
        found = self.journal.find(command_id)
        assert found is not None
        assert found.result is not None
        return found.result

    def end(self, command_id: str, data: JSON) -> None:
        self.slow.ends[command_id].callback(data)


def slow(command_id: str = "c1", machine: str = "") -> Command:
    return command(command_id, "test.slow", machine=machine)


class RunTests(RunnerCase):
    def test_runs_what_it_takes(self) -> None:
        self.take(command(text="hello"))
        self.assertEqual(self.result(), Result(True, "ok", data={"text": "hello"}))
        self.assertEqual(self.around.told, 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_idle(self) -> None:
        """Only when what was taken has a result, and the journal that result."""
        self.assertTrue(self.runner.idle)
        self.take(slow())
        self.assertFalse(self.runner.idle)
        self.end("c1", {})
        self.assertTrue(self.runner.idle)

    def test_what_failed_in_part(self) -> None:
        """Its result says what was done of it."""
        self.take(slow())
        self.slow.ends["c1"].errback(Incomplete("wipe-unverified", "sda", {"disks": ["sda"]}))
        wanted = Result(False, "wipe-unverified", "sda", {"disks": ["sda"]})
        self.assertEqual(self.result(), wanted)

    def test_journals_before_each_step(self) -> None:
        """Nothing begins, and nothing is told, before the disk has it."""
        self.workers.held = True
        taking = self.taking(slow())
        self.assertNoResult(taking)
        self.assertEqual((self.state(), self.slow.ran), (None, []))
        self.workers.step()
        self.assertTrue(self.successResultOf(taking))
        self.assertEqual((self.state(), self.slow.ran), (State.RECEIVED, []))
        self.workers.proceed()
        self.assertEqual((self.state(), self.slow.ran), (State.RUNNING, ["c1"]))
        self.workers.held = True
        self.end("c1", {})
        self.assertEqual((self.state(), self.around.told), (State.RUNNING, 0))
        self.workers.proceed()
        self.assertEqual((self.state(), self.around.told), (State.DONE, 1))

    def test_a_command_that_is_there_is_not_run_again(self) -> None:
        """While it runs, and after it."""
        self.take(slow())
        self.assertFalse(self.successResultOf(self.taking(slow())))
        self.end("c1", {})
        self.assertFalse(self.successResultOf(self.taking(slow())))
        self.assertEqual(self.slow.ran, ["c1"])

    def test_a_command_that_comes_twice_at_once_is_run_once(self) -> None:
        self.workers.held = True
        both = self.taking(slow()), self.taking(slow())
        self.workers.proceed()
        self.assertEqual([self.successResultOf(each) for each in both], [True, False])
        self.assertEqual(self.slow.ran, ["c1"])

    def test_is_taken_even_if_whoever_brought_it_leaves(self) -> None:
        self.workers.held = True
        taking = self.taking(command())
        taking.addErrback(lambda _: None)
        taking.cancel()
        self.workers.proceed()
        self.assertEqual(self.echo.ran, ["c1"])

    def test_those_of_one_machine_run_one_after_the_other(self) -> None:
        self.take(slow("c1", "bmc1"), slow("c2", "bmc1"), slow("c3", "bmc2"))
        self.assertEqual(self.slow.ran, ["c1", "c3"])
        self.end("c1", {})
        self.assertEqual(self.slow.ran, ["c1", "c3", "c2"])

    def test_so_many_run_and_so_many_wait(self) -> None:
        """One more is refused and not journalled; there is room again when one has ended."""
        for number in range(5):
            self.take(slow(f"c{number}"))
        self.assertEqual(self.slow.ran, ["c0", "c1"])
        self.refused(slow("c5"), "busy")
        self.assertIsNone(self.state("c5"))
        self.end("c0", {})
        self.assertEqual(self.slow.ran, ["c0", "c1", "c2"])
        self.take(slow("c5"))

    def test_a_payload_is_looked_at_before_it_is_taken(self) -> None:
        self.refused(command(wrong=1), "invalid-payload")
        self.refused(command(kind="test.unheard"), "unknown-kind")
        self.refused(command(kind="test.destructive"), "wrong-role")
        self.assertIsNone(self.state())

    def test_what_is_past_its_time_does_not_begin(self) -> None:
        """Waiting for another one of its machine took too long."""
        self.take(slow("c1", "bmc1"), command("c2", not_after=NOW + 5, machine="bmc1"))
        self.now = NOW + 5
        self.end("c1", {})
        self.assertEqual(self.echo.ran, [])
        self.assertEqual(self.result("c2").code, "expired")


class FailureTests(RunnerCase):
    def failing(self, how: str) -> Result:
        self.take(command(kind="test.failing", text=how))
        return self.result()

    def test_a_failure_with_a_code_is_its_result(self) -> None:
        self.assertEqual(self.failing("coded"), Result(False, "stale-epoch", "another one"))

    def test_an_expected_failure_is_told_in_words(self) -> None:
        self.assertEqual(
            self.failing("expected"), Result(False, "failed", "unavailable: no such BMC")
        )

    def test_any_other_failure_is_ours(self) -> None:
        """The gateway hears of which type it was, and the log all of it, once."""
        self.assertEqual(self.failing("bug"), Result(False, "failed", "ZeroDivisionError"))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_a_result_that_is_no_json_is_a_failure(self) -> None:
        result = self.failing("odd")
        self.assertEqual((result.ok, result.code), (False, "failed"))
        self.assertIn("not JSON", result.detail)

    def test_a_result_has_a_bound(self) -> None:
        self.assertEqual(self.failing("long").code, "too-large")

    def test_the_next_one_runs_nevertheless(self) -> None:
        for number in range(9):
            self.take(command(f"c{number}", "test.failing", text="coded", machine="bmc1"))
        self.take(command("c9", machine="bmc1"))
        self.assertEqual(self.echo.ran, ["c9"])


class TimeoutTests(RunnerCase):
    def test_is_cancelled_when_its_time_is_over(self) -> None:
        self.take(slow())
        self.clock.advance(9.9)
        self.assertEqual(self.state(), State.RUNNING)
        self.clock.advance(0.2)
        self.assertEqual(self.result().code, "timeout")
        self.assertIn("10 seconds", self.result().detail)
        self.assertEqual(self.slow.ends, {})

    def test_the_machine_is_free_once_it_has_ended(self) -> None:
        """The result is told at once, also where it takes long to stop."""
        self.slow.cleaning = Deferred()
        self.take(slow("c1", "bmc1"), command("c2", machine="bmc1"))
        self.clock.advance(11)
        self.assertEqual(self.result().code, "timeout")
        self.assertEqual(self.echo.ran, [])
        self.slow.cleaning.callback(None)
        self.assertEqual(self.echo.ran, ["c2"])

    def test_a_failure_to_stop_is_ours(self) -> None:
        self.slow.cleaning = Deferred()
        self.take(slow())
        self.clock.advance(11)
        self.slow.cleaning.errback(ZeroDivisionError())
        self.assertEqual(self.result().code, "timeout")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_no_timer_is_left(self) -> None:
        self.take(slow())
        self.end("c1", {})
        self.assertEqual(self.clock.getDelayedCalls(), [])


class RevokeTests(RunnerCase):
    def test_what_waits_does_not_begin(self) -> None:
        self.take(slow("c1", "bmc1"), command("c2", machine="bmc1"))
        self.runner.revoke("c2")
        self.assertEqual(self.result("c2"), Result(False, "revoked"))
        self.end("c1", {})
        self.assertEqual(self.echo.ran, [])
        self.assertEqual(self.around.told, 2)

    def test_what_runs_is_asked_to_stop(self) -> None:
        """And ends as its kind has it."""
        self.take(slow())
        context = self.slow.contexts["c1"]
        self.runner.revoke("c1")
        self.assertTrue(context.cancelled)
        self.assertEqual(self.state(), State.RUNNING)
        self.end("c1", {"stopped": True})
        self.assertTrue(self.result().ok)

    def test_what_is_being_taken_does_not_begin(self) -> None:
        self.workers.held = True
        taking = self.taking(command())
        self.runner.revoke("c1")
        self.workers.proceed()
        self.assertTrue(self.successResultOf(taking))
        self.assertEqual((self.echo.ran, self.result().code), ([], "revoked"))

    def test_what_is_being_taken_need_not_wait_for_that(self) -> None:
        """Its machine is busy for long: it is over at once nevertheless."""
        self.take(slow("c1", "bmc1"))
        self.workers.held = True
        self.taking(command("c2", machine="bmc1"))
        self.runner.revoke("c2")
        self.workers.proceed()
        self.assertEqual(self.result("c2").code, "revoked")

    def test_what_cannot_begin_is_over(self) -> None:
        """The disk is full, and then it is taken back."""
        self.recording.broken = ("start",)
        self.take(command())
        self.runner.revoke("c1")
        self.clock.advance(RETRY)
        self.assertEqual(self.result().code, "revoked")

    def test_what_is_about_to_begin_does_not(self) -> None:
        """The journal is being told that it runs."""
        self.take(slow("c1", "bmc1"), command("c2", machine="bmc1"))
        self.end("c1", {})
        self.take(slow("c3", "bmc1"), command("c4", machine="bmc1"))
        self.end_held("c3")
        self.runner.revoke("c4")
        self.workers.proceed()
        self.assertEqual((self.echo.ran, self.result("c4").code), (["c2"], "revoked"))

    def end_held(self, command_id: str) -> None:
        self.workers.held = True
        self.end(command_id, {})
        self.workers.step()

    def test_nothing_else_is_touched(self) -> None:
        self.take(command())
        self.runner.revoke("c1")
        self.runner.revoke("unheard")
        self.assertTrue(self.result().ok)


class FullDiskTests(RunnerCase):
    def test_nothing_is_taken(self) -> None:
        self.recording.broken = ("receive",)
        self.refused(command(), "journal-unavailable")
        self.assertEqual(self.echo.ran, [])
        self.recording.broken = ()
        self.take(command())

    def test_nothing_begins_until_there_is_room(self) -> None:
        self.recording.broken = ("start",)
        self.take(command())
        self.clock.advance(RETRY)
        self.assertEqual((self.state(), self.echo.ran), (State.RECEIVED, []))
        self.recording.broken = ()
        self.clock.advance(RETRY)
        self.assertEqual(self.result().code, "ok")

    def test_a_result_is_told_when_there_is_room(self) -> None:
        self.recording.broken = ("finish",)
        with capturedLogs() as events:
            self.take(command())
        self.assertEqual((self.state(), self.around.told), (State.RUNNING, 0))
        self.assertIn("c1", [each.get("command_id") for each in events])
        self.recording.broken = ()
        self.clock.advance(RETRY)
        self.assertEqual((self.result().code, self.around.told), ("ok", 1))

    def test_stops_also_then(self) -> None:
        self.recording.broken = ("start", "finish")
        self.take(command(), slow("c2"))
        self.successResultOf(self.runner.stop())
        self.assertEqual(self.clock.getDelayedCalls(), [])


class RestartTests(RunnerCase):
    def test_goes_on_where_it_was(self) -> None:
        """
        What ran is over and told, what had not begun begins, in its order, and once.
        """
        self.take(slow("c1", "bmc1"), slow("c2", "bmc1"), slow("c3", "bmc1"))
        self.restarted()
        self.assertEqual(self.result("c1").code, "interrupted")
        self.assertEqual(self.around.told, 1)
        self.assertEqual(self.slow.ran, ["c2"])
        self.end("c2", {})
        self.assertEqual(self.slow.ran, ["c2", "c3"])
        self.assertFalse(self.successResultOf(self.taking(slow("c1", "bmc1"))))

    def test_a_kind_may_know_what_became_of_it(self) -> None:
        self.take(command("c1", "test.resuming"))
        self.restarted("boot-2")
        self.assertEqual(self.result(), Result(True, "ok"))

    def test_and_it_may_not(self) -> None:
        self.take(command("c1", "test.resuming"))
        self.restarted("boot-1")
        self.assertEqual(self.result().code, "interrupted")

    def test_what_nobody_runs_any_more_is_told(self) -> None:
        """It was taken by a release that had its kind."""
        old = command(kind="test.gone")
        self.journal.receive(old, digest(old), octets(old), NOW)
        self.restarted()
        self.assertEqual(self.result().code, "unknown-kind")

    def test_what_was_to_begin_long_ago_does_not(self) -> None:
        self.take(slow("c1", "bmc1"), command("c2", machine="bmc1"))
        self.now = NOW + 601
        self.restarted()
        self.assertEqual(self.result("c2").code, "expired")


class StopTests(RunnerCase):
    def test_waits_for_what_runs_to_end(self) -> None:
        """It is cut off, which the journal says, and nothing else begins."""
        self.slow.cleaning = Deferred()
        self.take(slow("c1", "bmc1"), command("c2", machine="bmc1"))
        stopping = Deferred.fromCoroutine(self.runner.stop())
        self.assertNoResult(stopping)
        self.slow.cleaning.callback(None)
        self.successResultOf(stopping)
        self.assertEqual((self.state(), self.state("c2")), (State.RUNNING, State.RECEIVED))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.refused(command("c3"), "busy")
        self.restarted()
        self.assertEqual(self.result().code, "interrupted")
        self.assertEqual(self.echo.ran, ["c2"])

    def stubborn(self) -> None:
        """A kind that is done as soon as it is cancelled."""

        class Stubborn(Slow):
            async def run(self, context: object, payload: object) -> JSON:
                try:
                    await Deferred()
                except BaseException:
                    return {"done": True}
                return {}

        self.slow = Stubborn()
        self.made()

    def test_a_result_that_comes_meanwhile_counts(self) -> None:
        self.stubborn()
        self.take(slow())
        self.successResultOf(self.runner.stop())
        self.assertEqual(self.result(), Result(True, "ok", data={"done": True}))

    def test_a_result_that_cannot_be_written_is_not_waited_for(self) -> None:
        self.stubborn()
        self.take(slow())
        self.recording.broken = ("finish",)
        self.successResultOf(self.runner.stop())
        self.assertEqual(self.state(), State.RUNNING)

    def test_a_long_queue_stays_where_it_is(self) -> None:
        self.made(abreast=1, waiting=256)
        self.take(slow("c0"), *(command(f"c{number}") for number in range(1, 257)))
        self.successResultOf(self.runner.stop())
        self.assertEqual(len(self.journal.waiting()), 256)

    def test_what_is_being_taken_is_in_the_journal(self) -> None:
        self.workers.held = True
        taking = self.taking(command())
        stopping = Deferred.fromCoroutine(self.runner.stop())
        self.assertNoResult(stopping)
        self.workers.proceed()
        self.assertTrue(self.successResultOf(taking))
        self.successResultOf(stopping)
        self.assertEqual((self.state(), self.echo.ran), (State.RECEIVED, []))
