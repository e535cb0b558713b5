"""Signed and sealed messages (RFC 7515, 7516): one codec, exact headers, one spelling a token."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Final

from attrs import frozen
from joserfc import jwe, jws

from .keys import LEAKS, Key, public_key
from .refusals import Rejected
from .structure import JSON, parsed

#: Characters of a signed or sealed message.
LONGEST: Final = 64 * 1024
#: Bytes of JSON in one: a third more in base64, and room for header and signature.
_LONGEST_JSON = LONGEST // 4 * 3 - 1024
#: Characters of a header, which is read of anybody: those that are ours have some 400.
_LONGEST_HEADER = 1024
_SIGNING = ["Ed25519"]  # RFC 9864; "EdDSA" is deprecated
_SEALING = ["ECDH-ES", "A256GCM"]  # no DEF: nothing is ever inflated
_TOKEN = "rescriptum-token+jwe"


@frozen
class Opened:
    """
    What a trusted key has signed.

    :ivar payload: the octets as they travelled: digests are of these.
    :ivar claims: the same, read.
    :ivar kid: thumbprint of the key.
    """

    payload: bytes
    claims: JSON
    kid: str


def sign(what: str, claims: Mapping[str, object], key: Key) -> str:
    """
    :param what: of the message; a signature for one kind is none for another.
    :param key: a private Ed25519 key.
    :raises Rejected: ``too-large``, or ``invalid-key`` for a key that cannot sign.
    """
    return sign_octets(what, octets(claims), key)


def sign_octets(what: str, payload: bytes, key: Key) -> str:
    """
    :param payload: as :func:`octets` made it, perhaps by another release: digests stay true.
    :raises Rejected: ``invalid-key`` for a key that cannot sign.
    """
    _fit(key, "Ed25519")
    if not key.is_private:
        raise Rejected("invalid-key", "only the private half can sign")
    header = {"alg": "Ed25519", "typ": _kind(what), "kid": key.thumbprint()}
    return jws.serialize_compact(header, payload, key, algorithms=_SIGNING)


def opened(what: str, text: object, trusted: Mapping[str, Key]) -> Opened:
    """
    Verify a message before anything in it is believed.

    :param text: in compact serialisation.
    :param trusted: the keys that may say this, by thumbprint; the message only chooses among them.
    :raises Rejected: ``malformed-jws``, ``wrong-type``, ``unknown-key`` or ``bad-signature``.
    """
    if type(text) is not str or len(text) > LONGEST:
        raise Rejected("malformed-jws", f"not a text of up to {LONGEST} characters")
    header = _header(text, "bad-signature")
    if set(header) != {"alg", "typ", "kid"} or header["typ"] != _kind(what):
        raise Rejected("wrong-type", f"not of type {_kind(what)} with just alg, typ and kid")
    kid = header["kid"]
    key = trusted.get(kid) if type(kid) is str else None
    if key is None or type(kid) is not str:
        raise Rejected("unknown-key", f"none that may sign a {what}")
    _fit(key, "Ed25519")
    try:
        payload = jws.deserialize_compact(text, key, algorithms=_SIGNING).payload
        claims = parsed(payload, LONGEST)
    except (*LEAKS, Rejected):
        raise Rejected("bad-signature") from None
    if type(claims) is not dict:
        raise Rejected("malformed-jws", "signed, but not an object")
    return Opened(payload, claims, kid)


def signer(text: str) -> str:
    """
    :returns: the thumbprint of the key that a message says it was signed by: nothing is believed
        of it, it only says whose key to look for. Empty where there is none.
    """
    try:
        kid = _header(text[:LONGEST], "malformed-jws").get("kid")
    except Rejected:
        return ""
    return kid if type(kid) is str else ""


def unverified(what: str, text: object) -> JSON:
    """
    :returns: the claims of a message that nobody has verified: for telling what is in it, never
        for believing it.
    :raises Rejected: ``malformed-jws``, ``wrong-type``.
    """
    if type(text) is not str or len(text) > LONGEST:
        raise Rejected("malformed-jws", f"not a text of up to {LONGEST} characters")
    if _header(text, "malformed-jws").get("typ") != _kind(what):
        raise Rejected("wrong-type", f"not of type {_kind(what)}")
    try:
        claims = parsed(_decoded(text.split(".")[1]), LONGEST)
    except (ValueError, IndexError, Rejected):
        raise Rejected("malformed-jws", "no claims that can be read") from None
    if type(claims) is not dict:
        raise Rejected("malformed-jws", "not an object")
    return claims


def seal(plain: Mapping[str, object], key: Key) -> str:
    """
    :param key: the X25519 key of whoever may read it.
    :raises Rejected: ``too-large``, or ``invalid-key`` for a key that nothing can be sealed to.
    """
    _fit(key, "X25519")
    header = {"alg": "ECDH-ES", "enc": "A256GCM", "typ": _TOKEN, "kid": key.thumbprint()}
    payload = octets(plain)
    try:
        return jwe.encrypt_compact(header, payload, key, algorithms=_SEALING)
    except LEAKS:
        raise Rejected("invalid-key", "nothing can be sealed to it") from None


def unseal(text: object, key: Key) -> JSON:
    """
    :param key: the private X25519 key that it must be sealed to.
    :raises Rejected: ``malformed-jwe``, ``wrong-type``, or ``bad-token`` when it does not open.
    """
    if type(text) is not str or len(text) > LONGEST:
        raise Rejected("malformed-jwe", f"not a text of up to {LONGEST} characters")
    _fit(key, "X25519")
    header = _header(text, "bad-token")
    if set(header) != {"alg", "enc", "typ", "kid", "epk"} or header["typ"] != _TOKEN:
        raise Rejected("wrong-type", f"not of type {_TOKEN} with just alg, enc, typ, kid and epk")
    if header["kid"] != key.thumbprint():
        raise Rejected("bad-token", "sealed to another key")
    try:
        public_key(header["epk"], "X25519")
        plain = parsed(
            jwe.decrypt_compact(text, key, algorithms=_SEALING).plaintext or b"", LONGEST
        )
    except (*LEAKS, Rejected):
        raise Rejected("bad-token") from None
    if type(plain) is not dict:
        raise Rejected("bad-token", "sealed, but not an object")
    return plain


def digest(payload: bytes) -> str:
    """:returns: ``sha256:`` and hexadecimal, of octets as they travelled."""
    return "sha256:" + hashlib.sha256(payload).hexdigest()


def octets(members: Mapping[str, object]) -> bytes:
    """
    :returns: what travels of a message when it is signed: digests can be taken beforehand.
    :raises Rejected: ``too-large``, or ``invalid-message`` for what JSON cannot say.
    """
    try:
        text = json.dumps(dict(members), separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise Rejected("invalid-message", "more than JSON can say") from None
    if len(text) > _LONGEST_JSON:
        raise Rejected("too-large", f"more than {_LONGEST_JSON} bytes of JSON")
    return text.encode("ascii")


def _kind(what: str) -> str:
    return f"rescriptum-{what}+jws"


def _fit(key: Key, curve: str) -> None:
    if key.curve_name != curve:
        raise Rejected("invalid-key", f"a key of {key.curve_name} where one of {curve} belongs")


def _header(text: str, code: str) -> JSON:
    """Read what is not believed yet: it only says which key to try."""
    try:
        encoded = text.partition(".")[0]
        if len(encoded) > _LONGEST_HEADER:
            raise ValueError("longer than any of ours")
        header = parsed(_decoded(encoded))
    except (ValueError, Rejected):
        raise Rejected(code, "no header that can be read") from None
    return header if type(header) is dict else {}


def _decoded(part: str) -> bytes:
    """:raises ValueError: for what is not base64url (RFC 7515 section 2)."""
    encoded = part.encode("ascii")
    return base64.urlsafe_b64decode(encoded + b"=" * (-len(encoded) % 4))
