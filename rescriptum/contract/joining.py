"""Joining: how an agent without an identity gets one. ``POST /v1/join``, ``GET /v1/keys``."""

from enum import Enum

from attrs import field, frozen

from .bounds import SIGNED, many, name, number, text
from .structure import JSON

#: Seconds by which the clocks of agent and gateway may differ.
SKEW = 300


class Role(Enum):
    """What an agent is."""

    SITE = "site"
    RAMDISK = "ramdisk"
    NODE = "node"


class Attestor(Enum):
    """What a join is founded on."""

    TOKEN = "token"  # an operator made one
    DISCOVERY = "discovery"  # a site agent vouches for the machine


@frozen
class Keys:
    """
    The two join keys of a gateway; an agent compares them with its pins before it uses them.

    :ivar signing: Ed25519, as a JWK. :ivar encryption: X25519, as a JWK.
    """

    signing: JSON
    encryption: JSON


@frozen
class JoinToken:
    """
    What is sealed to the join encryption key.

    :ivar jkt: RFC 7638 thumbprint of the node key: nobody between can join with another one.
    :ivar issued_at: Unix time, as everywhere in the contract.
    """

    token: str = field(repr=False, validator=text())
    site: str = field(validator=name())
    role: Role
    jkt: str = field(validator=text())
    nonce: str = field(validator=text())
    issued_at: int = field(validator=number())


@frozen
class Joining:
    """
    What the node key signs: that whoever joins has its private half.

    :ivar token_digest: of the sealed token as it travels.
    """

    jkt: str = field(validator=text())
    nonce: str = field(validator=text())
    token_digest: str = field(validator=text())
    issued_at: int = field(validator=number())


@frozen
class JoinRequest:
    """
    :ivar token: a :class:`JoinToken`, sealed. :ivar joining: a :class:`Joining`, signed.
    :ivar attestation: an :class:`Assertion`, signed by a site agent, where that is the attestor.
    :ivar node_key: Ed25519, as a JWK. :ivar inventory: of the machine, where it is known.
    """

    role: Role
    site: str = field(validator=name())
    attestor: Attestor
    token: str = field(repr=False, validator=text(SIGNED))
    joining: str = field(validator=text(SIGNED))
    node_key: JSON
    boot_id: str = field(validator=text())
    attestation: str | None = field(default=None, validator=text(SIGNED))
    inventory: JSON | None = None


@frozen
class TrustBundle:
    """
    Whom an agent takes commands from.

    :ivar command_roots: JWKs; none: commands come unsigned.
    :ivar approvers: JWKs. :ivar quorum: how many of them a destructive command needs.
    """

    command_roots: tuple[JSON, ...] = field(default=(), validator=many(16))
    approvers: tuple[JSON, ...] = field(default=(), validator=many(64))
    quorum: int = field(default=1, validator=number(0, 64))


@frozen
class JoinAnswer:
    """What the join signing key signs."""

    node_id: str = field(validator=name())
    site: str = field(validator=name())
    jkt: str = field(validator=text())
    nonce: str = field(validator=text())
    trust_bundle: TrustBundle
    desired_version: int = field(validator=number())
    issued_at: int = field(validator=number())


@frozen
class Joined:
    """The body of the answer. :ivar answer: a :class:`JoinAnswer`, signed."""

    answer: str = field(validator=text(SIGNED))


@frozen
class Assertion:
    """
    A site agent saw a machine boot, and gave it this token.

    :ivar purpose: ``discovery-assertion``. :ivar token_digest: of the token itself.
    :ivar epoch: of the boot lease under which it was made.
    """

    mac: str = field(validator=text())
    ip: str = field(validator=text(empty=True))
    uuid: str = field(validator=text(empty=True))
    site: str = field(validator=name())
    token_digest: str = field(validator=text())
    epoch: int = field(validator=number())
    issued_at: int = field(validator=number())
    not_after: int = field(validator=number())
    purpose: str = field(default="discovery-assertion", validator=text())
