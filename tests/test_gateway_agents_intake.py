"""Tests for ``rescriptum.gateway.agents.intake``."""

from functools import partial

from rescriptum.contract.commands import Result
from rescriptum.contract.frames import (
    FRAMES,
    Accepted,
    Ack,
    AgentFrame,
    Heartbeat,
    Journalled,
    Refused,
    Release,
    ResultFrame,
    Status,
)
from rescriptum.contract.joining import Role
from rescriptum.contract.jose import digest, sign
from rescriptum.contract.keys import generate
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.reports import Discovered, Progress, SectionStatus, State, StatusReport
from rescriptum.contract.structure import JSON, plain
from rescriptum.gateway.agents.intake import TOLD, take
from rescriptum.gateway.records import CommandState
from rescriptum.gateway.stores import commands, discovered, nodes, sessions
from tests.gatewaycases import NOW, SITE, GatewayCase

DONE = Result(True, "ok", data={"n": 1})


class IntakeCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.node()
        self.session()

    def take(self, *frames: AgentFrame, session: str = "s1") -> Accepted:
        token, now = digest(session.encode()), int(self.now())
        work = self.database.run(lambda c: take(c, session, token, frames, now))
        return self.done(work).accepted

    def kinds(self) -> list[str]:
        return [each.kind for each in self.events()]


class SessionTests(IntakeCase):
    def test_whoever_says_something_was_heard(self) -> None:
        self.clock.advance(7)
        self.take()
        row = self.run_(lambda connection: sessions.get(connection, "s1"))
        assert row is not None
        self.assertEqual(row.heard_at, NOW + 7)

    def test_who_has_no_session_is_not(self) -> None:
        for session, token, code in (
            ("s1", "wrong", "unknown-session"),
            ("s9", "s9", "unknown-session"),
        ):
            work = partial(
                take, session=session, token_digest=digest(token.encode()), frames=[], now=NOW
            )
            with self.assertRaises(Rejected) as caught:
                self.run_(work)
            self.assertEqual(caught.exception.code, code)
        self.session("s2")
        with self.assertRaises(Rejected) as caught:
            self.take()
        self.assertEqual(caught.exception.code, "superseded")


class LeaseTests(IntakeCase):
    def test_a_heartbeat_is_acknowledged_once_it_is_recorded(self) -> None:
        epoch = self.grant()
        self.assertEqual(self.take(Heartbeat(41, epoch)).ack, Ack(41, epoch))
        self.assertEqual(self.lease().beat, 1)

    def test_of_several_the_newest_counts(self) -> None:
        epoch = self.grant()
        accepted = self.take(Heartbeat(41, epoch), Heartbeat(42, epoch))
        self.assertEqual((accepted.ack, self.lease().beat), (Ack(42, epoch), 1))

    def test_nothing_is_proved_by_another_session_or_epoch(self) -> None:
        epoch = self.grant()
        self.node("n2")
        self.session("s2", "n2")
        self.assertIsNone(self.take(Heartbeat(1, epoch), session="s2").ack)
        self.assertIsNone(self.take(Heartbeat(1, epoch + 1)).ack)
        self.assertIsNone(self.take(Heartbeat(1, 0)).ack)
        self.assertEqual(self.lease().beat, 0)

    def test_a_release_is_answered_whether_it_frees_or_not(self) -> None:
        epoch = self.grant()
        self.session("s2")  # of the same node, which gives up what its session before had
        self.assertEqual(self.take(Release(epoch + 1), session="s2").released, (epoch + 1,))
        self.assertEqual(self.lease().holder, "s1")
        self.assertEqual(self.take(Release(epoch), session="s2").released, (epoch,))
        self.assertIsNone(self.lease().holder)
        self.assertEqual(self.take(Release(epoch), session="s2").released, (epoch,))


class CommandTests(IntakeCase):
    def test_from_journal_to_result(self) -> None:
        self.command()
        self.assertEqual(self.take(Journalled("c1")).journalled, ("c1",))
        self.assertIs(self.state(), CommandState.JOURNALLED)
        self.assertEqual(self.take(ResultFrame("c1", DONE, NOW)).results, ("c1",))
        self.assertIs(self.state(), CommandState.DONE)
        self.assertEqual(self.take(ResultFrame("c1", DONE, NOW)).results, ("c1",))
        self.assertEqual(self.kinds(), ["command.done"])

    def test_another_result_is_an_alarm_and_is_answered(self) -> None:
        self.command()
        self.take(ResultFrame("c1", DONE, NOW))
        self.assertEqual(
            self.take(ResultFrame("c1", Result(False, "failed"), NOW)).results, ("c1",)
        )
        self.assertIs(self.state(), CommandState.DONE)
        [_, alarm] = self.events()
        self.assertEqual((alarm.kind, alarm.data["code"]), ("frame.refused", "conflicting-result"))
        self.assertEqual((alarm.subject, alarm.data["about"]), ("n1", "c1"))

    def test_a_refusal_is_recorded_with_its_code(self) -> None:
        self.command()
        accepted = self.take(Refused("c1", "unknown-kind", "power.off"), Refused("", "too-large"))
        self.assertEqual(accepted.results, ("c1", ""))
        row = self.run_(lambda connection: commands.get(connection, "c1"))
        self.assertIs(row.state, CommandState.REFUSED)
        assert row.result is not None
        self.assertEqual(row.result.code, "unknown-kind")
        self.assertEqual(self.kinds(), ["command.refused", "frame.refused"])

    def test_what_is_refused_again_and_again_is_told_in_a_few_events(self) -> None:
        """An agent that says nothing right holds up nobody, and pushes no other event out."""
        frames = [Refused(f"c{number}", "busy") for number in range(FRAMES)]
        self.assertEqual(len(self.take(*frames).results), FRAMES)
        found = self.events()
        self.assertEqual([each.kind for each in found], ["frame.refused"] * (TOLD + 1))
        self.assertEqual(found[-1].data, {"node": "n1", "more": FRAMES - TOLD})

    def test_what_is_another_nodes_is_refused_and_the_rest_is_taken(self) -> None:
        self.node("n2")
        self.command("c2", "n2")
        self.command()
        accepted = self.take(
            Journalled("c2"),
            ResultFrame("c2", DONE, NOW),
            Refused("c2", "expired"),
            Journalled("nothing"),
            Journalled("c1"),
        )
        self.assertEqual(accepted.journalled, ("c2", "nothing", "c1"))
        self.assertIs(self.state("c2"), CommandState.QUEUED)
        self.assertIs(self.state("c1"), CommandState.JOURNALLED)
        codes = [each.data["code"] for each in self.events()]
        self.assertEqual(codes, ["wrong-node", "wrong-node", "wrong-node", "not-found"])


class AttestationTests(IntakeCase):
    def attested(self, **changes: object) -> ResultFrame:
        row = self.run_(lambda connection: commands.get(connection, "c1"))
        said: JSON = {
            "command_id": "c1",
            "command_digest": row.digest,
            "node_id": "n1",
            "boot_id": "b",
            "result": plain(DONE),
            "finished_at": NOW,
        }
        text = sign("result", {**said, **changes}, self.keys["n1"])
        return ResultFrame("c1", DONE, NOW, text)

    def test_a_right_one(self) -> None:
        self.command(attested=True)
        frame = self.attested()
        self.take(frame)
        row = self.run_(lambda connection: commands.get(connection, "c1"))
        self.assertEqual((row.state, row.attestation), (CommandState.DONE, frame.attestation))

    def test_each_step_refuses(self) -> None:
        self.command(attested=True)
        other = sign("result", {}, generate("Ed25519"))
        for frame, code in (
            (ResultFrame("c1", DONE, NOW), "bad-signature"),
            (ResultFrame("c1", DONE, NOW, other), "unknown-key"),
            (self.attested(command_id="c2"), "bad-signature"),
            (self.attested(node_id="n2"), "bad-signature"),
            (self.attested(command_digest="sha256:0"), "bad-signature"),
            (self.attested(result=plain(Result(False, "failed"))), "bad-signature"),
            (self.attested(more=1), "invalid-message"),
        ):
            self.assertEqual(self.take(frame).results, ("c1",))
            self.assertEqual(self.events()[-1].data["code"], code)
        self.assertIs(self.state(), CommandState.QUEUED)


class StatusTests(IntakeCase):
    def test_what_has_changed_is_kept_and_changes_of_state_are_told(self) -> None:
        self.command()
        ready = SectionStatus("site", State.READY)
        report = StatusReport(
            (ready,), {"cpus": 2}, (Discovered("52:54:00:00:00:01"),), (Progress("c1", {"n": 1}),)
        )
        self.take(Status(report))
        self.take(Status(StatusReport((ready,))))
        self.take(Status(StatusReport((SectionStatus("site", State.FAILED, "no port"),))))
        node = self.run_(lambda connection: nodes.get(connection, "n1"))
        self.assertEqual((node.sections[0].reason, node.inventory), ("no port", {"cpus": 2}))
        row = self.run_(lambda connection: commands.get(connection, "c1"))
        self.assertEqual(row.progress, {"n": 1})
        found = self.run_(lambda connection: discovered.listing(connection, SITE, NOW)).items
        self.assertEqual(len(found), 1)
        told = [(each.kind, each.data["state"]) for each in self.events()]
        self.assertEqual(told, [("node.section", "ready"), ("node.section", "failed")])

    def test_a_report_over_its_bound_is_refused_whole_and_the_rest_is_taken(self) -> None:
        epoch = self.grant()
        much = StatusReport(
            (SectionStatus("site", State.READY),), {"x": "y" * (nodes.INVENTORY + 1)}
        )
        self.assertEqual(self.take(Heartbeat(1, epoch), Status(much)).ack, Ack(1, epoch))
        node = self.run_(lambda connection: nodes.get(connection, "n1"))
        self.assertEqual((node.sections, node.inventory), ((), None))
        self.assertEqual(self.events()[-1].data["code"], "too-large")

    def test_what_was_written_of_a_refused_report_goes_with_it(self) -> None:
        self.command()
        far = Progress("c1", {"x": "y" * (commands.PROGRESS + 1)})
        self.take(Status(StatusReport((SectionStatus("site", State.READY),), progress=(far,))))
        node = self.run_(lambda connection: nodes.get(connection, "n1"))
        self.assertEqual(node.sections, ())
        self.assertEqual(self.kinds(), ["frame.refused"])

    def test_only_site_agents_discover(self) -> None:
        self.node("n2", Role.RAMDISK)
        self.session("s2", "n2", boots=False)
        found = StatusReport(discovered=(Discovered("52:54:00:00:00:01"),))
        self.take(Status(found), session="s2")
        kept = self.run_(lambda connection: discovered.listing(connection, SITE, NOW)).items
        self.assertEqual(kept, ())
