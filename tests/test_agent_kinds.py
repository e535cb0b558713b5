"""Tests for ``rescriptum.agent.kinds``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.kinds import Context, KindTable
from rescriptum.contract.commands import Result
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Rejected

from .agent_commands import command
from .agent_kinds import Destructive, Echo, FakeSurroundings, Words, fakes


class KindTableTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.table = KindTable(Role.SITE, fakes())

    def test_finds_by_name(self) -> None:
        self.assertIsInstance(self.table.find("test.echo"), Echo)

    def test_a_name_is_given_once(self) -> None:
        error = self.assertRaises(ValueError, KindTable, Role.SITE, [Echo(), Echo()])
        self.assertIn("test.echo", str(error))

    def test_refuses_what_it_does_not_know(self) -> None:
        with self.assertRaises(Rejected) as caught:
            self.table.find("boot.unheard")
        self.assertEqual(caught.exception.code, "unknown-kind")
        self.assertIn("boot.unheard", str(caught.exception))

    def test_refuses_what_is_for_others(self) -> None:
        with self.assertRaises(Rejected) as caught:
            self.table.find("test.destructive")
        self.assertEqual(caught.exception.code, "wrong-role")
        self.assertIn("ramdisk", str(caught.exception))
        self.assertIsInstance(
            KindTable(Role.RAMDISK, fakes()).find("test.destructive"), Destructive
        )

    def test_lists_what_it_runs(self) -> None:
        self.assertEqual(
            self.table.names, ("test.echo", "test.failing", "test.resuming", "test.slow")
        )

    def test_a_payload_becomes_a_value(self) -> None:
        self.assertEqual(self.table.payload(command(text="a")), Words("a"))

    def test_a_payload_that_does_not_fit_is_refused(self) -> None:
        for wrong in ({"text": 1}, {"txt": "a"}, {"text": None}):
            with self.assertRaises(Rejected) as caught:
                self.table.payload(command(**wrong))
            self.assertEqual(caught.exception.code, "invalid-payload")

    def test_only_kinds_that_can_are_asked_what_became_of_them(self) -> None:
        self.assertIsNone(self.table.resume("test.slow", "a", "b"))
        self.assertIsNone(self.table.resume("test.gone", "a", "b"))
        self.assertIsNone(self.table.resume("test.resuming", "a", "a"))
        self.assertEqual(self.table.resume("test.resuming", "a", "b"), Result(True, "ok"))


class ContextTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.around = FakeSurroundings(lease=7, secrets={"bmc": "hunter2"}, time=5.5)
        self.context = Context(command(), self.around)

    def test_says_what_it_is_part_of(self) -> None:
        context = self.context
        self.assertEqual((context.command_id, context.workflow, context.step), ("c1", "w1", "s1"))
        self.assertEqual((context.epoch, context.seconds(), context.cancelled), (7, 5.5, False))

    def test_the_epoch_is_the_present_one(self) -> None:
        self.around.lease = 9
        self.assertEqual(self.context.epoch, 9)

    def test_fetches_secrets_for_its_command(self) -> None:
        secret = self.successResultOf(self.context.secret("bmc", 7))
        self.assertTrue(secret.matches("hunter2"))
        self.assertEqual(self.around.asked, [("c1", "bmc", 7)])
        failure = self.failureResultOf(self.context.secret("other"), Rejected)
        self.assertEqual(failure.value.code, "secret-refused")

    def test_tells_how_far_it_has_come(self) -> None:
        self.context.progress({"percent": 5})
        self.assertEqual(self.around.progress, [("c1", {"percent": 5})])
