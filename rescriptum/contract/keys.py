"""Keys as JWKs (RFC 8037): Ed25519 signs, X25519 seals."""

import base64
import json
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from .pins import Pin
from .refusals import Rejected
from .structure import parsed

#: A key of either curve, with its private half or without. Its ``thumbprint()`` (RFC 7638, SHA-256)
#: is the ``kid`` of whatever it signs.
Key: TypeAlias = OKPKey
Curve: TypeAlias = Literal["Ed25519", "X25519"]

#: What joserfc lets out for input that it does not like.
LEAKS: Final = (JoseError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_LONGEST_KEY = 4096
_PRIME = 2**255 - 19
_NAUGHT = {0, 1, _PRIME - 1}
#: Points of order 1, 2, 4 and 8, by curve: under such an Ed25519 key anybody's signature holds,
#: and such an X25519 key makes one shared secret for everybody (RFC 7748 section 6.1).
_SMALL = {
    "Ed25519": _NAUGHT
    | {
        int.from_bytes(bytes.fromhex(point), "little")
        for point in (
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        )
    },
    "X25519": _NAUGHT
    | {
        int.from_bytes(bytes.fromhex(point), "little")
        for point in (
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        )
    },
}


def pin(key: Key) -> str:
    """:returns: ``sha256/`` and base64, of the public half."""
    spki = key.public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Pin.of_spki(spki).text


def generate(curve: Curve) -> Key:
    """:returns: a new private key."""
    return OKPKey.generate_key(curve)


def trusted(*keys: Key) -> dict[str, Key]:
    """:returns: by thumbprint: who may say something."""
    return {key.thumbprint(): key for key in keys}


def public_jwk(key: Key) -> dict[str, str]:
    """:returns: ``kty``, ``crv`` and ``x``, and nothing else."""
    return {name: str(key.as_dict(private=False)[name]) for name in ("kty", "crv", "x")}


def private_jwk(key: Key) -> dict[str, str]:
    """
    :returns: ``kty``, ``crv``, ``x`` and ``d``: a secret.
    :raises ValueError: for a key without its private half.
    """
    return {**public_jwk(key), "d": str(key.as_dict(private=True)["d"])}


def public_key(jwk: object, curve: Curve) -> Key:
    """
    Take a JWK that somebody else sent.

    :raises Rejected: ``invalid-key`` unless it is a public key of this curve with nothing else in
        it, in its one spelling, and of full order.
    """
    return _imported(jwk, curve, {"kty", "crv", "x"})


def public_keys(jwks: Iterable[object], curve: Curve) -> dict[str, Key]:
    """
    :returns: by thumbprint, each key once.
    :raises Rejected: ``invalid-key`` for the first one that is none.
    """
    return trusted(*(public_key(jwk, curve) for jwk in jwks))


def load(text: bytes, curve: Curve) -> Key:
    """
    Take a private JWK from a file of our own.

    :raises Rejected: ``invalid-key``, saying what is wrong and nothing of what is in it.
    """
    try:
        jwk = parsed(text, _LONGEST_KEY)
    except Rejected:
        raise Rejected("invalid-key", "not a private key as a JWK") from None
    key = _imported(jwk, curve, {"kty", "crv", "x", "d"})
    raw = key.public_key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    if _number(key["x"]) != int.from_bytes(raw, "little"):
        raise Rejected("invalid-key", "its public half belongs to another private half")
    return key


def dumped(key: Key) -> bytes:
    """:returns: the file that :func:`load` reads: a secret."""
    return json.dumps(private_jwk(key)).encode("ascii") + b"\n"


def _imported(jwk: object, curve: Curve, members: set[str]) -> Key:
    if type(jwk) is not dict or set(jwk) != members:
        raise Rejected("invalid-key", f"not a JWK with just {', '.join(sorted(members))}")
    if (jwk["kty"], jwk["crv"]) != ("OKP", curve):
        raise Rejected("invalid-key", f"not of kty OKP and crv {curve}")
    try:
        key = OKPKey.import_key(jwk)
        point = _number(jwk["x"])
    except LEAKS:
        raise Rejected("invalid-key", "not 32 bytes in base64url, in its one spelling") from None
    if curve == "Ed25519":
        point &= 2**255 - 1  # the sign of x stands in the uppermost bit
    if point >= _PRIME or point in _SMALL[curve]:
        raise Rejected("invalid-key", "a point that anybody could sign or open for")
    return key


def _number(encoded: object) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(f"{encoded}="), "little")
