"""Whom a request names: its separate values against the identities of machines and members."""

import re
from collections.abc import Iterable, Mapping
from itertools import filterfalse
from typing import Self

from attrs import field, frozen

from .facts import INSIDE, MAX_TEXT, normalise

_MAC = re.compile(r"[0-9a-f]{12}")
_UUID = re.compile(r"[0-9a-f]{32}")
#: So many beginnings are looked for one by one.
_FEW = 8
#: Where an identity of hexadecimal digits can be a part of a value.
_DIGITS = re.compile(rf"[0-9a-f]{{{INSIDE},}}")


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


def is_address(identity: str) -> bool:
    """:returns: whether an identity, as it is spelt, is a MAC address."""
    return _MAC.fullmatch(normalise(identity)) is not None


def specificity(needle: str) -> int:
    hardware = _MAC.fullmatch(needle) or _UUID.fullmatch(needle)
    return len(needle) + (1000 if hardware else 0)  # names of directories have at most 255 bytes


@frozen(eq=False)
class Beginnings:
    """
    How identities begin that may be a part of a value: where none of them begins, there is none.

    :ivar starts: their first ``INSIDE`` characters, and how many of which length begin so.
    :ivar lengths: how many there are of which length.
    :ivar shortest: of the lengths; no value is that short where there are none.
    """

    starts: Mapping[str, Mapping[int, int]] = field(factory=dict)
    lengths: Mapping[int, int] = field(factory=dict)
    shortest: int = MAX_TEXT

    def changed(self, gone: Iterable[str], added: Iterable[str]) -> Self:
        """:returns: the same without the spellings ``gone`` and with ``added``."""
        changes = [*((each, -1) for each in gone), *((each, 1) for each in added)]
        if not changes:
            return self
        starts, lengths = dict(self.starts), dict(self.lengths)
        fresh: dict[str, dict[int, int]] = {}
        for spelling, change in changes:
            start, size = spelling[:INSIDE], len(spelling)
            counts = fresh.get(start)
            if counts is None:
                counts = fresh[start] = dict(starts.pop(start, {}))
            counts[size] = counts.get(size, 0) + change
            lengths[size] = lengths.get(size, 0) + change
        starts.update((start, left) for start, each in fresh.items() if (left := _left(each)))
        lengths = _left(lengths)
        return type(self)(starts, lengths, min(lengths, default=MAX_TEXT))

    @property
    def few(self) -> bool:
        """A rack's addresses have one vendor's beginning, or two: those can be searched for."""
        return len(self.starts) <= _FEW

    def within(self, text: str) -> list[str]:
        """:returns: the parts of ``text`` that begin as an identity of their length does."""
        starts: Mapping[str, Mapping[int, int]] = self.starts
        parts: list[str] = []
        if self.few:
            for start, lengths in starts.items():
                at = text.find(start)
                while at >= 0:
                    parts += [text[at : at + length] for length in lengths]
                    at = text.find(start, at + 1)
            return parts
        for at in range(len(text) - self.shortest + 1):
            found = starts.get(text[at : at + INSIDE])
            if found is not None:
                parts += [text[at : at + length] for length in found]
        return parts


def _left(counts: Mapping[int, int]) -> dict[int, int]:
    return {size: count for size, count in counts.items() if count}


@frozen(eq=False)
class Index:
    """
    Every identity of an answer set, for looking up instead of looking through: what a request
    costs grows with its own length, and is the same for a hundred machines and for a hundred
    thousand.

    :ivar known: by spelling.
    :ivar digits: the beginnings of those that are hexadecimal digits alone, as addresses are:
        they are looked for where such digits are only; ``others``: of all the others.
    """

    known: Mapping[str, tuple[Claim, ...]] = field(factory=dict)
    digits: Beginnings = Beginnings()
    others: Beginnings = Beginnings()

    @classmethod
    def of(cls, identities: Iterable[tuple[str, str]]) -> Self:
        """:param identities: each with its owner; what normalises to nothing never claims."""
        return cls().changed((), identities)

    def changed(self, gone: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]) -> Self:
        """:returns: the same without ``gone`` and with ``added``, identities and owners."""
        left, come = dict.fromkeys(gone), dict.fromkeys(added)
        if left.keys() == come.keys():
            return self
        known = dict(self.known)
        touched: dict[str, None] = {}
        for claim, spelling in _spelt(each for each in left if each not in come):
            touched[spelling] = None
            others = tuple(each for each in known.pop(spelling, ()) if each != claim)
            if others:
                known[spelling] = others
        for claim, spelling in _spelt(each for each in come if each not in left):
            touched[spelling] = None
            there = known.get(spelling, ())
            # The same identity written twice is one claim.
            if claim not in there:
                known[spelling] = (*there, claim)
        inside = [each for each in touched if len(each) >= INSIDE]
        off = [each for each in inside if each not in known]
        on = [each for each in inside if each not in self.known]
        return type(self)(
            known,
            self.digits.changed(filter(_DIGITS.fullmatch, off), filter(_DIGITS.fullmatch, on)),
            self.others.changed(
                filterfalse(_DIGITS.fullmatch, off), filterfalse(_DIGITS.fullmatch, on)
            ),
        )

    def claims(self, values: Iterable[str]) -> tuple[Claim, ...]:
        """
        :param values: of one request, normalised and separate.
        :returns: the most specific first; equal ones by owner.
        """
        known, digits, others = self.known, self.digits, self.others
        if not known:  # as of most formats' groups, and all are asked where no alias is
            return ()
        said = tuple(values)
        parts = list(said)
        # No identity has a blank: what begins in one value does not end in the next.
        text = " ".join(said)
        parts += others.within(text)
        for run in (text,) if digits.few else _DIGITS.findall(text):
            parts += digits.within(run)
        found = {claim for part in parts if part in known for claim in known[part]}
        if len(found) < 2:
            return tuple(found)
        return tuple(sorted(found, key=_order))

    def named(self, identity: str) -> tuple[Claim, ...]:
        """:returns: the claims of just this identity, however it is spelt."""
        return self.known.get(normalise(identity), ())


def _order(claim: Claim) -> tuple[int, str, str]:
    return -claim.specificity, claim.owner, claim.identity


def _spelt(identities: Iterable[tuple[str, str]]) -> Iterable[tuple[Claim, str]]:
    for identity, owner in identities:
        needle = normalise(identity)
        claim = Claim(specificity(needle), owner, identity)
        for spelling in spellings(needle) if needle else ():
            yield claim, spelling
