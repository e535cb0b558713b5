"""Whom a request names: its separate values against the identities of machines and members."""

import re
from collections.abc import Iterable, Mapping
from typing import Self

from attrs import frozen

from .facts import INSIDE, normalise

_MAC = re.compile(r"[0-9a-f]{12}")
_UUID = re.compile(r"[0-9a-f]{32}")


@frozen
class Claim:
    """
    A request named by an identity.

    :ivar specificity: the larger, the less likely by accident: an address or UUID before any
        other name, a longer one before a shorter.
    :ivar owner: the machine or group whose identity it is.
    :ivar identity: as it is spelt.
    """

    specificity: int
    owner: str
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


_Table = Mapping[str, tuple[Claim, ...]]


@frozen(eq=False)
class Index:
    """
    Every identity of an answer set, for looking up instead of looking through: what a request
    costs grows with its own length and with how many *lengths* of identities there are, and is
    the same for a hundred machines and for a hundred thousand.

    :ivar _tables: by length of identity, the shortest first.
    """

    _tables: tuple[tuple[int, _Table], ...] = ()

    @classmethod
    def of(cls, identities: Iterable[tuple[str, str]]) -> Self:
        """:param identities: each with its owner; what normalises to nothing never claims."""
        return cls().changed((), identities)

    def changed(self, gone: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]) -> Self:
        """:returns: the same without ``gone`` and with ``added``, identities and owners."""
        tables = dict(self._tables)
        fresh: dict[int, dict[str, tuple[Claim, ...]]] = {}

        def table(spelling: str) -> dict[str, tuple[Claim, ...]]:
            size = len(spelling)
            if size not in fresh:
                tables[size] = fresh[size] = dict(tables.get(size, {}))
            return fresh[size]

        for claim, spelling in _spelt(gone):
            left = tuple(each for each in table(spelling).pop(spelling, ()) if each != claim)
            if left:
                table(spelling)[spelling] = left
        for claim, spelling in _spelt(added):
            there = table(spelling).get(spelling, ())
            # The same identity written twice is one claim.
            if claim not in there:
                table(spelling)[spelling] = (*there, claim)
        return type(self)(tuple(sorted((size, each) for size, each in tables.items() if each)))

    def claims(self, values: Iterable[str]) -> tuple[Claim, ...]:
        """
        :param values: of one request, normalised and separate.
        :returns: the most specific first; equal ones by owner.
        """
        found: set[Claim] = set()
        for value in values:
            size = len(value)
            for length, table in self._tables:
                if length > size:
                    break
                if length == size:
                    if hit := table.get(value):
                        found.update(hit)
                    break
                if length < INSIDE:
                    continue
                for at in range(size - length + 1):
                    if hit := table.get(value[at : at + length]):
                        found.update(hit)
        if len(found) < 2:
            return tuple(found)
        return tuple(sorted(found, key=_order))

    def named(self, identity: str) -> tuple[Claim, ...]:
        """:returns: the claims of just this identity, however it is spelt."""
        needle = normalise(identity)
        return next(
            (each.get(needle, ()) for size, each in self._tables if size == len(needle)), ()
        )


def _order(claim: Claim) -> tuple[int, str, str]:
    return -claim.specificity, claim.owner, claim.identity


def _spelt(identities: Iterable[tuple[str, str]]) -> Iterable[tuple[Claim, str]]:
    for identity, owner in identities:
        needle = normalise(identity)
        claim = Claim(specificity(needle), owner, identity)
        for spelling in spellings(needle) if needle else ():
            yield claim, spelling
