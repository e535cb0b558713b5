"""How firmware is told its boot file by DHCP: what operators chose for those that mishandle it."""

from collections.abc import Mapping
from enum import Enum
from typing import Final, Self

from attrs import field, frozen

from .loaders import ARCHITECTURES


class Strategy(Enum):
    """What option 43 of an answer says: no one way is right for all firmware (W021, W022)."""

    #: Load the named file, ask nobody else.
    DIRECT = "direct"
    #: Nothing: the client asks on port 4011 again.
    BOUNCE = "bounce"
    #: As ``direct``, with a prompt of no seconds.
    PROMPT = "direct+prompt"


DEFAULT: Final = Strategy.DIRECT
_TAGS: Final = frozenset(row.tag for row in ARCHITECTURES)


@frozen
class Preferences:
    """
    Strategies that an operator chose; the narrowest counts.

    :ivar machines: by MAC, six bytes. :ivar vendors: by its first three.
    :ivar architectures: by tags of the architecture table.
    """

    machines: Mapping[bytes, Strategy] = field(factory=dict)
    vendors: Mapping[bytes, Strategy] = field(factory=dict)
    architectures: Mapping[str, Strategy] = field(factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        :param text: ``WHOM=STRATEGY`` with commas between; WHOM is a MAC, its first three octets,
            or a tag of the architecture table such as ``efi64``.
        :raises ValueError: for anything else.
        """
        machines: dict[bytes, Strategy] = {}
        vendors: dict[bytes, Strategy] = {}
        architectures: dict[str, Strategy] = {}
        for each in filter(None, (part.strip() for part in text.split(","))):
            whom, _, name = each.partition("=")
            try:
                strategy = Strategy(name)
            except ValueError:
                ways = ", ".join(way.value for way in Strategy)
                raise ValueError(f"want WHOM=STRATEGY with one of {ways}, not {each!r}") from None
            if whom in _TAGS:
                architectures[whom] = strategy
                continue
            octets = _octets(whom)
            (machines if len(octets) == 6 else vendors)[octets] = strategy
        return cls(machines, vendors, architectures)

    def find(self, mac: bytes, tag: str) -> Strategy | None:
        """:returns: None: nobody chose one."""
        return self.machines.get(mac) or self.vendors.get(mac[:3]) or self.architectures.get(tag)


def _octets(whom: str) -> bytes:
    parts = whom.replace("-", ":").split(":")
    try:
        if not all(len(each) == 2 for each in parts) or len(parts) not in (3, 6):
            raise ValueError
        return bytes.fromhex("".join(parts))
    except ValueError:
        tags = ", ".join(sorted(_TAGS))
        raise ValueError(
            f"want a MAC such as 52:54:00:12:34:56, its first three octets, or one of {tags},"
            f" not {whom!r}"
        ) from None
