"""Whom agents take commands from: one answer for all processes of a gateway."""

from typing import Final

from sqlalchemy import Connection

from ..contract.joining import TrustBundle
from ..contract.keys import public_keys
from ..contract.refusals import Rejected
from ..contract.structure import plain, structured
from .stores import settings

_NAME: Final = "trust"


def trust(connection: Connection) -> TrustBundle:
    """:returns: what agents that join now are given; where nothing was said: nobody signs."""
    said = settings.get(connection, _NAME)
    return TrustBundle() if said is None else structured(TrustBundle, said)


def set_trust(connection: Connection, bundle: TrustBundle) -> None:
    """
    For agents that join from now on: the others keep what they were given.

    :raises Rejected: ``invalid-key``; ``invalid-message`` for a quorum that nobody could reach.
    """
    public_keys(bundle.command_roots, "Ed25519")
    approvers = public_keys(bundle.approvers, "Ed25519")
    if approvers and not 1 <= bundle.quorum <= len(approvers):
        raise Rejected("invalid-message", f"quorum: not between 1 and {len(approvers)}")
    settings.put(connection, _NAME, plain(bundle))
