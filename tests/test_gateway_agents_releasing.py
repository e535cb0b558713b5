"""Tests for ``rescriptum.gateway.agents.releasing``."""

from functools import partial

from attrs import evolve

from rescriptum.contract.commands import Result
from rescriptum.contract.jose import digest
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import SecretRequest
from rescriptum.gateway.agents.releasing import release
from rescriptum.gateway.stores import commands, secrets
from tests.gatewaycases import NOW, GatewayCase

ASKED = SecretRequest("bmc-1", "w1", "st1", "c1")
TOKEN = SecretRequest("join-w1", "w1", "st1", "c1", 1)


class ReleasingCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.node()
        self.session()
        for name in ("bmc-1", "join-w1"):
            self.run_(partial(secrets.put, name=name, sealed=name.encode(), now=NOW))

    def ask(self, asked: SecretRequest, session: str = "s1") -> bytes:
        token, now = digest(session.encode()), int(self.now())
        return self.run_(lambda connection: release(connection, session, token, asked, now))

    def refused(self, code: str, asked: SecretRequest, session: str = "s1") -> None:
        with self.assertRaises(Rejected) as caught:
            self.ask(asked, session)
        self.assertEqual(caught.exception.code, code)

    def deliver(self) -> None:
        self.run_(lambda connection: commands.delivered(connection, ["c1"], NOW))

    def finish(self, result: Result) -> None:
        self.run_(lambda connection: commands.finished(connection, "c1", "n1", result, NOW))


class SecretTests(ReleasingCase):
    def setUp(self) -> None:
        super().setUp()
        self.command(secret_refs=("bmc-1", "gone"))
        self.deliver()

    def test_an_agent_has_what_its_command_names(self) -> None:
        self.assertEqual(self.ask(ASKED), b"bmc-1")
        [event] = self.events()
        self.assertEqual((event.kind, event.subject), ("secret.released", "c1"))
        self.assertEqual(event.data, {"node": "n1", "secret": "bmc-1", "epoch": 0})

    def test_each_step_refuses(self) -> None:
        self.refused("secret-refused", evolve(ASKED, command_id="c9"))
        self.refused("secret-refused", evolve(ASKED, workflow="w2"))
        self.refused("secret-refused", evolve(ASKED, step="st2"))
        self.refused("secret-refused", evolve(ASKED, ref="join-w1"))
        self.refused("not-found", evolve(ASKED, ref="gone"))
        self.node("n2")
        self.session("s2", "n2")
        self.refused("secret-refused", ASKED, "s2")
        self.refused("unknown-session", ASKED, "s9")
        self.assertEqual(self.events(), [])

    def test_nothing_is_told_of_a_command_that_is_over(self) -> None:
        self.finish(Result(True, "ok"))
        self.refused("secret-refused", ASKED)

    def test_nothing_is_told_of_a_command_that_nobody_has(self) -> None:
        self.command("c2", secret_refs=("bmc-1",))
        self.refused("secret-refused", evolve(ASKED, command_id="c2"))


class TokenTests(ReleasingCase):
    def setUp(self) -> None:
        super().setUp()
        payload = {"token_ref": "join-w1", "epoch": 1, "not_after": NOW + 100}
        self.command(payload=payload, secret_refs=("join-w1",), kind="boot.prepareRamdisk")
        self.deliver()

    def test_the_holder_alone_hands_over_tokens(self) -> None:
        self.refused("stale-epoch", TOKEN)
        self.assertEqual(self.grant(), 1)
        self.assertEqual(self.ask(TOKEN), b"join-w1")
        self.refused("stale-epoch", evolve(TOKEN, epoch=2))
        self.refused("stale-epoch", evolve(TOKEN, epoch=0))
        self.session("s2")
        self.refused("stale-epoch", TOKEN, "s2")

    def test_a_token_is_asked_for_after_its_entry_is_in_place(self) -> None:
        self.grant()
        self.finish(Result(True, "ok"))
        self.assertEqual(self.ask(TOKEN), b"join-w1")
        self.clock.advance(99)
        self.ask(TOKEN)
        self.clock.advance(1)
        self.refused("secret-refused", TOKEN)

    def test_an_entry_that_never_was_hands_over_nothing(self) -> None:
        self.grant()
        self.finish(Result(False, "failed"))
        self.refused("secret-refused", TOKEN)
