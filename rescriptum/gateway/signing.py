"""Commands as they travel: signed by this gateway's worker, where agents know command roots."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from ..contract.commands import Command, Envelope, WorkerCertificate
from ..contract.jose import digest, octets, opened, sign_octets
from ..contract.keys import Key, public_key
from ..contract.refusals import Rejected
from ..contract.structure import parsed, plain, structured


@frozen
class Draft:
    """
    A command, decided to the octet: this is what approvers approve, before it is signed.

    :ivar octets: as they will travel. :ivar digest: of them.
    """

    command: Command
    octets: bytes
    digest: str

    @classmethod
    def of(cls, command: Command) -> "Draft":
        """:raises Rejected: ``too-large`` or ``invalid-message`` for claims that cannot travel."""
        made = octets(plain(command))
        return cls(command, made, digest(made))

    @classmethod
    def stored(cls, made: bytes) -> "Draft":
        """:param made: the octets of a draft that was stored until it had its approvals."""
        return cls(structured(Command, parsed(made)), made, digest(made))


@frozen
class Worker:
    """
    Who signs, and the statement of a command root that they may.

    :ivar key: private, Ed25519.
    :ivar certificate: as the root signed it.
    :ivar said: what it says.
    """

    key: Key
    certificate: str
    said: WorkerCertificate

    @classmethod
    def certified(cls, key: Key, certificate: str, roots: Mapping[str, Key]) -> "Worker":
        """
        :param roots: by thumbprint.
        :raises Rejected: unless one of the roots has certified this very key.
        """
        said = structured(WorkerCertificate, opened("worker", certificate, roots).claims)
        if public_key(said.jwk, "Ed25519").thumbprint() != key.thumbprint():
            raise Rejected("key-mismatch", "the certificate is for another worker key")
        return cls(key, certificate, said)

    def signs(self, kind: str, now: int) -> None:
        """:raises Rejected: unless the certificate lets it sign commands of ``kind`` by now."""
        if not self.said.not_before <= now < self.said.not_after:
            raise Rejected("bad-signature", "the worker's certificate is not valid now")
        if kind not in self.said.kinds:
            raise Rejected("bad-signature", f"the worker's certificate does not allow {kind}")


def enveloped(
    draft: Draft, worker: Worker | None, now: int, approvals: Sequence[str] = ()
) -> Envelope:
    """
    :param worker: None: the agents of this gateway know no command roots.
    :param approvals: signed ones, which list the draft's digest.
    :raises Rejected: ``bad-signature`` for a worker that may not sign it; ``too-large``.
    """
    if worker is None:
        text = draft.octets.decode("ascii")
        return Envelope(unsigned=text, approvals=tuple(approvals))
    worker.signs(draft.command.kind, now)
    signed = sign_octets("command", draft.octets, worker.key)
    return Envelope(signed=signed, certificate=worker.certificate, approvals=tuple(approvals))
