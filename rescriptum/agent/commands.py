"""Whether a command is to be run: who signed it, for whom, until when, and who approved."""

from collections.abc import Mapping
from typing import Self

from attrs import field, frozen

from ..contract.commands import (
    LONGEST_CERTIFICATE,
    LONGEST_COMMAND,
    LONGEST_LIFE,
    SKEW,
    Approval,
    Command,
    Envelope,
    WorkerCertificate,
)
from ..contract.joining import TrustBundle
from ..contract.jose import digest, opened, unverified
from ..contract.keys import Key, public_key, public_keys, trusted
from ..contract.refusals import Rejected
from ..contract.structure import JSON, parsed, structured
from .journal import Entry
from .kinds import AnyKind, KindTable


@frozen
class Trust:
    """
    Whom an agent takes commands from: a trust bundle whose keys have been looked at.

    :ivar roots: keys that certify workers; none: commands come unsigned.
    :ivar approvers: keys that approve of destructive commands, and
    :ivar quorum: how many of them each needs.
    """

    roots: Mapping[str, Key]
    approvers: Mapping[str, Key]
    quorum: int

    @classmethod
    def of(cls, bundle: TrustBundle) -> Self:
        """:raises Rejected: ``invalid-key``, or a quorum that can never be reached."""
        made = cls(
            public_keys(bundle.command_roots, "Ed25519"),
            public_keys(bundle.approvers, "Ed25519"),
            bundle.quorum,
        )
        # One of none is what a bundle without approvers says: nothing destructive is ever run.
        if made.quorum > max(1, len(made.approvers)):
            raise Rejected(
                "invalid-message",
                f"a quorum of {made.quorum} of {len(made.approvers)} distinct approvers",
            )
        return made


@frozen
class TrustedTime:
    """
    The time that documents are judged by: a machine may wake in 1970, and a gateway cannot make old
    commands young.

    :ivar server_time: that the session's Welcome told, in Unix seconds, and
    :ivar heard: when, by the fence's clock.
    """

    server_time: int
    heard: float

    def now(self, wall: float, fence: float) -> int:
        """:returns: Unix seconds: the later of the wall clock and what the gateway told."""
        return max(int(wall), self.server_time + int(fence - self.heard))


@frozen
class Verified:
    """
    A command that is for this node, by somebody who may send it.

    :ivar octets: its claims as they travelled. :ivar digest: of these.
    """

    command: Command
    octets: bytes = field(repr=False)
    digest: str
    kind: AnyKind
    approvals: tuple[str, ...] = field(repr=False)


@frozen
class Accepted:
    """A command to run."""

    verified: Verified


@frozen
class Known:
    """A command that came before: the journal has what became of it."""

    entry: Entry


def verified(
    envelope: Envelope, trust: Trust, node_id: str, kinds: KindTable, now: int
) -> Verified:
    """
    All that can be said before the journal is asked.

    :param now: the trusted time.
    :raises Rejected: at the first step that fails.
    """
    octets, claims, certificate = _signed(envelope, trust, now)
    command = structured(Command, claims)
    if command.node_id != node_id:
        raise Rejected("wrong-node", f"the command is for {command.node_id}")
    # One that claims to be issued next year would live until then.
    if not now < command.not_after <= min(command.issued_at, now + SKEW) + LONGEST_LIFE:
        raise Rejected("expired")
    if certificate is not None and command.kind not in certificate.kinds:
        raise Rejected("bad-signature", f"the worker may not sign {command.kind}")
    kind = kinds.find(command.kind)
    return Verified(command, octets, digest(octets), kind, envelope.approvals)


def admitted(
    command: Verified, entry: Entry | None, made_at: int, trust: Trust, kinds: KindTable, now: int
) -> Accepted | Known:
    """
    What the journal says, and the approvers.

    :param entry: of the journal, where the command's id is in it.
    :param made_at: when the journal was made.
    :raises Rejected: at the first step that fails.
    """
    if entry is not None:
        return Known(entry)
    if command.command.issued_at < made_at:
        # It may have run already, and be in a journal that is lost.
        raise Rejected("interrupted", "the command is older than the journal")
    if command.kind.destructive and (trust.roots or trust.approvers):
        _approved(command, trust, now)
    kinds.payload(command.command)
    return Accepted(command)


def named(envelope: Envelope) -> str:
    """
    :returns: the id of a command that may not be what it says: nothing is believed of it, it only
        says which one is refused. Empty where there is none.
    """
    text = envelope.unsigned
    claims: object
    try:
        if text is None:
            claims = unverified("command", envelope.signed)
        else:
            claims = parsed(text.encode("utf-8", "replace"), LONGEST_COMMAND)
    except Rejected:
        return ""
    command_id = claims.get("command_id") if type(claims) is dict else None
    return command_id[:128] if type(command_id) is str else ""


def _signed(
    envelope: Envelope, trust: Trust, now: int
) -> tuple[bytes, JSON, WorkerCertificate | None]:
    """:returns: octets, claims, and what the worker may sign; None where nothing is signed."""
    if (envelope.signed is None) == (envelope.unsigned is None):
        raise Rejected("invalid-message", "a command comes either signed or unsigned")
    if envelope.unsigned is not None:
        octets = envelope.unsigned.encode("utf-8", "surrogatepass")
        if len(octets) > LONGEST_COMMAND:  # of a signed one its text's own bound says the same
            raise Rejected("too-large", f"a command of more than {LONGEST_COMMAND} bytes")
        if trust.roots:
            raise Rejected("unsigned")
        claims = parsed(octets)
        if type(claims) is not dict:
            raise Rejected("invalid-message", "not an object")
        return octets, claims, None
    certificate = structured(
        WorkerCertificate, opened("worker", envelope.certificate, trust.roots).claims
    )
    if not certificate.not_before - SKEW <= now < certificate.not_after:
        raise Rejected("bad-signature", "the worker's certificate is not valid now")
    if certificate.not_after - certificate.not_before > LONGEST_CERTIFICATE:
        raise Rejected("bad-signature", "the worker's certificate is valid for longer than 90 days")
    made = opened("command", envelope.signed, trusted(public_key(certificate.jwk, "Ed25519")))
    return made.payload, made.claims, certificate


def _approved(command: Verified, trust: Trust, now: int) -> None:
    agreed = set()
    for text in command.approvals:
        try:
            said = opened("approval", text, trust.approvers)
            approval = structured(Approval, said.claims)
        except Rejected:
            continue  # it counts for nothing; others may do
        if now < approval.not_after and command.digest in approval.command_digests:
            agreed.add(said.kid)
    wanted = max(1, trust.quorum)
    if len(agreed) < wanted:
        raise Rejected("quorum-missing", f"{len(agreed)} of {wanted} approvers agree")
