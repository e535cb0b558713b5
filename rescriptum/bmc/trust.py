"""How a BMC is known to be the right one: one choice out of three, always made by name."""

from enum import Enum
from pathlib import Path
from typing import Self

from attrs import evolve, frozen

from ..contract.pins import Pin


class Vouching(Enum):
    """What vouches for a BMC. ``NOBODY``: whoever answers has the credential."""

    PIN = "pin"
    AUTHORITY = "authority"
    NOBODY = "nobody"


@frozen
class Trust:
    """
    Made by :meth:`by_pin`, :meth:`by_authority` or :meth:`of_anybody`: there is no usual one.

    :ivar pin: of the BMC's own key. :ivar authority: a file of CA certificates in PEM, one of which
        signed for the host of the BMC's URL; None: the host's own.
    :ivar legacy: whether TLS 1.0 and 1.1, short keys and old ciphers are let pass (W209).
    """

    vouching: Vouching
    pin: Pin | None = None
    authority: Path | None = None
    legacy: bool = False

    @classmethod
    def by_pin(cls, text: str) -> Self:
        """:raises ValueError: for a pin that is none."""
        return cls(Vouching.PIN, pin=Pin.parse(text))

    @classmethod
    def by_authority(cls, path: Path | None = None) -> Self:
        """:param path: read when a connection is made; None: those that this host trusts."""
        return cls(Vouching.AUTHORITY, authority=path)

    @classmethod
    def of_anybody(cls) -> Self:
        """No certificate is looked at, and ``http://`` is allowed: for a network of one's own."""
        return cls(Vouching.NOBODY)

    def with_legacy_tls(self) -> "Trust":
        """:returns: the same towards a BMC that knows no better TLS."""
        return evolve(self, legacy=True)
