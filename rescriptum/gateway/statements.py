"""What people sign beside a gateway: that a worker may, and that a batch may."""

from collections.abc import Collection

from ..contract.commands import LONGEST_CERTIFICATE, Approval, WorkerCertificate
from ..contract.jose import sign
from ..contract.keys import Key, public_jwk, public_key
from ..contract.refusals import Rejected
from ..contract.structure import JSON, plain

#: Seconds: of a certificate that says nothing else, and of an approval.
CERTIFICATE_LIFE, APPROVAL_LIFE = 30 * 86_400, 86_400


def certificate(
    root: Key, worker: JSON, kinds: Collection[str], now: int, life: int = CERTIFICATE_LIFE
) -> str:
    """
    :param root: a command root's private half. :param worker: public JWK of who may sign.
    :param kinds: of commands. :param life: in seconds, from ``now`` on.
    :raises Rejected: ``invalid-key``; ``invalid-message`` for a life or kinds that no agent takes.
    """
    if not 0 < life <= LONGEST_CERTIFICATE:
        days = LONGEST_CERTIFICATE // 86_400
        raise Rejected("invalid-message", f"a certificate lives for 1 to {days} days")
    if not kinds:
        raise Rejected("invalid-message", "a certificate that allows no kind is of no use")
    key = public_key(worker, "Ed25519")
    said = WorkerCertificate(dict(public_jwk(key)), now, now + life, tuple(sorted(set(kinds))))
    return sign("worker", plain(said), root)


def approval(
    approver: Key, batch: str, digests: Collection[str], now: int, life: int = APPROVAL_LIFE
) -> str:
    """
    :param approver: private half. :param digests: of the commands, as the approver has seen them.
    :raises Rejected: ``invalid-message`` where there is nothing to approve.
    """
    if not digests:
        raise Rejected("invalid-message", "nothing to approve")
    said = Approval(batch, tuple(sorted(set(digests))), now + life)
    return sign("approval", plain(said), approver)
