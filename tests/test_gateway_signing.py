"""Tests for ``rescriptum.gateway.signing``."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import LONGEST_COMMAND, Command
from rescriptum.contract.jose import digest, opened, sign
from rescriptum.contract.keys import generate, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.gateway.signing import Draft, Worker, enveloped

NOW = 1_800_000_000
ROOT, KEY, OTHER = generate("Ed25519"), generate("Ed25519"), generate("Ed25519")
COMMAND = Command("c1", "node-1", "power.off", {"name": "ü"}, "w1", "s1", NOW, NOW + 600)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


def certificate(**changes: object) -> str:
    said: dict[str, object] = {
        "jwk": public_jwk(KEY),
        "not_before": NOW,
        "not_after": NOW + 86_400,
        "kinds": ["power.off"],
    }
    return sign("worker", {**said, **changes}, ROOT)


class SigningTests(SynchronousTestCase):
    def worker(self, **changes: object) -> Worker:
        return Worker.certified(KEY, certificate(**changes), trusted(ROOT))

    def test_a_signed_command_has_the_digest_of_its_draft(self) -> None:
        draft = Draft.of(COMMAND)
        envelope = enveloped(draft, self.worker(), NOW, ["a1"])
        said = opened("command", envelope.signed, trusted(KEY))
        self.assertEqual((said.payload, digest(said.payload)), (draft.octets, draft.digest))
        self.assertEqual((envelope.unsigned, envelope.approvals), (None, ("a1",)))
        self.assertEqual(envelope.certificate, self.worker().certificate)

    def test_without_roots_the_same_octets_come_unsigned(self) -> None:
        draft = Draft.of(COMMAND)
        envelope = enveloped(draft, None, NOW)
        assert envelope.unsigned is not None
        self.assertEqual(digest(envelope.unsigned.encode()), draft.digest)
        self.assertEqual((envelope.signed, envelope.certificate), (None, None))

    @given(st.dictionaries(st.text(max_size=9), _JSON, max_size=4))
    def test_what_is_stored_is_what_is_signed(self, payload: dict[str, object]) -> None:
        """Approvals came for these octets, maybe days before."""
        draft = Draft.stored(Draft.of(evolve(COMMAND, payload=payload)).octets)
        signed = enveloped(draft, self.worker(), NOW).signed
        self.assertEqual(opened("command", signed, trusted(KEY)).payload, draft.octets)

    def test_a_draft_of_another_release(self) -> None:
        """Approved as it was written then: its octets are signed, not what would be written now."""
        written = Draft.of(COMMAND).octets.replace(b',"attested":false', b"")
        draft = Draft.stored(written)
        self.assertEqual(draft.command, COMMAND)
        signed = enveloped(draft, self.worker(), NOW).signed
        self.assertEqual(digest(opened("command", signed, trusted(KEY)).payload), draft.digest)

    def test_a_worker_needs_a_certificate_of_a_root(self) -> None:
        for code, key, text in (
            ("unknown-key", KEY, sign("worker", {}, OTHER)),
            ("wrong-type", KEY, sign("command", {}, ROOT)),
            ("key-mismatch", OTHER, certificate()),
            ("invalid-message", KEY, certificate(more=1)),
        ):
            error = self.assertRaises(Rejected, Worker.certified, key, text, trusted(ROOT))
            self.assertEqual(error.code, code)

    def test_a_worker_signs_what_it_may_when_it_may(self) -> None:
        worker, draft = self.worker(), Draft.of(COMMAND)
        enveloped(draft, worker, NOW + 86_399)
        for now in (NOW - 1, NOW + 86_400):
            error = self.assertRaises(Rejected, enveloped, draft, worker, now)
            self.assertEqual(error.code, "bad-signature")
        other = Draft.of(evolve(COMMAND, kind="disk.wipe"))
        self.assertRaises(Rejected, enveloped, other, worker, NOW)

    def test_a_command_has_a_bound(self) -> None:
        room = LONGEST_COMMAND - 1024 - len(Draft.of(evolve(COMMAND, payload={"x": ""})).octets)
        Draft.of(evolve(COMMAND, payload={"x": "y" * room}))
        too_much = evolve(COMMAND, payload={"x": "y" * (room + 1)})
        self.assertEqual(self.assertRaises(Rejected, Draft.of, too_much).code, "too-large")
