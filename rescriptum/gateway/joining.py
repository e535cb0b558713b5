"""Who wants to join, and whether they are whom they say: lease-security of joins, step by step."""

from collections.abc import Iterable, Mapping

from attrs import frozen

from ..contract.joining import (
    SKEW,
    Assertion,
    Attestor,
    Joining,
    JoinRequest,
    JoinToken,
)
from ..contract.jose import digest, opened, unseal
from ..contract.keys import Key, public_key, trusted
from ..contract.refusals import Rejected
from ..contract.structure import JSON, structured
from ..values import MAC

#: What an assertion is for: a signature of another purpose is none.
PURPOSE = "discovery-assertion"


@frozen
class Applicant:
    """
    Somebody who has shown to have a node key, and a token for it.

    :ivar jkt: thumbprint of ``key``.
    :ivar nonce: that the answer has to repeat.
    :ivar token_digest: of the token itself: whether there is such a token is the store's to say.
    """

    request: JoinRequest
    key: Key
    jkt: str
    nonce: str
    token_digest: str


def applicant(request: JoinRequest, encryption: Key, now: int) -> Applicant:
    """
    Check all that needs no store: first that they have the node key, then what they sealed.

    :param encryption: the join encryption key.
    :raises Rejected: at the first step that fails.
    """
    key = public_key(request.node_key, "Ed25519")
    jkt = key.thumbprint()
    said = structured(Joining, opened("joining", request.joining, trusted(key)).claims)
    if said.jkt != jkt:
        raise Rejected("key-mismatch", "the proof of possession is for another key")
    if said.token_digest != digest(request.token.encode("utf-8", "surrogatepass")):
        raise Rejected("bad-token", "another sealed token than the one that was signed for")
    in_time(said.issued_at, now)
    token = structured(JoinToken, unseal(request.token, encryption))
    if token.site != request.site:
        raise Rejected("wrong-site", "the token was sealed for another site")
    if token.role is not request.role:
        raise Rejected("wrong-role", "the token was sealed for another role")
    if token.jkt != jkt:
        raise Rejected("key-mismatch", "the token was sealed by the owner of another key")
    if token.nonce != said.nonce:
        raise Rejected("bad-token", "the token was sealed for another request")
    return Applicant(request, key, jkt, said.nonce, digest(token.token.encode()))


def in_time(issued_at: int, now: int) -> None:
    """:raises Rejected: ``stale`` for a message that was made more than five minutes from now."""
    if abs(now - issued_at) > SKEW:
        raise Rejected("stale", f"made {now - issued_at} s ago, by our clock")


def attested(who: Applicant, agents: Mapping[str, Key], now: int) -> tuple[str, Assertion]:
    """
    Check a discovery assertion against the join that it came with.

    :param agents: the node keys of the site's agents, by thumbprint.
    :returns: the thumbprint of whoever made it, and what it says; whether they held the boot lease
        is the store's to say.
    :raises Rejected: when there is none, or it is for another machine, token, site or time.
    """
    if who.request.attestation is None:
        raise Rejected("bad-assertion", "a discovered machine joins with an assertion")
    said = opened("discovery", who.request.attestation, agents)
    assertion = structured(Assertion, said.claims)
    if assertion.purpose != PURPOSE:
        raise Rejected("bad-assertion", "it was made for another purpose")
    if assertion.site != who.request.site:
        raise Rejected("wrong-site", "the assertion is for another site")
    if now >= assertion.not_after:
        raise Rejected("stale", "the assertion has lapsed")
    if assertion.issued_at > now + SKEW:
        raise Rejected("stale", "the assertion was made in the future")
    if assertion.token_digest != who.token_digest:
        raise Rejected("bad-assertion", "it is for another token")
    _fits(assertion, who.request.inventory)
    return said.kid, assertion


def _fits(assertion: Assertion, inventory: JSON | None) -> None:
    """A machine whose hardware could not be read joins without saying what it is."""
    if inventory is None:
        return
    macs = inventory.get("macs")
    if not isinstance(macs, list) or not has_mac(macs, assertion.mac):
        raise Rejected("bad-assertion", f"the machine has no {assertion.mac[:40]}")
    uuid = inventory.get("uuid")
    if assertion.uuid and uuid and str(uuid).lower() != assertion.uuid.lower():
        raise Rejected("bad-assertion", "the machine has another UUID")


def has_mac(macs: Iterable[object], mac: str) -> bool:
    """:returns: whether ``mac`` is among them, in whichever spelling."""
    wanted = _mac(mac)
    return wanted is not None and any(_mac(each) == wanted for each in macs)


def _mac(text: object) -> MAC | None:
    try:
        return MAC.parse(text) if isinstance(text, str) else None
    except ValueError:
        return None


def attestor_fits(attestor: Attestor, machine: str | None) -> None:
    """
    :param machine: that the token was made for; None for one that an operator made for an agent.
    :raises Rejected: where one kind of token is presented as the other: a token that travelled on
        a kernel's command line is worth nothing without the assertion.
    """
    if (attestor is Attestor.DISCOVERY) != (machine is not None):
        wanted = Attestor.DISCOVERY if machine is not None else Attestor.TOKEN
        raise Rejected("bad-assertion", f"this token wants the attestor {wanted.value}")
