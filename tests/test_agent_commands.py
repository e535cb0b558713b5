"""Tests for ``rescriptum.agent.commands``: each step of the verification fails once."""

import base64
from collections.abc import Sequence
from typing import TypeVar

from attrs import Factory, evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.commands import (
    Accepted,
    Known,
    Trust,
    TrustedTime,
    admitted,
    named,
    verified,
)
from rescriptum.agent.journal import Entry, State
from rescriptum.agent.kinds import KindTable
from rescriptum.contract.commands import (
    LONGEST_CERTIFICATE,
    LONGEST_LIFE,
    SKEW,
    Approval,
    Command,
    Envelope,
    Result,
    WorkerCertificate,
)
from rescriptum.contract.joining import Role, TrustBundle
from rescriptum.contract.jose import digest, sign
from rescriptum.contract.keys import Key, generate, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON, plain, rendered, structured
from tests.agent_kinds import Echo

_T = TypeVar("_T")
NOW = 1_700_000_000
MADE = NOW - 1000
ROOT, WORKER, NODE = generate("Ed25519"), generate("Ed25519"), generate("Ed25519")
APPROVERS = [generate("Ed25519") for _ in range(3)]
STRANGER = generate("Ed25519")
KINDS = KindTable(
    Role.SITE,
    [
        Echo("boot.clear"),
        Echo("test.wipe", destructive=True),
        Echo("test.kexec", roles=frozenset((Role.RAMDISK,))),
    ],
)
COMMAND = Command(
    "c1", "n1", "test.wipe", {"text": "x"}, "w1", "s1", NOW - 10, NOW + 600, attested=True
)
CERTIFICATE = WorkerCertificate(
    JSON(public_jwk(WORKER)), NOW - 100, NOW + 100, ("test.wipe", "boot.clear", "test.kexec", "no")
)
TRUST = Trust(trusted(ROOT), trusted(*APPROVERS), 2)


@frozen
class Sent:
    """
    A command as its sender makes it; each test spoils a part of it.

    :ivar agree: who approves, and of what, until when.
    """

    command: Command = COMMAND
    certificate: WorkerCertificate = CERTIFICATE
    by: Key = WORKER
    certified_by: Key = ROOT
    what: str = "command"
    certified_as: str = "worker"
    agree: Sequence[tuple[Key, str, int]] = (
        (APPROVERS[0], "", NOW + 60),
        (APPROVERS[1], "", NOW + 60),
    )
    extra: JSON = Factory(dict)

    def envelope(self) -> Envelope:
        signed = sign(self.what, {**plain(self.command), **self.extra}, self.by)
        of = digest(octets(signed))
        approvals = [
            sign("approval", plain(Approval("b1", (other or of,), until)), key)
            for key, other, until in self.agree
        ]
        certificate = sign(self.certified_as, plain(self.certificate), self.certified_by)
        return Envelope(signed, None, certificate, tuple(approvals))


def octets(signed: str) -> bytes:
    return base64.urlsafe_b64decode(signed.split(".")[1] + "==")


def verdict(
    envelope: Envelope,
    trust: Trust = TRUST,
    now: int = NOW,
    entry: Entry | None = None,
    made_at: int = MADE,
) -> str:
    """:returns: the code of the refusal, or how it was taken."""
    try:
        command = verified(envelope, trust, "n1", KINDS, now)
        return type(admitted(command, entry, made_at, trust, KINDS, now)).__name__
    except Rejected as e:
        return e.code


def changed(value: _T, changes: dict[str, object]) -> _T:
    """:returns: ``value`` with other fields."""
    return structured(
        type(value),
        {**plain(value), **{n: list(v) if isinstance(v, tuple) else v for n, v in changes.items()}},
    )


def also(**changes: object) -> Sent:
    return evolve(Sent(), command=changed(COMMAND, changes))


def certified(**changes: object) -> Sent:
    return evolve(Sent(), certificate=changed(CERTIFICATE, changes))


#: In the order in which they are looked at: what is wrong, and the code.
STEPS: tuple[tuple[str, Sent, str], ...] = (
    ("certificate by another root", Sent(certified_by=STRANGER), "unknown-key"),
    ("approval as certificate", Sent(certified_as="approval"), "wrong-type"),
    ("worker's certificate is over", certified(not_after=NOW), "bad-signature"),
    ("worker's certificate is to come", certified(not_before=NOW + SKEW + 1), "bad-signature"),
    (
        "worker's certificate lives too long",
        certified(not_before=NOW, not_after=NOW + LONGEST_CERTIFICATE + 1),
        "bad-signature",
    ),
    ("no worker's key", certified(jwk={"kty": "EC"}), "invalid-key"),
    ("signed by another worker", Sent(by=STRANGER), "unknown-key"),
    ("signed by the root itself", Sent(by=ROOT), "unknown-key"),
    ("certificate as command", Sent(what="worker"), "wrong-type"),
    ("a field nobody knows", Sent(extra={"sudo": True}), "invalid-message"),
    ("for another node", also(node_id="n2"), "wrong-node"),
    ("past its time", also(not_after=NOW), "expired"),
    ("valid too long", also(not_after=NOW - 10 + LONGEST_LIFE + 1), "expired"),
    (
        "of the future",
        also(issued_at=NOW + LONGEST_LIFE, not_after=NOW + SKEW + LONGEST_LIFE + 1),
        "expired",
    ),
    ("a kind that the worker may not sign", also(kind="bmc.power"), "bad-signature"),
    ("a kind that nobody runs", also(kind="no"), "unknown-kind"),
    ("a kind of other agents", also(kind="test.kexec"), "wrong-role"),
    ("older than the journal", also(issued_at=MADE - 1), "interrupted"),
    ("nobody approves", Sent(agree=()), "quorum-missing"),
    ("the payload", also(payload={"texts": 5}), "invalid-payload"),
)

Changes = dict[str, object]
#: The steps in their order, each spoilt by fields of its own: of what is sent, of the claims, of
#: the certificate.
ORDER: tuple[tuple[Changes, Changes, Changes, str], ...] = (
    ({"certified_by": STRANGER}, {}, {}, "unknown-key"),
    ({}, {}, {"not_after": NOW}, "bad-signature"),
    ({"by": STRANGER}, {}, {}, "unknown-key"),
    ({"extra": {"sudo": True}}, {}, {}, "invalid-message"),
    ({}, {"node_id": "n2"}, {}, "wrong-node"),
    ({}, {"not_after": NOW}, {}, "expired"),
    ({}, {}, {"kinds": ()}, "bad-signature"),
    ({}, {"kind": "no"}, {}, "unknown-kind"),
    ({}, {}, {}, "Known"),
    ({}, {"issued_at": MADE - 1}, {}, "interrupted"),
    ({"agree": ()}, {}, {}, "quorum-missing"),
    ({}, {"payload": {"texts": 5}}, {}, "invalid-payload"),
    ({}, {}, {}, "Accepted"),
)
#: Where the journal is asked.
KNOWN = 8


class CommandTests(SynchronousTestCase):
    def test_accepted(self) -> None:
        """A command that is all right, with its octets and digest."""
        envelope = Sent().envelope()
        command = verified(envelope, TRUST, "n1", KINDS, NOW)
        self.assertEqual(command.command, COMMAND)
        assert envelope.signed is not None
        self.assertEqual(command.octets, octets(envelope.signed))
        self.assertEqual(command.digest, digest(command.octets))
        self.assertIs(command.kind, KINDS.find("test.wipe"))
        taken = admitted(command, None, MADE, TRUST, KINDS, NOW)
        self.assertEqual(taken, Accepted(command))

    def test_each_step(self) -> None:
        """What is wrong is told by its code."""
        for label, sent, code in STEPS:
            self.assertEqual(verdict(sent.envelope()), code, label)

    def test_the_order(self) -> None:
        """Of all that is wrong the first step's is told."""
        entry = Entry(COMMAND, "sha256:x", b"{}", State.DONE, "b", Result(True, "ok"), NOW)
        for at, (_, _, _, code) in enumerate(ORDER):
            sent: dict[str, object] = {}
            claims: dict[str, object] = {}
            certificate: dict[str, object] = {}
            for more_sent, more_claims, more_certificate, _ in reversed(ORDER[at:]):
                sent.update(more_sent)
                claims.update(more_claims)
                certificate.update(more_certificate)
            spoilt = Sent(changed(COMMAND, claims), changed(CERTIFICATE, certificate), **sent)  # type: ignore[arg-type]
            known = entry if code == "Known" or at < KNOWN else None
            self.assertEqual(verdict(spoilt.envelope(), entry=known), code, at)

    def test_bounds_of_time(self) -> None:
        """The last second in which each is taken."""
        for sent in (
            certified(not_after=NOW + 1),
            certified(not_before=NOW + SKEW),
            certified(not_before=NOW, not_after=NOW + LONGEST_CERTIFICATE),
            also(not_after=NOW + 1),
            also(not_after=NOW - 10 + LONGEST_LIFE),
            also(issued_at=NOW + SKEW, not_after=NOW + SKEW + LONGEST_LIFE),
            also(issued_at=MADE),
        ):
            self.assertEqual(verdict(sent.envelope()), "Accepted")

    def test_the_size(self) -> None:
        """48 KiB of claims, and not a byte more."""
        command = also(payload={"text": ""}, kind="boot.clear").command
        room = 48 * 1024 - len(rendered(command))
        fitting = evolve(command, payload={"text": "x" * room})
        trust = evolve(TRUST, roots={})
        for text, code in (
            (rendered(fitting).decode(), "Accepted"),
            (rendered(fitting).decode() + " ", "too-large"),
        ):
            self.assertEqual(verdict(Envelope(unsigned=text), trust), code)

    def test_the_journal(self) -> None:
        """A command that came before is answered from the journal, whatever has lapsed since."""
        entry = Entry(COMMAND, "sha256:x", b"{}", State.DONE, "b", Result(True, "ok"), NOW)
        for sent in (Sent(), also(issued_at=MADE - 1), Sent(agree=()), also(payload={"n": 1})):
            self.assertEqual(verdict(sent.envelope(), entry=entry), "Known")
        command = verified(Sent().envelope(), TRUST, "n1", KINDS, NOW)
        self.assertEqual(admitted(command, entry, MADE, TRUST, KINDS, NOW), Known(entry))
        self.assertEqual(verdict(also(node_id="n2").envelope(), entry=entry), "wrong-node")

    def test_approvers(self) -> None:
        """Distinct ones, for this very command, in time, and keys that may say it."""
        first, second, third = APPROVERS
        good = (first, "", NOW + 1)
        for label, agree, taken in (
            ("two", (good, (second, "", NOW + 1)), True),
            ("three", (good, (second, "", NOW + 1), (third, "", NOW + 1)), True),
            ("one", (good,), False),
            ("one, twice", (good, good), False),
            ("one, twice, of two batches", (good, (first, "", NOW + 9)), False),
            ("another command", (good, (second, "sha256:00", NOW + 1)), False),
            ("lapsed", (good, (second, "", NOW)), False),
            ("a stranger", (good, (STRANGER, "", NOW + 1)), False),
            ("the worker", (good, (WORKER, "", NOW + 1)), False),
            ("a bad one beside two", ((STRANGER, "", NOW), good, (second, "", NOW + 1)), True),
        ):
            expected = "Accepted" if taken else "quorum-missing"
            self.assertEqual(verdict(Sent(agree=agree).envelope()), expected, label)
        garbage = evolve(Sent().envelope(), approvals=("a.b.c", "", Sent().envelope().signed or ""))
        self.assertEqual(verdict(garbage), "quorum-missing")

    def test_at_least_one_approver(self) -> None:
        """A quorum of none is one, and a destructive command without any approver never runs."""
        trust = evolve(TRUST, quorum=0)
        self.assertEqual(verdict(Sent(agree=()).envelope(), trust), "quorum-missing")
        self.assertEqual(
            verdict(Sent(agree=((APPROVERS[0], "", NOW + 1),)).envelope(), trust), "Accepted"
        )
        nobody = Trust.of(TrustBundle((JSON(public_jwk(ROOT)),)))
        self.assertEqual(verdict(Sent().envelope(), nobody), "quorum-missing")

    def test_not_destructive(self) -> None:
        """Nobody has to approve."""
        sent = evolve(also(kind="boot.clear"), agree=())
        self.assertEqual(verdict(sent.envelope()), "Accepted")

    def test_unsigned(self) -> None:
        """The same checks but for signatures; refused as soon as a root is known."""
        nobody = Trust.of(TrustBundle())
        text = rendered(COMMAND).decode()
        self.assertEqual(verdict(Envelope(unsigned=text), nobody), "Accepted")
        self.assertEqual(verdict(Envelope(unsigned=text)), "unsigned")
        for label, sent, code in STEPS:
            if (sent.command != COMMAND or sent.extra) and code != "bad-signature":
                text = rendered({**plain(sent.command), **sent.extra}).decode()
                self.assertEqual(verdict(Envelope(unsigned=text), nobody), code, label)
        for garbage in (" ", "[]", "{", '{"a":1,"a":2}', "\ud800"):
            code = verdict(Envelope(unsigned=garbage), nobody)
            self.assertIn(code, ("malformed-json", "invalid-message"))

    def test_unsigned_with_approvers(self) -> None:
        """Who has named approvers wants them asked, whoever signs."""
        trust = Trust({}, trusted(*APPROVERS), 1)
        text = rendered(COMMAND).decode()
        self.assertEqual(verdict(Envelope(unsigned=text), trust), "quorum-missing")
        of = digest(text.encode())
        approval = sign("approval", plain(Approval("b", (of,), NOW + 1)), APPROVERS[2])
        self.assertEqual(verdict(Envelope(unsigned=text, approvals=(approval,)), trust), "Accepted")

    def test_signed_without_roots(self) -> None:
        """A signature that nobody can judge is not overlooked."""
        self.assertEqual(verdict(Sent().envelope(), Trust.of(TrustBundle())), "unknown-key")

    def test_neither_and_both(self) -> None:
        """A command is signed or it is not."""
        both = evolve(Sent().envelope(), unsigned="{}")
        for envelope in (Envelope(), both, Envelope(certificate=both.certificate)):
            self.assertEqual(verdict(envelope), "invalid-message")
        self.assertEqual(verdict(evolve(both, unsigned=None, certificate=None)), "malformed-jws")

    def test_octets_are_not_serialised_again(self) -> None:
        """The digest is of what travelled: blanks and order count."""
        text = rendered(COMMAND).decode().replace(",", " , ")
        command = verified(Envelope(unsigned=text), Trust.of(TrustBundle()), "n1", KINDS, NOW)
        self.assertEqual(command.digest, digest(text.encode()))

    @given(st.text(max_size=200), st.text(max_size=200) | st.none())
    def test_garbage(self, signed: str, certificate: str | None) -> None:
        """Whatever comes is refused, and nothing else."""
        try:
            envelope = Envelope(signed=signed, certificate=certificate)
        except ValueError:
            return
        self.assertNotIn(verdict(envelope), ("Accepted", "Known"))
        named(envelope)


class NamedTests(SynchronousTestCase):
    def test_of_what_is_refused(self) -> None:
        """The gateway has to know which command it was; of garbage there is no name."""
        self.assertEqual(named(Sent(by=STRANGER).envelope()), "c1")
        self.assertEqual(named(Envelope(unsigned='{"command_id":"c9"}')), "c9")
        for text in ("[]", "{", '{"command_id":5}', "{}"):
            self.assertEqual(named(Envelope(unsigned=text)), "")
        for text in ("a", "a.b.c", "...", "é.é.é"):
            self.assertEqual(named(Envelope(signed=text)), "")
        self.assertEqual(named(Envelope()), "")

    def test_a_long_name(self) -> None:
        """It fits into the frame that tells of it."""
        text = '{"command_id":"%s"}' % ("x" * 500)
        self.assertEqual(len(named(Envelope(unsigned=text))), 128)


class TrustTests(SynchronousTestCase):
    def bundle(self, quorum: int, *approvers: Key) -> TrustBundle:
        return TrustBundle((), tuple(JSON(public_jwk(each)) for each in approvers), quorum)

    def test_a_quorum_that_can_be_reached(self) -> None:
        """By distinct approvers: one that is listed twice is one."""
        first, second, _ = APPROVERS
        for bundle in (
            TrustBundle(),
            self.bundle(2, first, second),
            self.bundle(1, first),
            self.bundle(0),
        ):
            Trust.of(bundle)
        for bundle in (
            self.bundle(2, first, first),
            self.bundle(3, first, second),
            self.bundle(2),
        ):
            with self.assertRaises(Rejected) as caught:
                Trust.of(bundle)
            self.assertEqual(caught.exception.code, "invalid-message")

    def test_keys(self) -> None:
        """Public, Ed25519, and nothing else."""
        wrong: list[JSON] = [{}, {"kty": "OKP"}, JSON(public_jwk(generate("X25519")))]
        for jwk in wrong:
            for bundle in (TrustBundle((jwk,)), TrustBundle((), (jwk,))):
                with self.assertRaises(Rejected) as caught:
                    Trust.of(bundle)
                self.assertEqual(caught.exception.code, "invalid-key")


class TrustedTimeTests(SynchronousTestCase):
    def test_the_later_of_two(self) -> None:
        """A machine that woke in 1970 takes the gateway's time, carried on by its own clock."""
        time = TrustedTime(NOW, 100.0)
        self.assertEqual(time.now(0.5, 160.9), NOW + 60)
        self.assertEqual(time.now(NOW + 70.9, 160.0), NOW + 70)
        self.assertEqual(TrustedTime(0, 0.0).now(NOW + 0.9, 5.0), NOW)
