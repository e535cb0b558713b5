"""Whether a certificate is to be believed: who signed it, and whether what it claims can be."""

from collections.abc import Iterator

from attrs import frozen

from ...contract.commands import AttestedResult
from ...contract.jose import opened, unverified
from ...contract.keys import public_key, trusted
from ...contract.refusals import Rejected
from ...contract.structure import JSON, parsed, structured
from ...errors import RescriptumError
from .certificate import VERSION
from .claims import Claims


class NoCertificate(RescriptumError):
    """
    It is something else.

    :ivar code: ``no-certificate``.
    """

    code = "no-certificate"


@frozen
class Expected:
    """
    Who is to have signed it.

    :ivar thumbprint: of the node's key. :ivar node: its id; empty: whoever has that key.
    """

    thumbprint: str
    node: str = ""

    @classmethod
    def of(cls, text: bytes) -> "Expected":
        """
        :param text: of ``rescriptum gateway node show NODE --json``.
        :raises NoCertificate: naming the member that is not there.
        """
        try:
            said = parsed(text)
        except Rejected as e:
            raise NoCertificate(f"what a gateway says of a node is JSON: {e}") from None
        found = said if isinstance(said, dict) else {}
        thumbprint, node = found.get("jkt"), found.get("id")
        if not isinstance(thumbprint, str) or not thumbprint:
            raise NoCertificate("jkt: the thumbprint of the node's key belongs here")
        if not isinstance(node, str) or not node:
            raise NoCertificate("id: the node's id belongs here")
        return cls(thumbprint, node)


@frozen
class Verdict:
    """
    :ivar problems: why it is not to be believed, or what is not verified; none: it is good.
    :ivar signer: thumbprint of the key that has signed it; empty: none has, and nothing is claimed.
    """

    problems: tuple[str, ...]
    signer: str = ""
    result: AttestedResult | None = None
    claims: Claims | None = None


def judged(text: bytes, expected: Expected | None) -> Verdict:
    """
    :param text: a certificate as a node has signed it, or what a gateway says of its command.
    :param expected: None: nobody vouches for the key, which is a problem then.
    :raises NoCertificate: when it is none.
    """
    signed = _signed(text)
    try:
        result = structured(AttestedResult, unverified("result", signed))
    except Rejected as e:
        raise NoCertificate(f"not signed by a node: {e}") from None
    if result.jwk is None:
        raise NoCertificate("jwk: it does not say by which key it is to be checked")
    try:
        key = public_key(result.jwk, "Ed25519")
        signer = opened("result", signed, trusted(key)).kid
    except Rejected as e:
        return Verdict((f"the signature is not that of the key in it: {e}",))
    claims = _claims(result)
    problems = (*_by(result, signer, expected), *_claimed(result, claims))
    return Verdict(problems, signer, result, claims)


def _signed(text: bytes) -> str:
    """:returns: the message of a node, out of whatever it came in."""
    if not text.lstrip().startswith(b"{"):
        return text.decode("ascii", "replace").strip()
    try:
        said = parsed(text)
    except Rejected as e:
        raise NoCertificate(f"neither signed nor JSON: {e}") from None
    attestation = said.get("attestation") if isinstance(said, dict) else None
    if not isinstance(attestation, str):
        raise NoCertificate(
            "attestation: the signed result belongs here, as"
            " 'rescriptum gateway command show ID --json' has it of a wipe that has ended"
        )
    return attestation


def _by(result: AttestedResult, signer: str, expected: Expected | None) -> Iterator[str]:
    if expected is None:
        yield (
            f"jwk: nobody vouches for the key {signer}: compare it with 'jkt' of the node at its"
            " gateway, or with what was noted down of it"
        )
        return
    if signer != expected.thumbprint:
        yield f"jwk: the key is {signer}, and {expected.thumbprint} is expected"
    if expected.node and result.node_id != expected.node:
        yield f"node_id: {result.node_id}, and {expected.node} is expected"


def _claims(result: AttestedResult) -> Claims:
    """:raises NoCertificate: when another kind of result is signed, or by another release."""
    said: JSON = result.result.data
    version = said.get("version")
    if type(version) is int and version != VERSION:
        raise NoCertificate(f"result.data.version: {version}; this release reads {VERSION}")
    try:
        return structured(Claims, said)
    except Rejected as e:
        code = result.result.code
        raise NoCertificate(f"result.data ({code}): not that of a wipe: {e.detail}") from None


def _claimed(result: AttestedResult, claims: Claims) -> Iterator[str]:
    ok, code = result.result.ok, result.result.code
    if ok != (code == "ok"):
        yield f"result.code: {code}, though it {'succeeded' if ok else 'failed'}"
    elif not ok and code != "wipe-unverified":
        yield f"result.code: {code}: {result.result.detail or 'it failed'}"
    yield from claims.wrong(ok)
