"""Placeholders in documents: ``{{ name }}``, four filters, a literal ``{{``, and nothing more."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Protocol, Self

from attrs import evolve, frozen

from ..errors import MalformedDocument, Unfillable

#: Bounds on what a request can make of a document, in characters: one value, all of the output.
MAX_VALUE = 1024
MAX_OUTPUT = 4 * 1024 * 1024
#: How many fact names an error lists.
_SHOWN = 30

OPEN = "{{"
_BLANK = r"[ \t]*"
_TEXT = r'"((?:[^"\\\x00-\x1f\x7f]|\\["\\])*)"'
_NAME = re.compile(rf"{_BLANK}([A-Za-z0-9._-]+){_BLANK}")
_LITERAL = re.compile(rf'{_BLANK}"(\{{\{{|\}}\}})"{_BLANK}\}}\}}')
_FILTER = re.compile(
    rf"\|{_BLANK}(\w+){_BLANK}(?:\({_BLANK}{_TEXT}{_BLANK}(?:,{_BLANK}{_TEXT}{_BLANK})?\))?{_BLANK}"
)
_ESCAPE = re.compile(r'\\(["\\])')
#: Controls, lone surrogates, and the two separators that some parsers take for line ends.
_REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})
#: Not characters at all: YAML and XML cannot hold them.
_NEVER = frozenset("\ufffe\uffff")

#: The filters: how many texts each takes, and what it makes of a value that is there.
#: ``default`` is what makes one of a value that is not.
FILTERS: dict[str, tuple[int, Callable[..., str]]] = {
    "default": (1, lambda value, other: value),
    "lower": (0, str.lower),
    "upper": (0, str.upper),
    "replace": (2, str.replace),
}


@frozen
class Filter:
    """One step from a fact to what is written, ``| name("a","b")``."""

    name: str
    arguments: tuple[str, ...] = ()

    def apply(self, value: str | None) -> str | None:
        if value is None:
            return self.arguments[0] if self.name == "default" else None
        return FILTERS[self.name][1](value, *self.arguments)


class Carried(Protocol):
    """What a request carries: :class:`rescriptum.answers.facts.Facts` is one."""

    def first(self, name: str) -> str | None:
        """:returns: the value of ``name``, or None."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of everything carried."""


@frozen
class Placeholder:
    """
    A place that a fact fills.

    :ivar name: of the fact.
    :ivar filters: in order; a missing value goes through them up to the first default.
    :ivar encode: how the document's format writes a text in that place.
    """

    name: str
    filters: tuple[Filter, ...] = ()
    encode: Callable[[str], str] = str

    def fill(self, facts: Carried) -> str:
        """:raises Unfillable: for a value that is missing, too long or holds controls."""
        value = facts.first(self.name)
        if value is not None:
            self._check(value)
        for each in self.filters:
            value = each.apply(value)
        if value is None:
            names = [name for name in facts.names if _NAME.fullmatch(name)]
            carried = ", ".join(sorted(names)[:_SHOWN]) or "nothing"
            raise Unfillable(
                f'template needs {{{{ {self.name} }}}}, but this request carries no "{self.name}"; '
                f"it carries {carried}" + (" …" if len(names) > _SHOWN else "")
            )
        return self.encode(value)

    def _check(self, value: str) -> None:
        if len(value) > MAX_VALUE:
            raise Unfillable(f"the value of {self.name} is longer than {MAX_VALUE} characters")
        if not value.isprintable() and any(
            c in _NEVER or unicodedata.category(c) in _REFUSED for c in value
        ):
            raise Unfillable(f"the value of {self.name} holds a control character")


@frozen
class Template:
    """
    A text with places to fill.

    :ivar parts: in order, text as it stands and places.
    """

    parts: tuple[str | Placeholder, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """:raises MalformedDocument: for a placeholder that cannot be read, with its line."""
        parts: list[str | Placeholder] = []
        at = 0
        while (start := text.find(OPEN, at)) >= 0:
            parts.append(text[at:start])
            part, at = _placeholder(text, start)
            parts.append(part)
        parts.append(text[at:])
        return cls(tuple(part for part in parts if part != ""))

    @classmethod
    def joined(cls, parts: Iterable[str | Self]) -> Self:
        """:returns: one template of texts as they stand and of templates, in order."""
        flat: list[str | Placeholder] = []
        for part in parts:
            flat += [part] if isinstance(part, str) else part.parts
        return cls(tuple(part for part in flat if part != ""))

    def encoded(self, encode: Callable[[str], str]) -> Self:
        """:returns: the same, each text and what fills each place written by ``encode``."""
        return type(self)(
            tuple(
                encode(part) if isinstance(part, str) else evolve(part, encode=encode)
                for part in self.parts
            )
        )

    def unfilled(self) -> str:
        """:returns: the text with the names of facts in its places, for people."""
        return "".join(
            part if isinstance(part, str) else f"{{{{ {part.name} }}}}" for part in self.parts
        )

    def fill(self, facts: Carried) -> str:
        """:raises Unfillable: for a place that this request cannot fill, or fills beyond bounds."""
        filled, room = [], MAX_OUTPUT
        for part in self.parts:
            text = part if isinstance(part, str) else part.fill(facts)
            room -= len(text)
            if room < 0:
                raise Unfillable(f"the filled document is longer than {MAX_OUTPUT} characters")
            filled.append(text)
        return "".join(filled)


def _placeholder(text: str, start: int) -> tuple[str | Placeholder, int]:
    """:returns: what begins at ``start``, and where it ends."""
    at = start + len(OPEN)
    if literal := _LITERAL.match(text, at):
        return literal[1], literal.end()
    name = _NAME.match(text, at)
    if name is None:
        raise _malformed(text, start)
    at, filters = name.end(), []
    while found := _FILTER.match(text, at):
        filters.append(_filter(text, start, found))
        at = found.end()
    if not text.startswith("}}", at):
        raise _malformed(text, start)
    return Placeholder(name[1], tuple(filters)), at + 2


def _malformed(text: str, start: int, reason: str | None = None) -> MalformedDocument:
    line = text.count("\n", 0, start) + 1
    if reason is None:
        rest = text[start:].partition("\n")[0]
        if "}}" not in rest:
            reason = "{{ without }} on the same line"
        else:
            reason = f"{rest[: rest.index('}}') + 2]!r} is not {{{{ name }}}} with known filters"
    return MalformedDocument(f"line {line}: {reason}")


def _filter(text: str, start: int, found: re.Match[str]) -> Filter:
    name, *quoted = found.groups()
    arguments = tuple(_ESCAPE.sub(r"\1", each) for each in quoted if each is not None)
    if (
        name not in FILTERS
        or FILTERS[name][0] != len(arguments)
        or (name, *arguments)[:2]
        == (
            "replace",
            "",
        )
    ):
        raise _malformed(text, start, f"no filter {found[0].strip()}")
    return Filter(name, arguments)
