"""Tests for ``rescriptum.cli.gateway``: commands, approvals, workflows, and following them."""

import json
from io import StringIO
from pathlib import Path

from sqlalchemy import Connection, delete, update
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.gateway.client import LOOK, SILENCE, Told
from rescriptum.cli.gateway.screen import Screen
from rescriptum.cli.gateway.watch import AGAIN, describe, follow
from rescriptum.contract.keys import dumped, generate, public_jwk
from rescriptum.contract.structure import JSON
from rescriptum.errors import Unavailable
from rescriptum.gateway.records import StepState, Workflow, WorkflowState, WorkflowStep
from rescriptum.gateway.statements import approval
from rescriptum.gateway.stores import events, tables, workflows
from tests.gateway_stores import NOW, settle
from tests.gatewaycommands import CommandCase, Terminal


class CommandTests(CommandCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber", "n1"))

    def test_sending_one(self) -> None:
        payload = json.dumps({"mac": "x"})
        sent = self.said("command", "send", "n1", "boot.prepareRamdisk", "--payload", payload,
                         "--secret", "bmc", "--lifetime", "5m", "--attested")  # fmt: skip
        self.assertEqual((sent["payload"], sent["attested"]), ({"mac": "x"}, True))
        self.assertEqual(sent["not_after"], "2023-11-14T22:18:20Z")
        self.assertIn(sent["id"], self.run_("command", "list", "--node", "n1"))
        self.assertIn("payload.mac", self.run_("command", "show", sent["id"]))
        told = self.run_("command", "revoke", sent["id"])
        self.assertEqual(told, f"{sent['id']} is revoked\n")

    def test_a_payload_in_a_file(self) -> None:
        path = Path(self.mktemp())
        path.write_text('{"a": 1}')
        sent = self.said("command", "send", "n1", "cache.pull", "--payload", f"@{path}")
        self.assertEqual(sent["payload"], {"a": 1})

    def test_what_is_no_payload(self) -> None:
        for text in "{", "[]", "1":
            told = self.misused("command", "send", "n1", "cache.pull", "--payload", text)
            self.assertIn("--payload: not", told)
        self.assertIn("12h", self.misused("command", "send", "n1", "k", "--lifetime", "x"))

    def test_approving(self) -> None:
        key = generate("Ed25519")
        self.call("trust-set", body={"approvers": [dict(public_jwk(key))], "quorum": 1})
        self.do(runs, "disk.wipe")
        self.assertEqual(self.ended("batch", "list")[1:], ("", "no batches\n"))
        told = self.run_("command", "send", "n1", "disk.wipe", "--about", "the old one")
        batch = told.split()[-1]
        self.assertIn("it waits for approval", told)
        self.assertIn("the old one", self.run_("batch", "list"))
        [waiting] = self.said("batch", "show", batch)["commands"]
        path = Path(self.mktemp())
        path.write_text(approval(key, batch, [waiting["digest"]], NOW) + "\n")
        told = self.run_("approve", batch, "--approval", str(path))
        self.assertEqual(told, f"{batch}: 1 of 1 approvals; approved\n")
        self.assertEqual(self.said("batch", "list")["batches"], [])
        self.assertEqual(len(self.said("batch", "list", "--all")["batches"]), 1)
        path.write_text("nonsense")
        self.assertIn("bad-signature", self.wrong("approve", batch, "--approval", str(path)))
        self.assertIn("--approval FILE", self.misused("approve", batch))

    def test_approving_by_a_key(self) -> None:
        """What it would do is told, and that there is nothing left to approve."""
        key = generate("Ed25519")
        self.call("trust-set", body={"approvers": [dict(public_jwk(key))], "quorum": 1})
        self.do(runs, "disk.wipe")
        payload = json.dumps({"mode": "quick"})
        batch = self.run_("command", "send", "n1", "disk.wipe", "--payload", payload).split()[-1]
        path = Path(self.mktemp())
        path.touch(0o600)
        path.write_bytes(dumped(key))
        told = self.run_("approve", batch, "--key", str(path))
        self.assertIn('disk.wipe on n1: {"mode": "quick"}\n', told)
        self.assertIn("1 of 1 approvals; approved\n", told)
        self.assertIn("nothing to approve", self.wrong("approve", batch, "--key", str(path)))
        path.chmod(0o644)
        self.assertIn("others may read it", self.wrong("approve", batch, "--key", str(path)))


class WorkflowCase(CommandCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber", "n1"))
        self.run_("machine", "add", "m1", "ber")

    def begin(self, *names: str) -> None:
        """A workflow ``wf`` of such steps."""
        row = Workflow("wf", "wipe", "ber", "m1", {}, "admin", NOW, process="p")
        steps = [WorkflowStep("wf", number, name) for number, name in enumerate(names)]
        self.do(workflows.add, row, steps)

    def step(self, number: int, state: StepState, reason: str = "", command: str = "") -> None:
        row = WorkflowStep("wf", number, f"step-{number}", state, command or None, reason=reason)
        self.do(workflows.revise_step, "p", row)
        self.notices.tell("workflows", "wf")

    def finish(self, state: WorkflowState, reason: str = "", step: int = 0) -> None:
        self.do(workflows.finish, "wf", "p", step, state, reason, NOW)
        self.notices.tell("workflows", "wf")


class StartTests(WorkflowCase, SynchronousTestCase):
    def parameters(self, *argv: str) -> JSON:
        told = self.said(*argv)
        self.run_("workflow", "cancel", told["id"])
        self.do(forget, told["id"])
        made: JSON = told["parameters"]
        return made

    def test_what_they_say(self) -> None:
        self.assertEqual(
            self.parameters("deploy", "m1", "--image", "alma", "--user-data", "seed", "--wipe",
                            "quick", "--set", "expect_node=true", "--set", "args=a b"),
            {"image": "alma", "user_data_ref": "seed", "wipe": "quick", "expect_node": True,
             "args": "a b"},
        )  # fmt: skip
        self.assertEqual(self.parameters("inspect", "m1"), {})
        told = self.parameters("inspect", "m1", "--diagnose", "cpu,gpu")
        self.assertEqual(told, {"diagnose": ["cpu", "gpu"]})
        self.assertEqual(self.parameters("inspect", "m1", "--diagnose", "all"), {"diagnose": []})
        self.assertEqual(self.parameters("wipe", "m1", "--mode", "secure"), {"wipe": "secure"})
        self.assertEqual(self.parameters("power", "m1", "cycle"), {"action": "cycle"})

    def test_usage(self) -> None:
        self.assertIn("--image NAME", self.misused("deploy", "m1"))
        self.leaf("deploy", "m1", "--set", "url=u", "--set", "sha256=s")
        self.assertIn("which ACTION?", self.misused("power", "m1"))
        self.assertIn("KEY=VALUE", self.misused("wipe", "m1", "--set", "x"))

    def test_listing(self) -> None:
        told = self.run_("wipe", "m1")
        self.assertIn("rescriptum gateway watch wf-wipe", told)
        self.assertIn("wf-wipe", self.run_("workflow", "list", "--machine", "m1"))
        self.assertIn("wf-wipe", self.run_("workflow", "show", "wf-wipe"))


class WatchTests(WorkflowCase, SynchronousTestCase):
    def watch(self, out: StringIO, as_json: bool = False, plain: bool = False) -> "Deferred[int]":
        screen = Screen(out, StringIO(), as_json, plain)
        return Deferred.fromCoroutine(follow(self.gateway, screen, "wf"))

    def test_to_its_end(self) -> None:
        """A line for each step when it changes, and none twice."""
        self.begin("step-0", "step-1")
        out = StringIO()
        watching = self.watch(out)
        self.assertEqual(out.getvalue(), "")
        self.step(0, StepState.RUNNING)
        self.step(0, StepState.RUNNING)
        self.step(0, StepState.DONE)
        self.do(workflows.advance, "wf", "p", 0)
        self.step(1, StepState.FAILED, "timeout: no answer")
        self.finish(WorkflowState.FAILED, "step-1: timeout", 1)
        self.assertEqual(self.successResultOf(watching), 1)
        lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
        self.assertEqual(
            lines,
            [
                "> step-0 running",
                "+ step-0 done",
                "! step-1 failed: timeout: no answer",
                "wf is failed: step-1: timeout",
            ],
        )

    def test_one_that_is_over(self) -> None:
        self.begin("step-0")
        self.finish(WorkflowState.DONE)
        out = StringIO()
        self.assertEqual(self.successResultOf(self.watch(out)), 0)
        self.assertEqual(out.getvalue(), "wf is done\n")

    def test_one_that_is_none(self) -> None:
        failure = self.failureResultOf(self.watch(StringIO()), Told)
        self.assertEqual(failure.value.code, "not-found")

    def test_programs(self) -> None:
        """A document a change."""
        self.begin("step-0")
        out = StringIO()
        watching = self.watch(out, as_json=True)
        self.step(0, StepState.RUNNING)
        self.finish(WorkflowState.DONE)
        self.assertEqual(self.successResultOf(watching), 0)
        states = [json.loads(line)["steps"][0]["state"] for line in out.getvalue().splitlines()]
        self.assertEqual(states, ["waiting", "running", "running"])

    def test_a_terminal(self) -> None:
        self.begin("step-0")
        out = Terminal()
        watching = self.watch(out, plain=True)
        self.step(0, StepState.RUNNING)
        self.finish(WorkflowState.DONE)
        self.assertEqual(self.successResultOf(watching), 0)
        self.assertIn("wipe m1 (wf)", out.getvalue())
        self.assertIn("step-0", out.getvalue())

    def test_a_notice_that_was_lost(self) -> None:
        self.begin("step-0")
        out = StringIO()
        watching = self.watch(out)
        self.do(workflows.finish, "wf", "p", 0, WorkflowState.DONE, "", NOW)
        self.assertNoResult(watching)
        self.clock.advance(LOOK)
        self.assertEqual(self.successResultOf(watching), 0)

    def test_a_gateway_that_is_started_again(self) -> None:
        """Whoever follows goes on following."""
        self.begin("step-0")
        out = StringIO()
        watching = self.watch(out)
        self.connections.broken = Refused()
        self.interrupt()
        self.clock.advance(AGAIN)
        self.clock.advance(AGAIN)
        self.assertNoResult(watching)
        self.connections.broken = None
        self.finish(WorkflowState.DONE)
        self.clock.advance(AGAIN)
        self.assertEqual(self.successResultOf(watching), 0)

    def test_progress(self) -> None:
        step = {"number": 0, "name": "image.write", "state": "running", "reason": ""}
        told = describe({**step, "progress": {"done": 50, "total": 200}})
        self.assertTrue(told.endswith("[#####               ] 25 %"), told)
        much = {"bytes_per_s": 21_300_000, "seconds_left": 67, "number": 2, "disks": 3}
        told = describe({**step, "progress": {"done": 50, "total": 200, **much}})
        self.assertTrue(told.endswith("25 %, 21.3 MB/s, 1:07 left, disk 2 of 3"), told)
        none = {"bytes_per_s": "x", "seconds_left": -1, "number": None, "disks": []}
        told = describe({**step, "progress": {"done": 50, "total": 200, **none}})
        self.assertTrue(told.endswith("25 %"), told)
        told = describe({**step, "progress": {"what": "x"}})
        self.assertTrue(told.endswith('{"what": "x"}'), told)
        for odd in {"done": 5, "total": 0}, {"done": "a", "total": 1}, {"done": 9, "total": 3}:
            describe({**step, "progress": odd})


class EventTests(CommandCase, SynchronousTestCase):
    def happen(self, *subjects: str) -> None:
        for each in subjects:
            self.do(events.append, "site.changed", "ber", each, {}, NOW)
        self.notices.tell("events")

    def test_what_has_happened(self) -> None:
        self.happen("one", "two")
        told = self.run_("events", "--since", "1")
        self.assertNotIn("one", told)
        self.assertIn("two", told)
        self.assertEqual(len(self.said("events", "--subject", "one")["events"]), 1)
        self.assertIn("'x'", self.misused("events", "--since", "x"))

    def test_following(self) -> None:
        """Each once, also across a restart of the gateway."""
        self.happen("one")
        leaf = self.leaf("events", "--follow", "--json")
        out, err = StringIO(), StringIO()
        asking = Deferred.fromCoroutine(leaf.ask(self.gateway, Screen(out, err, True)))
        self.happen("two")
        self.interrupt()
        self.happen("three")
        self.clock.advance(AGAIN)
        self.happen("four")
        told = [json.loads(line)["subject"] for line in out.getvalue().splitlines()]
        self.assertEqual(told, ["one", "two", "three", "four"])
        self.assertIn("ended the event stream; following again", err.getvalue())
        asking.cancel()
        self.failureResultOf(asking)

    def test_silence(self) -> None:
        ended = Deferred.fromCoroutine(self.gateway.follow(lambda message: None))
        self.feed.stop()
        self.clock.advance(SILENCE)
        self.assertIsInstance(self.successResultOf(ended), Unavailable)


def runs(connection: Connection, kind: str) -> None:
    """The only kind that any agent runs."""
    connection.execute(update(tables.nodes).values(kinds=[kind]))


def forget(connection: Connection, workflow: str) -> None:
    connection.execute(delete(tables.workflows).where(tables.workflows.c.id == workflow))
