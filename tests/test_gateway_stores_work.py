"""Tests for the stores of commands, batches and workflows."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import LONGEST_RESULT, Envelope, Result
from rescriptum.gateway.records import (
    ApprovalRow,
    Batch,
    CommandState,
    StepState,
    Workflow,
    WorkflowState,
    WorkflowStep,
)
from rescriptum.gateway.stores import batches, commands, machines, nodes, workflows
from tests.gateway_stores import NOW, OverSQLite, Stores, command, known, settle

DONE, FAILED = Result(True, "ok", data={"on": True}), Result(False, "timeout", "no answer")


class CommandBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle, "ber", "node-1", "node-2")

    def add(self, *names: str, **changes: object) -> None:
        for number, name in enumerate(names):
            made = evolve(command(name), issued_at=NOW + number, **changes)  # type: ignore[arg-type]
            self.do(commands.add, made)

    def state(self, name: str = "c1") -> CommandState:
        return self.do(commands.get, name).state

    def pending(self, now: int = NOW) -> list[str]:
        return [each.id for each in self.do(commands.pending_for, "node-1", now)]

    def test_kept_as_it_was_sent(self) -> None:
        made = evolve(
            command("c1"),
            claims=b'{"\xc3\xa4": "\x00"}',
            envelope=Envelope(signed="a.b.c", certificate="d.e.f", approvals=("g.h.i",)),
            batch="b1",
            attested=True,
            secret_refs=("bmc-1", "user-data"),
        )
        self.do(commands.add, made)
        self.assertEqual(self.do(commands.get, "c1"), made)
        self.refused("conflict", commands.add, made)
        self.refused("not-found", commands.get, "c2")
        self.refused("unknown-node", commands.add, command("c2", "node-3"))
        self.refused("invalid-message", commands.add, command("a b"))

    def test_its_way(self) -> None:
        """Queued, delivered, journalled, done: each is told again without harm."""
        self.add("c1")
        self.assertEqual((self.state(), self.pending()), (CommandState.QUEUED, ["c1"]))
        for late in (1, 2):
            self.do(commands.delivered, ["c1", "of-nobody"], NOW + late)
        self.assertEqual((self.state(), self.pending()), (CommandState.DELIVERED, ["c1"]))
        for late in (3, 4):
            self.do(commands.journalled, "c1", "node-1", NOW + late)
        self.assertEqual((self.state(), self.pending()), (CommandState.JOURNALLED, []))
        self.assertTrue(self.do(commands.finished, "c1", "node-1", DONE, NOW + 5, "j.w.s"))
        row = self.do(commands.get, "c1")
        self.assertEqual((row.delivered_at, row.journalled_at), (NOW + 1, NOW + 3))
        self.assertEqual((row.finished_at, row.result, row.attestation), (NOW + 5, DONE, "j.w.s"))
        self.do(commands.journalled, "c1", "node-1", NOW + 6)
        self.do(commands.delivered, ["c1"], NOW + 6)
        self.assertEqual(self.do(commands.get, "c1"), row)

    def test_the_first_result_counts(self) -> None:
        """An equal one again is fine, another one is an alarm."""
        self.add("c1")
        self.assertTrue(self.do(commands.finished, "c1", "node-1", FAILED, NOW))
        self.assertFalse(self.do(commands.finished, "c1", "node-1", FAILED, NOW + 9))
        self.refused("conflicting-result", commands.finished, "c1", "node-1", DONE, NOW)
        self.refused("conflicting-result", commands.refused, "c1", "node-1", "expired", "", NOW)
        row = self.do(commands.get, "c1")
        self.assertEqual((row.state, row.result), (CommandState.FAILED, FAILED))
        self.assertEqual(row.finished_at, NOW)

    def test_other_nodes_say_nothing(self) -> None:
        self.add("c1")
        self.refused("wrong-node", commands.finished, "c1", "node-2", DONE, NOW)
        self.refused("wrong-node", commands.refused, "c1", "node-2", "revoked", "", NOW)
        self.refused("wrong-node", commands.journalled, "c1", "node-2", NOW)
        self.do(commands.progress, "c1", "node-2", {"percent": 1})
        self.assertIsNone(self.do(commands.get, "c1").progress)
        self.assertEqual(self.state(), CommandState.QUEUED)

    def test_refused_by_its_agent(self) -> None:
        """By what the code says: it never ran."""
        for name, code, state in (
            ("c1", "bad-signature", CommandState.REFUSED),
            ("c2", "expired", CommandState.EXPIRED),
            ("c3", "revoked", CommandState.REVOKED),
        ):
            self.add(name)
            self.assertTrue(self.do(commands.refused, name, "node-1", code, "why", NOW))
            self.assertFalse(self.do(commands.refused, name, "node-1", code, "why", NOW))
            self.assertEqual(self.state(name), state)
            self.assertTrue(self.state(name).finished)
            self.assertEqual(self.do(commands.get, name).result, Result(False, code, "why"))

    def test_revoked_before_it_was_sent(self) -> None:
        self.add("c1")
        self.assertFalse(self.do(commands.revoke, "c1", NOW + 1))
        row = self.do(commands.get, "c1")
        self.assertEqual((row.state, row.finished_at), (CommandState.REVOKED, NOW + 1))
        self.assertEqual(self.pending(), [])
        self.assertEqual(self.do(commands.revocations_for, "node-1"), [])
        self.assertFalse(self.do(commands.revoke, "c1", NOW + 2))

    def test_revoked_after_it_was_sent(self) -> None:
        """Its agent is told until it answers; what it did meanwhile is what counts."""
        self.add("c1", "c2")
        self.do(commands.delivered, ["c1", "c2"], NOW)
        for name in ("c1", "c2"):
            self.assertTrue(self.do(commands.revoke, name, NOW + 1))
            self.assertTrue(self.do(commands.revoke, name, NOW + 2))
        self.assertEqual(self.do(commands.revocations_for, "node-1"), ["c1", "c2"])
        self.do(commands.refused, "c1", "node-1", "revoked", "", NOW + 3)
        self.do(commands.finished, "c2", "node-1", DONE, NOW + 3)
        self.assertEqual(self.do(commands.revocations_for, "node-1"), [])
        self.assertEqual(self.state("c1"), CommandState.REVOKED)
        self.assertEqual(self.state("c2"), CommandState.DONE)
        self.refused("conflict", commands.revoke, "c2", NOW + 4)

    def test_expired(self) -> None:
        """What is in a journal is not: its agent will say; a late result counts all the same."""
        self.add("c1", "c2", "c3")
        self.do(commands.delivered, ["c2", "c3"], NOW)
        self.do(commands.journalled, "c3", "node-1", NOW)
        self.assertEqual(self.do(commands.expire, NOW + 599), [])
        self.assertEqual(self.do(commands.expire, NOW + 600, 1), ["c1"])
        self.assertEqual(self.do(commands.expire, NOW + 600), ["c2"])
        self.assertEqual(self.do(commands.expire, NOW + 600), [])
        self.assertEqual(self.state("c3"), CommandState.JOURNALLED)
        self.assertTrue(self.do(commands.finished, "c2", "node-1", DONE, NOW + 601))
        self.assertEqual(self.state("c2"), CommandState.DONE)

    def test_the_late_are_not_delivered(self) -> None:
        self.add("c1")
        self.assertEqual(self.pending(NOW + 599), ["c1"])
        self.assertEqual(self.pending(NOW + 600), [])

    def test_waiting_for_approval(self) -> None:
        self.add("c1", state=CommandState.WAITING, batch="b1")
        self.assertEqual(self.pending(), [])
        approved = Envelope(unsigned="{}", approvals=("a.b.c",))
        self.assertTrue(self.do(commands.approved, "c1", approved))
        self.assertFalse(self.do(commands.approved, "c1", approved))
        self.assertEqual(self.do(commands.pending_for, "node-1", NOW)[0].envelope, approved)

    def test_listing(self) -> None:
        """The newest first, by whom, what for, and how far it has come."""
        self.add("c1", "c2", "c3")
        self.do(commands.add, command("c4", "node-2", "wf-2"))
        self.do(commands.finished, "c2", "node-1", DONE, NOW)

        def listed(**wanted: object) -> list[str]:
            page = self.do(commands.listing, **wanted)  # type: ignore[arg-type]
            return [each.id for each in page.items]

        self.assertEqual(listed(), ["c3", "c2", "c4", "c1"])
        self.assertEqual(listed(node="node-1", state=CommandState.QUEUED), ["c3", "c1"])
        self.assertEqual(listed(workflow="wf-2"), ["c4"])
        self.assertEqual(listed(batch="b1"), [])
        page = self.do(commands.listing, limit=2)
        self.assertEqual(listed(after=page.next), ["c4", "c1"])

    def test_bounds(self) -> None:
        self.add("c1")
        room = commands.PROGRESS - len('{"a":""}')
        self.do(commands.progress, "c1", "node-1", {"a": "x" * room})
        over: dict[str, object] = {"a": "x" * (room + 1)}
        self.refused("too-large", commands.progress, "c1", "node-1", over)
        big = Result(True, "ok", data={"a": "x" * LONGEST_RESULT})
        self.refused("too-large", commands.finished, "c1", "node-1", big, NOW)

    def test_bound_of_a_node(self) -> None:
        """Whoever adds them: what is not finished is at most so many; another node has its own."""
        self.patch(commands, "MOST", 3)
        self.add("c1", "c2", "c3")
        self.refused("busy", commands.add, command("c4"))
        self.do(commands.add, command("c4", "node-2"))
        self.do(commands.finished, "c1", "node-1", DONE, NOW)
        self.do(commands.add, command("c5"))

    def test_removed_nodes_keep_theirs(self) -> None:
        self.add("c1")
        self.do(nodes.remove, "node-1", NOW)
        self.assertEqual(self.state(), CommandState.QUEUED)


class BatchBehaviour(Stores):
    def test_approved_once_an_approver(self) -> None:
        self.do(batches.create, Batch("b1", NOW, "wipe rack 7"))
        self.refused("conflict", batches.create, Batch("b1", NOW, ""))
        first = ApprovalRow("b1", "jkt-1", "a.b.c", NOW + 60, NOW)
        second = ApprovalRow("b1", "jkt-2", "d.e.f", NOW + 60, NOW + 1)
        again = ApprovalRow("b1", "jkt-1", "g.h.i", NOW + 90, NOW + 2)
        for each in (first, second, again):
            self.do(batches.approve, each)
        self.assertEqual(self.do(batches.approvals_of, "b1"), [second, again])
        self.assertEqual(self.do(batches.get, "b1").about, "wipe rack 7")
        self.refused("not-found", batches.get, "b2")
        self.refused("not-found", batches.approve, evolve(first, batch="b2"))

    def test_bounds(self) -> None:
        self.refused("too-large", batches.create, Batch("b1", NOW, "x" * 2049))
        self.refused("invalid-message", batches.create, Batch("a b", NOW, ""))
        self.do(batches.create, Batch("b1", NOW, "x" * 2048))
        for number in range(batches.MOST):
            self.do(batches.approve, ApprovalRow("b1", f"jkt-{number}", "s", NOW, NOW))
        self.do(batches.approve, ApprovalRow("b1", "jkt-0", "t", NOW, NOW))
        over = ApprovalRow("b1", "jkt-x", "s", NOW, NOW)
        self.refused("too-large", batches.approve, over)
        self.refused("too-large", batches.approve, evolve(over, signed="x" * 65_537))

    def test_listing(self) -> None:
        for number in range(3):
            self.do(batches.create, Batch(f"b{number}", NOW + number, ""))
        page = self.do(batches.listing, limit=2)
        self.assertEqual([each.id for each in page.items], ["b2", "b1"])
        self.assertEqual(self.do(batches.listing, page.next or "").items[0].id, "b0")


class WorkflowBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle, "ber", "node-1")
        self.do(known, "m1")

    def add(self, name: str = "wf-1", machine: str | None = "m1", process: str = "p1") -> None:
        made = Workflow(name, "deploy", "ber", machine, {"image": "i"}, "op", NOW, process=process)
        plan = [WorkflowStep(name, number, f"step-{number}") for number in range(3)]
        self.do(workflows.add, made, plan)

    def test_kept_with_its_steps(self) -> None:
        self.add()
        made = self.do(workflows.get, "wf-1")
        self.assertEqual((made.state, made.step), (WorkflowState.RUNNING, 0))
        self.assertEqual(made.parameters, {"image": "i"})
        steps = self.do(workflows.steps, "wf-1")
        self.assertEqual([(each.number, each.state) for each in steps],
                         [(n, StepState.WAITING) for n in range(3)])  # fmt: skip
        self.refused("not-found", workflows.get, "wf-2")

    def test_one_at_a_time_for_a_machine(self) -> None:
        self.add()
        again = Workflow("wf-2", "wipe", "ber", "m1", {}, "op", NOW)
        self.refused("in-use", workflows.add, again, [])
        self.do(workflows.add, evolve(again, id="wf-3", machine=None), [])
        self.refused("conflict", workflows.add, evolve(again, id="wf-3", machine=None), [])
        self.refused("not-found", workflows.add, evolve(again, machine="m2"), [])
        self.refused("in-use", machines.remove, "m1")
        self.do(workflows.finish, "wf-1", "p1", 0, WorkflowState.FAILED, "why", NOW)
        self.do(workflows.add, again, [])

    def test_carried_on_by_compare_and_swap(self) -> None:
        """Neither another process nor one that is a step behind changes anything."""
        self.add()
        running = WorkflowStep("wf-1", 0, "step-0", StepState.RUNNING, "c1", {"n": 1}, "", NOW)
        self.assertTrue(self.do(workflows.update_step, "p1", running))
        self.assertFalse(self.do(workflows.update_step, "p2", running))
        self.assertFalse(self.do(workflows.update_step, "p1", evolve(running, number=1)))
        self.assertEqual(self.do(workflows.steps, "wf-1")[0], running)
        self.assertFalse(self.do(workflows.advance, "wf-1", "p2", 0))
        self.assertTrue(self.do(workflows.advance, "wf-1", "p1", 0))
        self.assertFalse(self.do(workflows.advance, "wf-1", "p1", 0))
        done = (WorkflowState.DONE, "", NOW + 5)
        self.assertFalse(self.do(workflows.finish, "wf-1", "p1", 0, *done))
        self.assertTrue(self.do(workflows.finish, "wf-1", "p1", 1, *done))
        self.assertFalse(self.do(workflows.finish, "wf-1", "p1", 1, *done))
        self.assertFalse(self.do(workflows.advance, "wf-1", "p1", 1))
        self.assertFalse(self.do(workflows.update_step, "p1", evolve(running, number=1)))
        after = self.do(workflows.get, "wf-1")
        self.assertEqual((after.state, after.finished_at), (WorkflowState.DONE, NOW + 5))

    def test_orphans_are_claimed_once(self) -> None:
        self.add("wf-1", None, "p1")
        self.add("wf-2", None, "p2")
        self.add("wf-3", None, "p2")
        self.do(workflows.finish, "wf-3", "p2", 0, WorkflowState.DONE, "", NOW)
        self.assertEqual(self.do(workflows.claim, "p3", ["p1", "p2", "p3"]), [])
        [claimed] = self.do(workflows.claim, "p1", ["p1", "p3"])
        self.assertEqual((claimed.id, claimed.process), ("wf-2", "p1"))
        self.assertEqual(self.do(workflows.claim, "p3", ["p1", "p3"]), [])
        self.assertFalse(self.do(workflows.advance, "wf-2", "p2", 0))
        self.assertTrue(self.do(workflows.advance, "wf-2", "p1", 0))

    def test_cancelled(self) -> None:
        """Whoever carries it on sees it with the next step."""
        self.add()
        self.do(workflows.advance, "wf-1", "p1", 0)
        self.assertTrue(self.do(workflows.cancel, "wf-1", "by op", NOW))
        self.assertFalse(self.do(workflows.cancel, "wf-1", "by op", NOW))
        self.assertFalse(self.do(workflows.advance, "wf-1", "p1", 1))
        self.assertEqual(self.do(workflows.get, "wf-1").state, WorkflowState.CANCELLED)
        states = {each.state for each in self.do(workflows.steps, "wf-1")}
        self.assertEqual(states, {StepState.SKIPPED})
        self.refused("not-found", workflows.cancel, "wf-2", "", NOW)

    def test_listing(self) -> None:
        self.add("wf-1", None)
        self.add("wf-2", "m1")
        self.do(workflows.finish, "wf-1", "p1", 0, WorkflowState.DONE, "", NOW)

        def listed(**wanted: object) -> list[str]:
            page = self.do(workflows.listing, **wanted)  # type: ignore[arg-type]
            return [each.id for each in page.items]

        self.assertEqual(listed(), ["wf-2", "wf-1"])
        self.assertEqual(listed(machine="m1"), ["wf-2"])
        self.assertEqual(listed(state=WorkflowState.DONE), ["wf-1"])
        self.assertEqual(listed(site="muc"), [])

    def test_bounds(self) -> None:
        made = Workflow("wf-1", "deploy", "ber", None, {}, "op", NOW)
        plan = [WorkflowStep("wf-1", number, "s") for number in range(workflows.MOST_STEPS + 1)]
        self.refused("too-large", workflows.add, made, plan)
        big: dict[str, object] = {"a": "x" * workflows.PARAMETERS}
        self.refused("too-large", workflows.add, evolve(made, parameters=big), [])
        self.do(workflows.add, made, plan[:-1])
        large = WorkflowStep("wf-1", 0, "s", detail={"a": "x" * workflows.DETAIL})
        self.refused("too-large", workflows.update_step, "p1", large)


class SQLiteCommandTests(OverSQLite, CommandBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteBatchTests(OverSQLite, BatchBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteWorkflowTests(OverSQLite, WorkflowBehaviour, SynchronousTestCase):
    """Over SQLite."""
