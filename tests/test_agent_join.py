"""Tests for ``rescriptum.agent.join``: what is told to whom, and what is believed of the answer."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.join import Applying, Asked, JoinPins, answered, asked
from rescriptum.contract.joining import (
    Attestor,
    JoinAnswer,
    Joined,
    Joining,
    JoinToken,
    Keys,
    Role,
    TrustBundle,
)
from rescriptum.contract.jose import digest, opened, sign, unseal
from rescriptum.contract.keys import Key, generate, pin, public_jwk, trusted
from rescriptum.contract.pins import Pin
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON, plain, structured

NOW = 1_700_000_000
SIGNING, ENCRYPTION, NODE = generate("Ed25519"), generate("X25519"), generate("Ed25519")
OTHER = generate("Ed25519")
KEYS = Keys(JSON(public_jwk(SIGNING)), JSON(public_jwk(ENCRYPTION)))
PINS = JoinPins(Pin.parse(pin(SIGNING)), Pin.parse(pin(ENCRYPTION)))
WHO = Applying(Role.SITE, "lyon", "hush-token", NODE, "boot-1")


def ask(keys: Keys = KEYS, pins: JoinPins = PINS, who: Applying = WHO) -> Asked:
    return asked(keys, pins, who, "nonce-1", NOW)


class AskedTests(SynchronousTestCase):
    def refused(self, keys: Keys, pins: JoinPins = PINS) -> Rejected:
        with self.assertRaises(Rejected) as caught:
            ask(keys, pins)
        error: Rejected = caught.exception
        return error

    def test_what_is_sent(self) -> None:
        """The token is sealed to the gateway, with the node key's thumbprint, and signed for."""
        request = ask().request
        jkt = NODE.thumbprint()
        self.assertEqual(
            structured(JoinToken, unseal(request.token, ENCRYPTION)),
            JoinToken("hush-token", "lyon", Role.SITE, jkt, "nonce-1", NOW),
        )
        signed = opened("joining", request.joining, trusted(NODE)).claims
        self.assertEqual(
            structured(Joining, signed),
            Joining(jkt, "nonce-1", digest(request.token.encode()), NOW),
        )
        self.assertEqual(request.node_key, public_jwk(NODE))
        self.assertEqual(
            (request.role, request.site, request.attestor, request.boot_id, request.attestation),
            (Role.SITE, "lyon", Attestor.TOKEN, "boot-1", None),
        )

    def test_a_discovered_machine(self) -> None:
        """With a site agent's assertion, that is the attestor."""
        who = evolve(WHO, role=Role.RAMDISK, attestation="a.b.c", inventory={"macs": []})
        request = ask(who=who).request
        self.assertIs(request.attestor, Attestor.DISCOVERY)
        self.assertEqual((request.attestation, request.inventory), ("a.b.c", {"macs": []}))

    def test_pins(self) -> None:
        """A key that is not the pinned one: nothing is sealed to it, and it is told which it is."""
        signing = evolve(KEYS, signing=JSON(public_jwk(OTHER)))
        error = self.refused(signing)
        self.assertEqual(error.code, "pin-mismatch")
        self.assertIn(f"signing key is {pin(OTHER)}", str(error))
        other = generate("X25519")
        error = self.refused(evolve(KEYS, encryption=JSON(public_jwk(other))))
        self.assertEqual(error.code, "pin-mismatch")
        self.assertIn(f"encryption key is {pin(other)}", str(error))

    def test_without_pins(self) -> None:
        """The connection vouches for both."""
        made = ask(pins=JoinPins())
        self.assertEqual(made.signing.thumbprint(), SIGNING.thumbprint())

    def test_keys(self) -> None:
        """Each is of its kind, pinned or not."""
        swapped = Keys(KEYS.encryption, KEYS.signing)
        private = evolve(KEYS, signing={**KEYS.signing, "d": "A" * 43})
        for keys in (swapped, private, Keys({}, {}), evolve(KEYS, encryption={"kty": "EC"})):
            for pins in (PINS, JoinPins()):
                self.assertEqual(self.refused(keys, pins).code, "invalid-key")

    def test_the_token_is_shown_to_nobody(self) -> None:
        """Neither by what asks nor by what is asked."""
        made = ask()
        for value in (WHO, made, made.request):
            self.assertNotIn("hush", repr(value))


class AnsweredTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.asking = ask()
        self.good = JoinAnswer(
            "n1", "lyon", NODE.thumbprint(), "nonce-1", TrustBundle(), 3, issued_at=NOW
        )

    def answer(self, answer: JoinAnswer, by: Key = SIGNING, what: str = "join") -> JoinAnswer:
        return answered(self.asking, Joined(sign(what, plain(answer), by)))

    def code(self, answer: JoinAnswer, by: Key = SIGNING, what: str = "join") -> str:
        with self.assertRaises(Rejected) as caught:
            self.answer(answer, by, what)
        error: Rejected = caught.exception
        return error.code

    def test_a_good_one(self) -> None:
        """It may be stored."""
        approver = JSON(public_jwk(OTHER))
        for bundle in (TrustBundle(), TrustBundle((approver,), (approver,), 1)):
            answer = evolve(self.good, trust_bundle=bundle)
            self.assertEqual(self.answer(answer), answer)

    def test_each_step_in_its_order(self) -> None:
        """Each fails once; what comes later is wrong as well, and is not told."""
        wrong = evolve(
            self.good,
            jkt="other",
            nonce="other",
            site="other",
            trust_bundle=TrustBundle((), ({"kty": "EC"},), 2),
        )
        self.assertEqual(self.code(wrong, what="worker"), "wrong-type")
        self.assertEqual(self.code(wrong, by=OTHER), "unknown-key")
        self.assertEqual(self.code(wrong, by=NODE), "unknown-key")
        self.assertEqual(self.code(wrong), "key-mismatch")
        wrong = evolve(wrong, jkt=self.good.jkt)
        self.assertEqual(self.code(wrong), "replayed")
        wrong = evolve(wrong, nonce=self.good.nonce)
        self.assertEqual(self.code(wrong), "wrong-site")
        wrong = evolve(wrong, site=self.good.site)
        self.assertEqual(self.code(wrong), "invalid-key")
        twice = (JSON(public_jwk(OTHER)),) * 2
        wrong = evolve(wrong, trust_bundle=TrustBundle((), twice, 2))
        self.assertEqual(self.code(wrong), "invalid-message")

    def test_changed_on_the_way(self) -> None:
        """A signature that does not hold, and an answer that says more than it may."""
        signed = sign("join", plain(self.good), SIGNING)
        head, _, rest = signed.partition(".")
        body, _, signature = rest.partition(".")
        other = sign("join", plain(evolve(self.good, node_id="n2")), SIGNING).split(".")[1]
        for text in (f"{head}.{other}.{signature}", f"{head}.{body}.AAAA", signed[:-4]):
            with self.assertRaises(Rejected) as caught:
                answered(self.asking, Joined(text))
            self.assertEqual(caught.exception.code, "bad-signature")
        more = sign("join", {**plain(self.good), "extra": 1}, SIGNING)
        with self.assertRaises(Rejected) as caught:
            answered(self.asking, Joined(more))
        self.assertEqual(caught.exception.code, "invalid-message")

    @given(st.text(min_size=1, max_size=300))
    def test_garbage(self, text: str) -> None:
        """Whatever is answered is refused, and nothing else."""
        with self.assertRaises(Rejected):
            answered(ask(), Joined(text))
