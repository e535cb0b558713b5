"""Getting an identity: what is asked of a gateway, and what is believed of its answer."""

from attrs import field, frozen

from ..contract.joining import (
    Attestor,
    JoinAnswer,
    Joined,
    Joining,
    JoinRequest,
    JoinToken,
    Keys,
    Role,
)
from ..contract.jose import digest, opened, seal, sign
from ..contract.keys import Curve, Key, pin, public_jwk, public_key, trusted
from ..contract.pins import Pin
from ..contract.refusals import Rejected
from ..contract.structure import JSON, plain, structured
from .commands import Trust


@frozen
class JoinPins:
    """Of the gateway's two join keys; without one, the connection alone vouches for a key."""

    signing: Pin | None = None
    encryption: Pin | None = None


@frozen
class Applying:
    """
    Who wants to join.

    :ivar node_key: made for this; its private half never leaves the agent.
    :ivar attestation: a site agent's assertion, where one vouches for the machine.
    """

    role: Role
    site: str
    token: str = field(repr=False)
    node_key: Key = field(repr=False)
    boot_id: str
    attestation: str | None = field(default=None, repr=False)
    inventory: JSON | None = field(default=None, repr=False)


@frozen
class Asked:
    """
    A join under way.

    :ivar signing: who may answer. :ivar jkt: and ``nonce``: what the answer has to repeat.
    """

    request: JoinRequest
    signing: Key
    jkt: str
    nonce: str


def asked(keys: Keys, pins: JoinPins, who: Applying, nonce: str, now: int) -> Asked:
    """
    :param keys: as the gateway serves them: the token is sealed to no key that is not pinned.
    :param nonce: never used before.
    :raises Rejected: ``pin-mismatch`` or ``invalid-key``: nothing has been told to anybody.
    """
    signing = _pinned(keys.signing, "Ed25519", pins.signing, "join signing key")
    encryption = _pinned(keys.encryption, "X25519", pins.encryption, "join encryption key")
    jkt = who.node_key.thumbprint()
    token = JoinToken(who.token, who.site, who.role, jkt, nonce, now)
    sealed = seal(plain(token), encryption)
    joining = Joining(jkt, nonce, digest(sealed.encode("ascii")), now)
    request = JoinRequest(
        who.role,
        who.site,
        Attestor.TOKEN if who.attestation is None else Attestor.DISCOVERY,
        sealed,
        sign("joining", plain(joining), who.node_key),
        JSON(public_jwk(who.node_key)),
        who.boot_id,
        who.attestation,
        who.inventory,
    )
    return Asked(request, signing, jkt, nonce)


def answered(asking: Asked, joined: Joined) -> JoinAnswer:
    """
    :returns: what may be stored.
    :raises Rejected: at the first step that fails; then nothing of it is to be kept.
    """
    said = opened("join", joined.answer, trusted(asking.signing))
    answer = structured(JoinAnswer, said.claims)
    if answer.jkt != asking.jkt:
        raise Rejected("key-mismatch", "the answer is for another node key")
    if answer.nonce != asking.nonce:
        raise Rejected("replayed", "the answer is to another request")
    if answer.site != asking.request.site:
        raise Rejected("wrong-site", f"the answer is for site {answer.site}")
    Trust.of(answer.trust_bundle)
    return answer


def _pinned(jwk: JSON, curve: Curve, wanted: Pin | None, name: str) -> Key:
    key = public_key(jwk, curve)
    shown = Pin.parse(pin(key))
    if wanted is not None and not wanted.matches(shown):
        raise Rejected("pin-mismatch", f"the {name} is {shown}")
    return key
