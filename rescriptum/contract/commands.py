"""Commands: what is signed, by whom, and what comes back."""

from attrs import field, frozen

from .bounds import SENTENCE, SIGNED, many, name, number, text
from .structure import JSON

#: Seconds: the longest life of a command, and of a worker's certificate; and clock skew.
LONGEST_LIFE, LONGEST_CERTIFICATE, SKEW = 86_400, 90 * 86_400, 60
#: Octets of a command's claims, and of a result.
LONGEST_COMMAND, LONGEST_RESULT = 48 * 1024, 192 * 1024


@frozen
class Command:
    """
    What a worker signs.

    :ivar payload: as the kind wants it. :ivar workflow: and ``step``: what it is part of.
    :ivar attested: whether the result is to be signed by the node.
    """

    command_id: str = field(validator=name())
    node_id: str = field(validator=name())
    kind: str = field(validator=name())
    payload: JSON
    workflow: str = field(validator=name())
    step: str = field(validator=name())
    issued_at: int = field(validator=number())
    not_after: int = field(validator=number())
    attested: bool = False


@frozen
class WorkerCertificate:
    """
    What a command root signs: this worker may sign commands of these kinds, for a time.

    :ivar jwk: Ed25519.
    """

    jwk: JSON
    not_before: int = field(validator=number())
    not_after: int = field(validator=number())
    kinds: tuple[str, ...] = field(validator=many(256))


@frozen
class Approval:
    """What an approver signs. :ivar command_digests: of the commands' octets as they travel."""

    batch: str = field(validator=name())
    command_digests: tuple[str, ...] = field(validator=many())
    not_after: int = field(validator=number())


@frozen
class Envelope:
    """
    A command as it travels.

    :ivar signed: a :class:`Command`, signed by a worker; or
    :ivar unsigned: its claims as JSON text, where the agent knows no command roots.
    :ivar certificate: a :class:`WorkerCertificate`, signed by a command root.
    :ivar approvals: each an :class:`Approval`, signed by an approver.
    """

    signed: str | None = field(default=None, validator=text(SIGNED))
    unsigned: str | None = field(default=None, validator=text(SIGNED))
    certificate: str | None = field(default=None, validator=text(SIGNED))
    approvals: tuple[str, ...] = field(default=(), validator=many(16))


@frozen
class Result:
    """
    What became of a command.

    :ivar code: ``ok``, or a row of the table of refusals.
    :ivar detail: for people; never a secret. :ivar data: as the kind gives it.
    """

    ok: bool
    code: str = field(validator=name())
    detail: str = field(default="", validator=text(SENTENCE, empty=True))
    data: JSON = field(factory=dict)


@frozen
class AttestedResult:
    """
    What the node key signs of a result that is to be attested.

    :ivar jwk: of that key: whoever knows its thumbprint can check it without a gateway. Older
        agents do not say it.
    """

    command_id: str = field(validator=name())
    command_digest: str = field(validator=text())
    node_id: str = field(validator=name())
    boot_id: str = field(validator=text())
    result: Result
    finished_at: int = field(validator=number())
    jwk: JSON | None = None
