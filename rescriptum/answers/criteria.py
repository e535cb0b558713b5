"""Selectors: patterns that the facts of a request have to fit."""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Protocol, Self

from attrs import frozen

from ..errors import MalformedDocument

#: The fact whose patterns are addresses and networks: where the request came from.
PEER = "peer"
#: Of one pattern, in characters.
MAX_PATTERN = 256

_DROPPED = re.compile(r"[^a-z0-9*?]")
_STARS = re.compile(r"\*+")


class Carried(Protocol):
    """What a request carries: :class:`rescriptum.answers.facts.Facts` is one."""

    def normalised(self, label: str) -> tuple[str, ...]:
        """:returns: the values of the fact ``label``, letters and digits only, lower case."""

    @property
    def peer(self) -> str:
        """The address that the request came from; empty where nobody asked."""


@frozen
class Glob:
    """``*`` is any run, ``?`` one character; letters and digits count, in any case."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """:raises ValueError: for a pattern that could never fit, or is too long."""
        if len(text) > MAX_PATTERN:
            raise ValueError(f"a pattern of more than {MAX_PATTERN} characters")
        kept = _STARS.sub("*", _DROPPED.sub("", text.lower()))
        if not kept:
            raise ValueError(f"a pattern with a letter, a digit, * or ?, not {text!r}")
        return cls(kept)

    def fits(self, value: str) -> bool:
        """
        :param value: normalised. At most its length times the pattern's steps are taken: the
            last star alone is gone back to, which is enough.
        """
        pattern = self.text
        at = step = 0
        star, resume = -1, 0
        while at < len(value):
            if step < len(pattern) and pattern[step] in ("?", value[at]):
                at, step = at + 1, step + 1
            elif step < len(pattern) and pattern[step] == "*":
                star, resume, step = step, at, step + 1
            elif star >= 0:
                resume += 1
                at, step = resume, star + 1
            else:
                return False
        return pattern[step:] in ("", "*")


Pattern = Glob | IPv4Network | IPv6Network


@frozen
class Criterion:
    """
    One fact and the patterns for it, ``product = ["R6*", "!R640xd"]``.

    It holds when the request carries the fact, one of ``wanted`` fits one of its values (where
    any is wanted), and none of ``unwanted`` fits any. A fact that is not carried fits nothing,
    a negation either: what nobody said is no reason to install.
    """

    label: str
    wanted: tuple[Pattern, ...]
    unwanted: tuple[Pattern, ...]
    text: str

    @classmethod
    def of(cls, label: str, patterns: Sequence[str]) -> Self:
        """:raises MalformedDocument: naming the fact and what would be right."""
        label = label.lower()
        wanted: list[Pattern] = []
        unwanted: list[Pattern] = []
        if not patterns:
            raise MalformedDocument(f"match.{label}: want a pattern, or a list of them")
        parse = _network if label == PEER else Glob.parse
        for text in patterns:
            try:
                if text.startswith("!"):
                    unwanted.append(parse(text[1:]))
                else:
                    wanted.append(parse(text))
            except ValueError as e:
                raise MalformedDocument(f"match.{label}: want {e}") from None
        said = [" or ".join(each for each in patterns if not each.startswith("!"))]
        said += [f"not {each[1:]}" for each in patterns if each.startswith("!")]
        text = " and ".join(each for each in said if each)
        return cls(label, tuple(wanted), tuple(unwanted), text)

    def holds(self, facts: Carried) -> bool:
        """:returns: whether the facts of a request fit."""
        values: Iterable[str] = (facts.peer,) if self.label == PEER else ()
        values = [each for each in values or facts.normalised(self.label) if each]
        if not values:
            return False
        wanted = not self.wanted or any(_fits(p, v) for p in self.wanted for v in values)
        return wanted and not any(_fits(p, v) for p in self.unwanted for v in values)

    def __str__(self) -> str:
        """For people: ``product = R6* or R7* and not R640xd``."""
        return f"{self.label} = {self.text}"


def _network(text: str) -> Pattern:
    try:
        return ip_network(text.strip())
    except ValueError:
        raise ValueError(f"an address, or a network as 192.0.2.0/24, not {text!r}") from None


def _fits(pattern: Pattern, value: str) -> bool:
    if isinstance(pattern, Glob):
        return pattern.fits(value)
    try:
        address = ip_address(value.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)  # how IPv4 arrives at a listener on [::]
    return (mapped or address) in pattern
