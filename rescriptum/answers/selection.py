"""Which machines a request names: its separate values against the names of machine directories."""

import re
from collections.abc import Iterable, Mapping
from typing import Self

from attrs import frozen

from .facts import normalise

#: An identity of so many characters may be a part of a value; a shorter one is the whole of it.
INSIDE = 6

_MAC = re.compile(r"[0-9a-f]{12}")
_UUID = re.compile(r"[0-9a-f]{32}")


@frozen
class Claim:
    """
    A machine that a request names.

    :ivar specificity: the larger, the less likely by accident: an address or UUID before any
        other name, a longer one before a shorter.
    :ivar identity: the directory's name, as it is spelt.
    """

    specificity: int
    identity: str


def spellings(needle: str) -> tuple[str, ...]:
    """
    :param needle: a normalised identity.
    :returns: it, and for a UUID its other byte order: SMBIOS, DHCP and iPXE may print one
        machine's differently (W078).
    """
    if not _UUID.fullmatch(needle):
        return (needle,)
    octets = bytes.fromhex(needle)
    other = octets[3::-1] + octets[5:3:-1] + octets[7:5:-1] + octets[8:]
    return (needle, other.hex()) if other != octets else (needle,)


def claims(needle: str, value: str) -> bool:
    """
    The rule itself.

    :param needle: a spelling of an identity; ``value`` one value of a request. Both normalised.
    """
    return needle in value if len(needle) >= INSIDE else needle == value and needle != ""


def specificity(needle: str) -> int:
    hardware = _MAC.fullmatch(needle) or _UUID.fullmatch(needle)
    return len(needle) + (1000 if hardware else 0)  # names of directories have at most 255 bytes


@frozen
class Index:
    """
    Every identity of an answer set, for looking up instead of looking through: what a request
    costs grows with its own length and with how many *lengths* of identities there are, and is
    the same for a hundred machines and for a hundred thousand.
    """

    _whole: Mapping[str, tuple[Claim, ...]]
    _inside: tuple[tuple[int, Mapping[str, tuple[Claim, ...]]], ...]

    @classmethod
    def of(cls, identities: Iterable[str]) -> Self:
        """:param identities: as directories are named; what normalises to nothing never claims."""
        whole: dict[str, tuple[Claim, ...]] = {}
        inside: dict[int, dict[str, tuple[Claim, ...]]] = {}
        for identity in sorted(identities):
            needle = normalise(identity)
            claim = Claim(specificity(needle), identity)
            for spelling in spellings(needle) if needle else ():
                size = len(spelling)
                table = whole if size < INSIDE else inside.setdefault(size, {})
                table[spelling] = (*table.get(spelling, ()), claim)
        return cls(whole, tuple(sorted(inside.items())))

    def claims(self, values: Iterable[str]) -> tuple[Claim, ...]:
        """
        :param values: of one request, normalised and separate.
        :returns: the most specific first; equal ones by name.
        """
        found: set[Claim] = set()
        for value in values:
            if hit := self._whole.get(value):
                found.update(hit)
            size = len(value)
            for length, table in self._inside:
                if length > size:
                    break
                for at in range(size - length + 1):
                    if hit := table.get(value[at : at + length]):
                        found.update(hit)
        return tuple(sorted(found, key=lambda claim: (-claim.specificity, claim.identity)))
