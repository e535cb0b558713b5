"""Tests for ``rescriptum.gateway.api``: commands, approvals, workflows."""

from typing import Any

from attrs import evolve
from sqlalchemy import Connection, update
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import Approval, Command, Result
from rescriptum.contract.jose import digest, opened, sign
from rescriptum.contract.keys import Key, generate, public_jwk, trusted
from rescriptum.contract.structure import parsed, plain, structured
from rescriptum.gateway.records import CommandState, StepState, Workflow, WorkflowStep
from rescriptum.gateway.signing import Worker
from rescriptum.gateway.statements import approval, certificate
from rescriptum.gateway.stores import batches, commands, nodes, tables, workflows
from tests.gateway_stores import NOW, settle
from tests.operatorcases import OperatorCase


class WorkCase(OperatorCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber", "n1"))

    def send(self, kind: str = "bmc.power", **more: Any) -> Any:
        return self.call("command-send", body={"node": "n1", "kind": kind, **more})


class CommandTests(WorkCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: kinds(connection, "bmc.power", "boot.clear"))

    def test_sending_one(self) -> None:
        sent = self.send(payload={"a": None}, secret_refs=["bmc"], lifetime_s=60, attested=True)
        self.assertEqual((sent["state"], sent["payload"]), ("queued", {"a": None}))
        self.assertEqual((sent["workflow"], sent["step"]), (sent["id"], "operator"))
        self.assertEqual(sent["not_after"], "2023-11-14T22:14:20Z")
        self.assertEqual(self.call("command-show", sent["id"]), sent)
        row = self.do(lambda connection: commands.get(connection, sent["id"]))
        said = structured(Command, parsed(row.claims))
        self.assertEqual((said.node_id, said.attested, said.issued_at), ("n1", True, NOW))
        self.assertEqual((row.digest, row.envelope.unsigned), (digest(row.claims),
                                                                row.claims.decode()))  # fmt: skip

    def test_a_certificate(self) -> None:
        """The result of a wipe is always signed, whatever the operator says."""
        self.do(lambda connection: kinds(connection, "disk.wipe"))
        sent = self.send("disk.wipe", attested=False)
        row = self.do(lambda connection: commands.get(connection, sent["id"]))
        said = structured(Command, parsed(row.claims))
        self.assertEqual((sent["attested"], row.attested, said.attested), (True, True, True))

    def test_listing(self) -> None:
        one = self.send()
        self.clock.advance(1)
        other = self.send("boot.clear")
        listed = self.call("command-list", query="?node=n1")["commands"]
        self.assertEqual([each["id"] for each in listed], [other["id"], one["id"]])
        self.assertNotIn("payload", listed[0])
        self.assertEqual(self.call("command-list", query="?state=done")["commands"], [])
        self.refusal("command-list", query="?state=lost", code="invalid-message")
        page = self.call("command-list", query="?limit=1")
        rest = self.call("command-list", query=f"?limit=1&cursor={page['next']}")
        self.assertEqual([each["id"] for each in rest["commands"]], [one["id"]])

    def test_what_cannot_be_sent(self) -> None:
        body = {"node": "n9", "kind": "bmc.power"}
        self.refusal("command-send", body=body, code="not-found")
        body = {"node": "n1", "kind": "disk.wipe"}
        self.assertIn("bmc.power", self.refusal("command-send", body=body, code="unknown-kind"))
        values: list[tuple[str, object]]
        values = [("lifetime_s", 9), ("lifetime_s", 86_401), ("secret_refs", ["x"] * 17)]
        for name, value in values:
            wrong = {**body, "kind": "bmc.power", name: value}
            self.refusal("command-send", body=wrong, code="invalid-message")
        large = {**body, "kind": "bmc.power", "payload": {"a": "x" * 48 * 1024}}
        self.refusal("command-send", body=large, code="too-large")
        self.do(lambda connection: nodes.remove(connection, "n1", NOW))
        self.refusal("command-send", body=body, code="not-found")
        self.assertEqual(self.call("command-list")["commands"], [])

    def test_what_became_of_it(self) -> None:
        sent = self.send()
        result = Result(False, "timeout", "no answer", {"tried": 3})
        self.do(lambda c: commands.finished(c, sent["id"], "n1", result, NOW + 3))
        told = self.call("command-show", sent["id"])
        self.assertEqual((told["state"], told["result"]["data"]), ("failed", {"tried": 3}))
        self.refusal("command-revoke", sent["id"], code="conflict")

    def test_taking_one_back(self) -> None:
        sent = self.send()
        self.assertEqual(self.call("command-revoke", sent["id"])["state"], "revoked")
        self.assertEqual(self.happened()[-1].kind, "command.revoked")
        self.refusal("command-revoke", "nothing", code="not-found")

    def test_a_worker_signs(self) -> None:
        root, key = generate("Ed25519"), generate("Ed25519")
        said = certificate(root, dict(public_jwk(key)), ["bmc.power"], NOW)
        self.worker = Worker.certified(key, said, trusted(root))
        sent = self.send()
        row = self.do(lambda connection: commands.get(connection, sent["id"]))
        made = opened("command", row.envelope.signed, trusted(key))
        self.assertEqual((made.payload, digest(made.payload)), (row.claims, sent["digest"]))
        body = {"node": "n1", "kind": "boot.clear"}
        self.refusal("command-send", body=body, code="bad-signature")


class ApprovalTests(WorkCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: kinds(connection, "disk.wipe", "bmc.power"))
        self.approvers = [generate("Ed25519") for _ in range(3)]
        self.trust(2)

    def trust(self, quorum: int, *approvers: Key) -> None:
        jwks = [dict(public_jwk(each)) for each in approvers or self.approvers]
        self.call("trust-set", body={"approvers": jwks, "quorum": quorum})

    def wipe(self) -> Any:
        return self.send("disk.wipe", payload={"mode": "quick"}, about="the old node")

    def approve(self, batch: str, key: Key, *digests: str, **how: Any) -> Any:
        text = approval(key, batch, digests, int(self.now()))
        return self.call("approve", batch, body={"approval": text}, **how)

    def state(self, command: str) -> CommandState:
        return self.do(lambda connection: commands.get(connection, command)).state

    def test_what_destroys_waits(self) -> None:
        sent = self.wipe()
        self.assertEqual(sent["state"], "waiting")
        batch = self.call("batch-show", sent["batch"])
        self.assertEqual((batch["about"], batch["quorum"]), ("the old node", 2))
        self.assertFalse(batch["approved"])
        [waiting] = batch["commands"]
        self.assertEqual((waiting["digest"], waiting["kind"]), (sent["digest"], "disk.wipe"))
        self.assertEqual(waiting["payload"], {"mode": "quick"})
        self.assertEqual(self.call("batch-list", query="?state=waiting")["batches"], [batch])

    def test_what_destroys_nothing_does_not(self) -> None:
        self.assertEqual(self.send("bmc.power")["state"], "queued")
        self.assertEqual(self.call("batch-list")["batches"], [])

    def test_a_quorum(self) -> None:
        """Two distinct approvers; one who says it twice is one."""
        sent = self.wipe()
        for _ in range(2):
            told = self.approve(sent["batch"], self.approvers[0], sent["digest"])
            self.assertFalse(told["approved"])
            self.assertEqual(len(told["approvals"]), 1)
        told = self.approve(sent["batch"], self.approvers[1], sent["digest"])
        self.assertTrue(told["approved"])
        row = self.do(lambda connection: commands.get(connection, sent["id"]))
        self.assertEqual((row.state, len(row.envelope.approvals)), (CommandState.QUEUED, 2))
        self.assertEqual(self.call("batch-list", query="?state=waiting")["batches"], [])
        self.assertEqual(len(self.call("batch-list")["batches"]), 1)
        event = self.happened()[-1]
        self.assertEqual((event.kind, event.data["released"]), ("batch.approved", [sent["id"]]))
        self.assertEqual(event.data["approver"], self.approvers[1].thumbprint())

    def test_what_is_part_of_a_workflow_waits_for_its_turn(self) -> None:
        """It has its approvals and is shown to; whoever carries the workflow on sends it."""
        sent = self.wipe()
        later = update(tables.commands).where(tables.commands.c.id == sent["id"])
        self.do(lambda connection: connection.execute(later.values(workflow="w1")))
        for key in self.approvers[:2]:
            told = self.approve(sent["batch"], key, sent["digest"])
        self.assertTrue(told["approved"])
        self.assertEqual(self.state(sent["id"]), CommandState.WAITING)
        self.assertEqual(self.happened()[-1].data["released"], [])

    def test_who_is_no_approver(self) -> None:
        sent = self.wipe()
        text = approval(generate("Ed25519"), sent["batch"], [sent["digest"]], NOW)
        self.refusal("approve", sent["batch"], body={"approval": text}, code="unknown-key")
        good = approval(self.approvers[0], sent["batch"], [sent["digest"]], NOW)
        bad = good[:-4] + ("AAAA" if good[-4:] != "AAAA" else "BBBB")
        self.refusal("approve", sent["batch"], body={"approval": bad}, code="bad-signature")
        said = Approval(sent["batch"], (sent["digest"],), NOW + 60)
        text = sign("worker", plain(said), self.approvers[0])
        self.refusal("approve", sent["batch"], body={"approval": text}, code="wrong-type")
        self.assertEqual(self.call("batch-show", sent["batch"])["approvals"], [])

    def test_an_approval_of_something_else(self) -> None:
        sent, other = self.wipe(), self.wipe()
        text = approval(self.approvers[0], other["batch"], [sent["digest"]], NOW)
        self.refusal("approve", sent["batch"], body={"approval": text}, code="conflict")
        text = approval(self.approvers[0], sent["batch"], [other["digest"]], NOW)
        self.refusal("approve", sent["batch"], body={"approval": text}, code="conflict")
        text = approval(self.approvers[0], sent["batch"], [sent["digest"]], NOW, life=0)
        self.refusal("approve", sent["batch"], body={"approval": text}, code="stale")
        self.refusal("approve", "nothing", body={"approval": text}, code="not-found")

    def test_an_approval_that_has_ended_counts_no_more(self) -> None:
        sent = self.wipe()
        text = approval(self.approvers[0], sent["batch"], [sent["digest"]], NOW, life=10)
        self.call("approve", sent["batch"], body={"approval": text})
        self.clock.advance(10)
        self.approve(sent["batch"], self.approvers[1], sent["digest"])
        self.assertIs(self.state(sent["id"]), CommandState.WAITING)

    def test_an_approver_who_is_none_any_more_counts_no_more(self) -> None:
        sent = self.wipe()
        self.approve(sent["batch"], self.approvers[0], sent["digest"])
        self.trust(2, *self.approvers[1:])
        self.approve(sent["batch"], self.approvers[1], sent["digest"])
        self.assertIs(self.state(sent["id"]), CommandState.WAITING)
        self.approve(sent["batch"], self.approvers[2], sent["digest"])
        self.assertIs(self.state(sent["id"]), CommandState.QUEUED)

    def test_a_batch_of_several(self) -> None:
        """Each command needs its own digest in the approvals."""
        sent, other = self.wipe(), self.wipe()
        self.do(lambda c: into(c, other["id"], sent["batch"]))
        self.trust(1)
        self.approve(sent["batch"], self.approvers[0], sent["digest"])
        self.assertIs(self.state(sent["id"]), CommandState.QUEUED)
        self.assertIs(self.state(other["id"]), CommandState.WAITING)
        told = self.approve(sent["batch"], self.approvers[0], sent["digest"], other["digest"])
        self.assertTrue(told["approved"])

    def test_roots_without_approvers(self) -> None:
        """Agents run nothing that destroys then: it waits for approvers that are still to come."""
        root = dict(public_jwk(generate("Ed25519")))
        self.call("trust-set", body={"command_roots": [root], "quorum": 1})
        self.assertEqual(self.wipe()["state"], "waiting")
        self.call("trust-set", body={})
        self.assertEqual(self.wipe()["state"], "queued")

    def test_what_can_narrow(self) -> None:
        self.refusal("batch-list", query="?state=done", code="invalid-message")


class WorkflowTests(WorkCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.call("machine-add", body={"name": "m1", "site": "ber"})

    def start(self) -> Any:
        body = {"kind": "wipe", "machine": "m1", "parameters": {"wipe": "quick"}}
        return self.call("workflow-start", body=body)

    def test_starting_one(self) -> None:
        made = self.start()
        self.assertEqual((made["state"], made["operator"]), ("running", "admin"))
        self.assertEqual(made["parameters"], {"wipe": "quick"})
        self.assertEqual(self.happened()[-1].subject, made["id"])
        listed = self.call("workflow-list", query="?machine=m1&state=running")["workflows"]
        self.assertEqual([each["id"] for each in listed], [made["id"]])
        self.assertEqual(self.call("workflow-list", query="?state=failed")["workflows"], [])
        self.refusal("workflow-list", query="?state=lost", code="invalid-message")
        body = {"kind": "wipe", "machine": "m9"}
        self.refusal("workflow-start", body=body, code="not-found")

    def test_progress_of_its_steps(self) -> None:
        self.do(lambda connection: kinds(connection, "bmc.power"))
        sent = self.send()
        steps = [
            WorkflowStep("wf", 0, "disk.wipe", StepState.RUNNING, sent["id"], started_at=NOW),
            WorkflowStep("wf", 1, "installed"),
        ]
        self.do(lambda c: workflows.add(c, workflow(sent["id"]), renamed(steps, sent["id"])))
        self.do(lambda c: commands.progress(c, sent["id"], "n1", {"done": 1, "total": 4}))
        first, second = self.call("workflow-show", sent["id"])["steps"]
        self.assertEqual(first["progress"], {"done": 1, "total": 4})
        self.assertEqual((first["state"], second["state"]), ("running", "waiting"))
        self.assertNotIn("progress", second)

    def test_cancelling(self) -> None:
        """Once: it says by whom."""
        made = self.start()
        ended = self.call("workflow-cancel", made["id"])
        self.assertEqual((ended["state"], ended["reason"]), ("cancelled", "cancelled by admin"))
        self.refusal("workflow-cancel", made["id"], code="conflict")
        self.refusal("workflow-cancel", "nothing", code="not-found")


def kinds(connection: Connection, *names: str) -> None:
    """What the agent of n1 runs."""
    mine = tables.nodes.c.id == "n1"
    connection.execute(update(tables.nodes).where(mine).values(kinds=list(names)))


def into(connection: Connection, command: str, batch: str) -> None:
    """Put a command that waits into another batch."""
    assert batches.get(connection, batch)
    mine = tables.commands.c.id == command
    connection.execute(update(tables.commands).where(mine).values(batch=batch))


def workflow(name: str) -> Workflow:
    return Workflow(name, "wipe", "ber", None, {}, "admin", NOW)


def renamed(steps: list[WorkflowStep], name: str) -> list[WorkflowStep]:
    return [evolve(each, workflow=name) for each in steps]
