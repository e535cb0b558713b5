"""Tests for ``rescriptum.gateway.joining``."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import Attestor, JoinRequest, Role
from rescriptum.contract.jose import digest, seal, sign
from rescriptum.contract.keys import generate, private_jwk, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.gateway.joining import Applicant, applicant, attested, attestor_fits, in_time

NOW = 1_800_000_000
NODE, OTHER, AGENT = generate("Ed25519"), generate("Ed25519"), generate("Ed25519")
ENCRYPTION = generate("X25519")
TOKEN = {
    "token": "secret",
    "site": "lab",
    "role": "site",
    "jkt": NODE.thumbprint(),
    "nonce": "n1",
    "issued_at": NOW,
}
INVENTORY: dict[str, object] = {"macs": ["52-54-00-AA-BB-CC"], "uuid": "ABCD"}
ASSERTION = {
    "mac": "52:54:00:aa:bb:cc",
    "ip": "192.0.2.9",
    "uuid": "abcd",
    "site": "lab",
    "token_digest": digest(b"secret"),
    "epoch": 7,
    "issued_at": NOW,
    "not_after": NOW + 900,
    "purpose": "discovery-assertion",
}


def request(
    token: dict[str, object] | None = None, said: dict[str, object] | None = None, **changes: object
) -> JoinRequest:
    """:returns: a right one, but for what is said."""
    sealed = seal({**TOKEN, **(token or {})}, ENCRYPTION)
    joining = {
        "jkt": NODE.thumbprint(),
        "nonce": "n1",
        "token_digest": digest(sealed.encode()),
        "issued_at": NOW,
    }
    made = JoinRequest(
        role=Role.SITE,
        site="lab",
        attestor=Attestor.TOKEN,
        token=sealed,
        joining=sign("joining", {**joining, **(said or {})}, NODE),
        node_key=dict(public_jwk(NODE)),
        boot_id="b",
    )
    return evolve(made, **changes)  # type: ignore[arg-type]


class ApplicantTests(SynchronousTestCase):
    def refused(self, code: str, request: JoinRequest, now: int = NOW) -> None:
        error = self.assertRaises(Rejected, applicant, request, ENCRYPTION, now)
        self.assertEqual(error.code, code)

    def test_a_right_request(self) -> None:
        who = applicant(request(), ENCRYPTION, NOW + 300)
        self.assertEqual((who.jkt, who.nonce), (NODE.thumbprint(), "n1"))
        self.assertEqual(who.token_digest, digest(b"secret"))

    def test_each_step_refuses_by_its_code(self) -> None:
        self.refused("invalid-key", request(node_key=dict(private_jwk(NODE))))
        self.refused("invalid-key", request(node_key=dict(public_jwk(ENCRYPTION))))
        self.refused("unknown-key", request(node_key=dict(public_jwk(OTHER))))
        self.refused("wrong-type", request(joining=sign("hello", {}, NODE)))
        self.refused("key-mismatch", request(said={"jkt": OTHER.thumbprint()}))
        self.refused("bad-token", request(said={"token_digest": digest(b"other")}))
        self.refused("stale", request(), NOW + 301)
        self.refused("stale", request(), NOW - 301)
        self.refused("invalid-message", request(said={"more": 1}))
        self.refused("invalid-message", request({"more": 1}))
        self.refused("wrong-site", request({"site": "elsewhere"}))
        self.refused("wrong-role", request({"role": "node"}))
        self.refused("key-mismatch", request({"jkt": OTHER.thumbprint()}))
        self.refused("bad-token", request({"nonce": "n2"}))

    def test_possession_is_proved_before_the_token_is_opened(self) -> None:
        """Whoever has no key learns nothing of what the token holds."""
        self.refused("unknown-key", request({"site": "x"}, joining=sign("joining", {}, OTHER)))
        sealed = seal(TOKEN, generate("X25519"))
        elsewhere = request(said={"token_digest": digest(sealed.encode())})
        self.refused("bad-token", evolve(elsewhere, token=sealed))

    @given(st.text(max_size=300), st.text(max_size=300))
    def test_whatever_is_sent_is_refused_by_a_code(self, token: str, joining: str) -> None:
        if token and joining:
            with self.assertRaises(Rejected):
                applicant(request(joining=joining), ENCRYPTION, NOW)
            with self.assertRaises(Rejected):
                told = {"token_digest": digest(token.encode("utf-8", "surrogatepass"))}
                applicant(evolve(request(said=dict(told)), token=token), ENCRYPTION, NOW)

    def test_times_are_within_five_minutes(self) -> None:
        in_time(NOW, NOW + 300)
        in_time(NOW, NOW - 300)
        self.assertRaises(Rejected, in_time, NOW, NOW + 301)


class AssertionTests(SynchronousTestCase):
    def who(self, inventory: dict[str, object] | None = INVENTORY, **changes: object) -> Applicant:
        text = sign("discovery", {**ASSERTION, **changes}, AGENT)
        return applicant(request(attestation=text, inventory=inventory), ENCRYPTION, NOW)

    def refused(self, code: str, who: Applicant, now: int = NOW) -> None:
        error = self.assertRaises(Rejected, attested, who, trusted(AGENT), now)
        self.assertEqual(error.code, code)

    def test_a_right_assertion(self) -> None:
        kid, assertion = attested(self.who(), trusted(AGENT), NOW)
        self.assertEqual((kid, assertion.epoch), (AGENT.thumbprint(), 7))

    def test_a_machine_that_cannot_say_what_it_is(self) -> None:
        """Its hardware could not be read: the token and the assertion are what there is."""
        attested(self.who(None), trusted(AGENT), NOW)
        attested(self.who({"macs": ["525400aabbcc"]}), trusted(AGENT), NOW)
        attested(self.who(uuid=""), trusted(AGENT), NOW)

    def test_each_step_refuses_by_its_code(self) -> None:
        self.refused("bad-assertion", applicant(request(), ENCRYPTION, NOW))
        error = self.assertRaises(Rejected, attested, self.who(), trusted(OTHER), NOW)
        self.assertEqual(error.code, "unknown-key")
        self.refused("bad-assertion", self.who(purpose="something"))
        self.refused("wrong-site", self.who(site="elsewhere"))
        self.refused("stale", self.who(), NOW + 900)
        self.refused("stale", self.who(issued_at=NOW + 301))
        self.refused("bad-assertion", self.who(token_digest=digest(b"other")))
        self.refused("bad-assertion", self.who(mac="52:54:00:aa:bb:cd"))
        self.refused("bad-assertion", self.who({"macs": "52:54:00:aa:bb:cc"}))
        self.refused("bad-assertion", self.who(uuid="abce"))
        self.refused("invalid-message", self.who(more=1))

    def test_tokens_of_one_kind_are_none_of_the_other(self) -> None:
        attestor_fits(Attestor.TOKEN, None)
        attestor_fits(Attestor.DISCOVERY, "rack-1")
        for attestor, machine in ((Attestor.TOKEN, "rack-1"), (Attestor.DISCOVERY, None)):
            error = self.assertRaises(Rejected, attestor_fits, attestor, machine)
            self.assertEqual(error.code, "bad-assertion")
