"""Pins: public keys by their SHA-256, whatever has them: a CA, a BMC, a signer."""

import base64
import hashlib
import hmac
from typing import Self

from attrs import frozen


@frozen
class Pin:
    """
    The SHA-256 of a public key, as configurations spell it: ``sha256/`` and base64.

    :ivar text: 51 characters, in one spelling.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        :raises ValueError: saying what a pin looks like.
        """
        encoded = text.strip().removeprefix("sha256/")
        try:
            made = cls.of_hash(base64.b64decode(encoded, validate=True))
        except ValueError:
            made = None
        if made is None or made.text != text.strip():
            raise ValueError(
                "a pin is 'sha256/' and 44 characters of base64, as"
                " 'rescriptum gateway pins' prints it"
            )
        return made

    @classmethod
    def of_hash(cls, digest: bytes) -> Self:
        """:raises ValueError: unless ``digest`` has the length of a SHA-256."""
        if len(digest) != 32:
            raise ValueError(f"{len(digest)} bytes, not the 32 of a SHA-256")
        return cls("sha256/" + base64.b64encode(digest).decode("ascii"))

    @classmethod
    def of_spki(cls, spki: bytes) -> Self:
        """:param spki: a SubjectPublicKeyInfo in DER (RFC 5280 section 4.1)."""
        return cls.of_hash(hashlib.sha256(spki).digest())

    def __str__(self) -> str:
        return self.text

    def matches(self, other: "Pin") -> bool:
        """Compare in a time that says nothing of where they differ."""
        return hmac.compare_digest(self.text, other.text)
