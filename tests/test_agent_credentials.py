"""Tests for ``rescriptum.agent.credentials``: secrets are in memory only, and not for long."""

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.credentials import KEPT, Credentials
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import SecretAnswer, SecretRequest
from rescriptum.values import Secret
from tests.agent_commands import command


def request(ref: str = "token-1", epoch: int = 0) -> SecretRequest:
    return SecretRequest(ref, "w1", "s1", "c1", epoch)


class CredentialsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.asked: list[SecretRequest] = []
        self.answers: list[Deferred[SecretAnswer]] = []
        self.credentials = Credentials(self.ask)

    async def ask(self, asked: SecretRequest) -> SecretAnswer:
        self.asked.append(asked)
        if self.answers:
            return await self.answers[-1]
        return SecretAnswer(f"hush {len(self.asked)}")

    def kept(self, ref: str = "token-1", epoch: int = 0) -> Secret:
        asking = Deferred.fromCoroutine(self.credentials.kept(request(ref, epoch)))
        return self.successResultOf(asking)

    def test_of_a_command(self) -> None:
        """Asked in the command's name, each time anew."""
        for turn in (1, 2):
            asking = Deferred.fromCoroutine(
                self.credentials.of_command(command("c1"), "bmc-7", epoch=3)
            )
            self.assertTrue(self.successResultOf(asking).matches(f"hush {turn}"))
        self.assertEqual(self.asked, [SecretRequest("bmc-7", "w1", "s1", "c1", 3)] * 2)
        self.assertEqual(len(self.credentials), 0)

    def test_kept(self) -> None:
        """Once for each reference, under the epoch that there is."""
        self.credentials.serve(3)
        for _ in range(2):
            self.assertTrue(self.kept(epoch=3).matches("hush 1"))
        self.assertTrue(self.kept("token-2", 3).matches("hush 2"))
        self.assertEqual(len(self.asked), 2)

    def test_the_epoch_changes(self) -> None:
        """All are forgotten; the same epoch again changes nothing."""
        self.credentials.serve(3)
        self.kept(epoch=3)
        self.credentials.serve(3)
        self.assertEqual(len(self.credentials), 1)
        for epoch in (0, 4):
            self.credentials.serve(epoch)
            self.assertEqual(len(self.credentials), 0)
        self.kept(epoch=4)
        self.assertEqual(len(self.asked), 2)

    def test_another_epoch(self) -> None:
        """What is of an epoch that is not there, or is over by the answer, is not kept."""
        self.credentials.serve(3)
        self.kept(epoch=2)
        self.assertEqual(len(self.credentials), 0)
        self.answers.append(Deferred())
        asking = Deferred.fromCoroutine(self.credentials.kept(request(epoch=3)))
        self.credentials.serve(4)
        self.answers[-1].callback(SecretAnswer("late"))
        self.assertTrue(self.successResultOf(asking).matches("late"))
        self.assertEqual(len(self.credentials), 0)

    def test_so_many(self) -> None:
        """The one that was asked for first goes."""
        for number in range(KEPT + 1):
            self.kept(f"token-{number}")
        self.assertEqual(len(self.credentials), KEPT)
        self.kept("token-0")
        self.assertEqual(len(self.asked), KEPT + 2)

    def test_refused(self) -> None:
        """What the gateway refuses is not remembered either."""
        self.answers.append(Deferred())
        asking = Deferred.fromCoroutine(self.credentials.kept(request()))
        self.answers[-1].errback(Rejected("stale-epoch"))
        self.failureResultOf(asking, Rejected)
        self.assertEqual(len(self.credentials), 0)

    def test_shown_to_nobody(self) -> None:
        """Neither the secret nor what keeps it."""
        secret = self.kept()
        self.assertNotIn("hush", f"{secret!r} {self.credentials!r} {SecretAnswer('hush')!r}")
