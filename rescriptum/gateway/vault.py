"""Secrets at rest: sealed by AES-256-GCM, each for its name."""

import base64
import hashlib
from typing import Final

from attrs import field, frozen
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..contract.refusals import Rejected

#: Bytes of a secret.
LONGEST: Final = 64 * 1024
#: Bytes that each sealing needs anew, at random.
NONCE: Final = 12
_KEY, _TAG = 32, 16
_HEADER = b"rescriptum secret 1\0"
_ID = 8
_MOST_KEYS = 16


@frozen
class Vault:
    """
    The keys that secrets are sealed with.

    :ivar keys: the first one seals, all of them open: a new one is put before its predecessor.
    """

    keys: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def make(cls) -> "Vault":
        """:returns: with one new key."""
        return cls((AESGCM.generate_key(256),))

    @classmethod
    def load(cls, text: bytes) -> "Vault":
        """
        :param text: a key a line, in base64.
        :raises ValueError: saying what is wrong, and nothing of a key.
        """
        try:
            keys = [base64.b64decode(line, validate=True) for line in text.split()]
        except ValueError:
            keys = []
        if not 1 <= len(keys) <= _MOST_KEYS or any(len(each) != _KEY for each in keys):
            raise ValueError(f"not 1 to {_MOST_KEYS} keys of {_KEY} bytes in base64, one a line")
        return cls(tuple(keys))

    def dumped(self) -> bytes:
        """:returns: the file that :meth:`load` reads: a secret."""
        return b"".join(base64.b64encode(each) + b"\n" for each in self.keys)

    def seal_secret(self, name: str, value: bytes, nonce: bytes) -> bytes:
        """
        :param name: which alone it can be opened for.
        :param nonce: 12 random bytes that were never used before.
        :raises Rejected: ``too-large``.
        """
        if len(value) > LONGEST:
            raise Rejected("too-large", f"a secret has {LONGEST} bytes at most")
        if len(nonce) != NONCE:
            raise ValueError(f"a nonce of {len(nonce)} bytes, not {NONCE}")
        head = _HEADER + _id(self.keys[0]) + nonce
        return head + AESGCM(self.keys[0]).encrypt(nonce, value, _about(head, name))

    def open_secret(self, name: str, sealed: bytes) -> bytes:
        """
        :raises Rejected: ``secret-unreadable``: sealed with another key, for another name, or
            damaged.
        """
        at = len(_HEADER) + _ID
        head, body = sealed[: at + NONCE], sealed[at + NONCE :]
        if not head.startswith(_HEADER) or len(body) < _TAG:
            raise Rejected("secret-unreadable", f"{name[:128]}: not a sealed secret")
        for key in self.keys:
            if _id(key) == head[len(_HEADER) : at]:
                try:
                    return AESGCM(key).decrypt(head[at:], body, _about(head, name))
                except InvalidTag:
                    raise Rejected(
                        "secret-unreadable", f"{name[:128]}: damaged, or another secret's"
                    ) from None
        said = head[len(_HEADER) : at].hex()
        raise Rejected("secret-unreadable", f"{name[:128]}: sealed with key {said}, not here")


def _id(key: bytes) -> bytes:
    return hashlib.sha256(b"rescriptum secrets key\0" + key).digest()[:_ID]


def _about(head: bytes, name: str) -> bytes:
    return head + name.encode("utf-8", "surrogatepass")
