"""The node key of an agent that has not joined yet: kept, so that it asks again as the same."""

from contextlib import suppress
from typing import Final

from attrs import field, frozen

from ..contract.jose import digest
from ..contract.keys import Key, generate, load, private_jwk
from ..contract.refusals import Rejected
from ..contract.structure import JSON, rendered
from .store import DataDirectory

CANDIDATE: Final = "joining.json"


@frozen
class _Candidate:
    """:ivar token_digest: of the token that the key joins with: another one makes another node."""

    token_digest: str
    node_key: JSON = field(repr=False)


def candidate(directory: DataDirectory, token: str, now: float) -> Key:
    """
    :returns: the node key to join with. It is on the disk before anybody has seen it: a gateway
        whose answer was lost gives the same token to the same key again, and to no other.
    :raises OSError: when it cannot be read or written.
    """
    of = digest(token.encode("utf-8", "surrogatepass"))
    found = directory.load(CANDIDATE, _Candidate, now)
    if found is not None and found.token_digest == of:
        try:
            return load(rendered(found.node_key), "Ed25519")
        except Rejected as e:
            directory.set_aside(CANDIDATE, str(e), now)
    key = generate("Ed25519")
    directory.save(CANDIDATE, _Candidate(of, JSON(private_jwk(key))))
    return key


def joined(directory: DataDirectory) -> None:
    """The key is the identity's, if anybody's: no second copy of it is needed."""
    with suppress(OSError):
        directory.remove(CANDIDATE)
