"""Tests for ``rescriptum.agent.journal``."""

import resource
import sqlite3
from pathlib import Path

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.journal import BYTES, REMEMBERED, ROWS, DamagedJournal, Entry, Journal, State
from rescriptum.contract.commands import LONGEST_COMMAND, LONGEST_RESULT, Command, Result
from rescriptum.contract.refusals import Rejected
from rescriptum.errors import Unavailable
from rescriptum.interfaces import Anew

from .agent_commands import NOW, command, digest, octets

DONE = Result(True, "ok", data={"echo": 1})


def never(kind: str, then: str, now: str) -> Result | None:
    return None


class JournalCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.touch()
        self.journal = self.opened()

    def opened(self, now: int = NOW, rows: int = ROWS, size: int = BYTES) -> Journal:
        journal = Journal(str(self.path), now, rows, size)
        self.addCleanup(journal.close)
        return journal

    def again(self, now: int = NOW + 60) -> None:
        """The agent is started anew."""
        self.journal.close()
        self.journal = self.opened(now)

    def receive(self, taken: Command, now: int = NOW) -> bool:
        return self.journal.receive(taken, digest(taken), octets(taken), now)

    def entry(self, command_id: str = "c1") -> Entry:
        found = self.journal.find(command_id)
        assert found is not None
        return found

    def refused(self, code: str, call: object, *args: object) -> Rejected:
        assert callable(call)
        with self.assertRaises(Rejected) as caught:
            call(*args)
        self.assertEqual(caught.exception.code, code)
        error: Rejected = caught.exception
        return error


class LifeTests(JournalCase):
    def test_a_command_is_kept_as_it_travelled(self) -> None:
        """All of it comes back, by another process as well."""
        one = evolve(command(a=[1, "ä"]), attested=True)
        text = b" " + octets(one)
        self.assertTrue(self.journal.receive(one, "sha256:x", text, NOW))
        self.again()
        self.assertEqual(self.entry(), Entry(one, "sha256:x", text, State.RECEIVED))
        self.assertEqual(self.journal.waiting(), [self.entry()])

    def test_a_life(self) -> None:
        self.receive(command())
        self.journal.start("c1", "boot-1")
        self.assertEqual(self.entry().state, State.RUNNING)
        self.assertEqual(self.journal.waiting(), [])
        self.journal.finish("c1", DONE, "boot-1", NOW + 5)
        entry = self.entry()
        self.assertEqual((entry.state, entry.result), (State.DONE, DONE))
        self.assertEqual((entry.boot_id, entry.finished_at), ("boot-1", NOW + 5))
        self.assertEqual(self.journal.unacknowledged(), [entry])
        self.journal.acknowledge(["c1", "unheard-of"])
        self.assertEqual(self.journal.unacknowledged(), [])
        self.assertEqual(self.entry(), evolve(entry, state=State.ACKNOWLEDGED))

    def test_what_is_there_is_not_received_again(self) -> None:
        """However far it has come, and whatever else is said of it."""
        self.receive(command())
        other = command(a=2)
        self.assertFalse(self.journal.receive(other, "sha256:y", octets(other), NOW))
        self.journal.start("c1", "b")
        self.assertFalse(self.receive(command()))
        self.journal.finish("c1", DONE, "b", NOW)
        self.journal.acknowledge(["c1"])
        self.assertFalse(self.receive(command()))
        self.assertEqual(self.entry().command, command())

    def test_is_begun_once(self) -> None:
        self.refused("replayed", self.journal.start, "c1", "b")
        self.receive(command())
        self.journal.start("c1", "b")
        self.refused("replayed", self.journal.start, "c1", "b")
        self.journal.finish("c1", DONE, "b", NOW)
        self.refused("replayed", self.journal.start, "c1", "b")

    def test_has_one_result(self) -> None:
        self.receive(command())
        self.journal.start("c1", "b")
        self.journal.finish("c1", DONE, "b", NOW)
        self.refused("replayed", self.journal.finish, "c1", Result(False, "failed"), "b", NOW)
        self.assertEqual(self.entry().result, DONE)

    def test_a_result_is_not_acknowledged_before_there_is_one(self) -> None:
        self.receive(command())
        self.journal.start("c1", "b")
        self.journal.acknowledge(["c1"])
        self.assertEqual(self.entry().state, State.RUNNING)

    def test_a_command_ends_without_being_begun(self) -> None:
        self.receive(command())
        self.journal.finish("c1", Result(False, "revoked"), "b", NOW)
        self.assertEqual(self.journal.waiting(), [])
        self.refused("replayed", self.journal.start, "c1", "b")

    def test_results_are_listed_some_at_a_time(self) -> None:
        """The oldest commands first."""
        for name in ("e", "d", "c", "b", "a"):
            self.receive(command(name))
            self.journal.finish(name, DONE, "b", NOW)
        first = [each.command.command_id for each in self.journal.unacknowledged(2)]
        self.assertEqual(first, ["e", "d"])
        self.journal.acknowledge(first)
        rest = [each.command.command_id for each in self.journal.unacknowledged()]
        self.assertEqual(rest, ["c", "b", "a"])
        behind = [each.command.command_id for each in self.journal.unacknowledged(after="c")]
        self.assertEqual(behind, ["b", "a"])
        self.assertEqual(self.journal.unacknowledged(after="a"), [])


class RecoveryTests(JournalCase):
    def test_what_was_running_is_interrupted(self) -> None:
        self.receive(command())
        self.journal.start("c1", "boot-1")
        self.again()
        [left] = self.journal.recover("boot-2", never, NOW + 60)
        assert left.result is not None
        self.assertEqual((left.result.ok, left.result.code), (False, "interrupted"))
        self.assertEqual((left.boot_id, left.finished_at), ("boot-2", NOW + 60))
        self.assertEqual(self.journal.unacknowledged(), [left])
        self.assertEqual(self.journal.recover("boot-2", never, NOW + 61), [])

    def test_a_kind_may_know_better(self) -> None:
        """It is asked with the boot in which the command began, and the present one."""
        asked = []

        def resume(*of: str) -> Result | None:
            asked.append(of)
            return DONE

        self.receive(command())
        self.journal.start("c1", "boot-1")
        self.again()
        [left] = self.journal.recover("boot-2", resume, NOW + 60)
        self.assertEqual((left.state, left.result), (State.DONE, DONE))
        self.assertEqual(asked, [("test.echo", "boot-1", "boot-2")])

    def test_what_comes_to_the_same_is_begun_anew(self) -> None:
        """It waits in its old place, and is not told of."""
        for name in ("c1", "c2"):
            self.receive(command(name))
        self.journal.start("c1", "boot-1")
        self.again()
        self.assertEqual(self.journal.recover("boot-1", lambda *_: Anew(), NOW), [])
        waiting = [each.command.command_id for each in self.journal.waiting()]
        self.assertEqual(waiting, ["c1", "c2"])
        self.journal.start("c1", "boot-1")

    def test_what_has_not_begun_is_to_be_run(self) -> None:
        """In the order in which it came; what is done stays done."""
        for name in ("c2", "c1", "c3"):
            self.receive(command(name))
        self.journal.start("c3", "b")
        self.journal.finish("c3", DONE, "b", NOW)
        self.again()
        self.assertEqual(self.journal.recover("b", never, NOW), [])
        waiting = [each.command.command_id for each in self.journal.waiting()]
        self.assertEqual(waiting, ["c2", "c1"])

    def test_says_when_it_was_made(self) -> None:
        self.again(NOW + 1000)
        self.assertEqual(self.journal.made_at, NOW)

    def test_a_clock_that_was_ahead_when_it_was_made(self) -> None:
        """Who joins has run nothing before: the gateway's clock says when that was."""
        self.journal.joined(NOW - 3600)
        self.assertEqual(self.journal.made_at, NOW - 3600)
        self.again()
        self.assertEqual(self.journal.made_at, NOW - 3600)


class BoundsTests(JournalCase):
    def test_forgets_a_day_after_its_time_and_no_sooner(self) -> None:
        self.receive(command(not_after=NOW + 10))
        self.journal.finish("c1", DONE, "b", NOW)
        self.journal.acknowledge(["c1"])
        at = NOW + 10 + REMEMBERED
        self.receive(command("c2", not_after=at + 600), at)
        self.assertIsNotNone(self.journal.find("c1"))
        self.receive(command("c3", not_after=at + 600), at + 1)
        self.assertIsNone(self.journal.find("c1"))

    def test_forgets_nothing_that_the_gateway_does_not_have(self) -> None:
        self.receive(command())
        self.receive(command("c2"))
        self.journal.finish("c1", DONE, "b", NOW)
        late = NOW + 1000 * REMEMBERED
        self.receive(command("c3", not_after=late + 60), late)
        self.assertEqual(self.entry().state, State.DONE)
        self.assertEqual(self.entry("c2").state, State.RECEIVED)

    def test_what_was_forgotten_does_not_come_back(self) -> None:
        """Not by a clock that ran ahead and was set back, either."""
        self.receive(command())
        self.journal.finish("c1", DONE, "b", NOW)
        self.journal.acknowledge(["c1"])
        late = NOW + 10 * REMEMBERED
        self.receive(command("c2", not_after=late + 600), late)
        self.again()
        self.refused("expired", self.receive, command(), NOW)
        self.assertIsNone(self.journal.find("c1"))

    def test_a_clock_that_was_ahead_refuses_nothing_new(self) -> None:
        """It was a year ahead for a moment: what was forgotten stays so, and all else is taken."""
        old = command("old")
        self.receive(old)
        self.journal.finish("old", DONE, "b", NOW)
        self.journal.acknowledge(["old"])
        year = NOW + 366 * 86_400
        self.receive(command("c1", issued_at=year, not_after=year + 600), year)
        self.refused("expired", self.receive, old, NOW + 5)
        new = command("c2", issued_at=NOW + 5, not_after=old.not_after + 1)
        self.assertTrue(self.receive(new, NOW + 5))

    def test_holds_so_many_commands(self) -> None:
        self.journal.close()
        self.journal = self.opened(rows=3)
        for number in range(3):
            self.receive(command(f"c{number}"))
        self.refused("busy", self.receive, command("c3"))
        self.assertIsNone(self.journal.find("c3"))
        self.assertFalse(self.receive(command("c2")))
        self.journal.finish("c0", DONE, "b", NOW)
        self.journal.acknowledge(["c0"])
        late = NOW + 600 + REMEMBERED + 1
        self.assertTrue(self.receive(command("c3", not_after=late + 60), late))

    def test_holds_so_many_bytes(self) -> None:
        self.journal.close()
        self.journal = self.opened(size=1 << 20)
        long = "x" * (LONGEST_COMMAND - 1000)
        taken = 0
        with self.assertRaises(Rejected) as caught:
            while taken < 1000:
                self.receive(command(f"c{taken}", text=long))
                taken += 1
        self.assertEqual(caught.exception.code, "busy")
        self.assertIn(taken, range(18, 24))
        # What is in it can be run to its end.
        self.journal.start("c0", "b")
        self.journal.finish("c0", DONE, "b", NOW)

    def test_a_command_is_not_too_long(self) -> None:
        one = command()
        self.assertTrue(self.journal.receive(one, "d", octets(one).ljust(LONGEST_COMMAND), NOW))
        two = octets(command("c2")).ljust(LONGEST_COMMAND + 1)
        self.refused("too-large", self.journal.receive, command("c2"), "d", two, NOW)

    def test_a_result_is_not_too_long(self) -> None:
        self.receive(command())
        text = "x" * (LONGEST_RESULT - len(b'{"ok":true,"code":"ok","detail":"","data":{"a":""}}'))
        long = Result(True, "ok", data={"a": text + "x"})
        self.refused("too-large", self.journal.finish, "c1", long, "b", NOW)
        self.journal.finish("c1", Result(True, "ok", data={"a": text}), "b", NOW)


class FileTests(JournalCase):
    def test_is_durable_with_every_step(self) -> None:
        connection = self.journal._connection
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "locking_mode")
        ]
        self.assertEqual(settings, ["wal", 2, "exclusive"])

    def damaged(self, data: bytes) -> None:
        self.journal.close()
        self.path.write_bytes(data)
        error = self.assertRaises(DamagedJournal, Journal, str(self.path), NOW)
        self.assertIn(str(self.path), str(error))

    def test_a_file_of_something_else_is_damaged(self) -> None:
        self.damaged(b"not a database" * 1000)

    def test_a_database_of_something_else_is_damaged(self) -> None:
        self.journal.close()
        self.path.unlink()
        with sqlite3.connect(self.path) as other:
            other.execute("CREATE TABLE journal (a)")
        other.close()
        self.damaged(self.path.read_bytes())

    def test_a_page_of_something_else_is_damage(self) -> None:
        for number in range(50):
            self.receive(command(f"c{number}"))
        self.journal.close()
        data = bytearray(self.path.read_bytes())
        data[4096 * 3 : 4096 * 6] = b"\xa5" * (4096 * 3)
        self.damaged(bytes(data))

    def test_a_journal_that_does_not_say_when_it_was_made_is_damaged(self) -> None:
        self.journal.close()
        with sqlite3.connect(self.path) as other:
            other.execute("DELETE FROM journal")
        other.close()
        self.damaged(self.path.read_bytes())

    def test_a_journal_of_a_newer_release_is_left_alone(self) -> None:
        self.journal.close()
        with sqlite3.connect(self.path) as other:
            other.execute("PRAGMA user_version = 2")
        other.close()
        error = self.assertRaises(Unavailable, Journal, str(self.path), NOW)
        self.assertIn("version 2", str(error))

    def test_nothing_is_received_on_a_full_disk(self) -> None:
        """And what is in it already goes on as soon as there is room."""
        self.receive(command())
        long = command("c2", text="x" * 40_000)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        # Of one file, where a disk would be full: SQLite is told the same.
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
        try:
            error = self.refused("journal-unavailable", self.receive, long)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertIn(str(self.path), str(error))
        self.assertIsNone(self.journal.find("c2"))
        self.again()
        self.assertIsNone(self.journal.find("c2"))
        self.assertTrue(self.receive(long))
