"""A YAML document as nodes: what is where in its text, and the plain value of each."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from attrs import define, field
from ruamel.yaml.resolver import implicit_resolvers

#: A text that needs no quotes anywhere, unless some reader has another idea of it.
WORD = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.-]*")
#: By the first character: what some reader, of YAML 1.1 or 1.2, takes for more than a text.
_TYPED: dict[str, tuple[Any, ...]] = {}
for _versions, _tag, _pattern, _firsts in implicit_resolvers:
    for _first in _firsts:
        _TYPED[_first] = (*_TYPED.get(_first, ()), _pattern)


class Raw(NamedTuple):
    """
    A scalar that is no text, or not to every reader: kept as it is written, never converted.

    :ivar tag: where it has one of its own.
    """

    text: str
    tag: str = ""

    def __str__(self) -> str:
        return self.text


MERGE = Raw("<<")
#: Nothing, however it is written.
NULL = Raw("")

_NOTHING = ("", "~", "null", "Null", "NULL")


@define(eq=False)
class Node:
    """
    :ivar start: where it is in the text; ``end`` likewise. The end of a collection of lines is
        where the next thing begins, comments between them or not.
    :ivar value: plain: a dict, a list, a str or a ``Raw``.
    :ivar size: how many values it is, aliases counted as what they name; ``height`` how deep.
    """

    start: int
    end: int
    value: object = ""
    size: int = 1
    height: int = 0


@define(eq=False)
class Scalar(Node):
    """
    :ivar text: what is written, unquoted.
    :ivar style: the quotes around it, or ``|`` or ``>``; empty for none.
    :ivar prefixed: whether it has a tag or an anchor.
    """

    text: str = ""
    style: str = ""
    prefixed: bool = False


@define(eq=False)
class Alias(Node):
    """``*name``."""


@define(eq=False)
class Items(Node):
    """A list."""

    flow: bool = False
    prefixed: bool = False
    nodes: list[Node] = field(factory=list)


@define(eq=False)
class Pairs(Node):
    """A table, its keys in order."""

    flow: bool = False
    prefixed: bool = False
    pairs: list[tuple[Scalar, Node]] = field(factory=list)


@lru_cache(4096)  # the keys of a fleet's documents are the same few
def typed(text: str) -> bool:
    """:returns: whether a reader takes the bare ``text`` for a number, a date, nothing …"""
    return any(pattern.match(text) for pattern in _TYPED.get(text[:1], ()))


def scalar_value(text: str, bare: bool) -> str | Raw:
    if not (bare and typed(text)):
        return text
    return NULL if text in _NOTHING else Raw(text)


class Doubled(Exception):
    """:ivar key: it is in its table already."""

    def __init__(self, key: Scalar) -> None:
        super().__init__(key.text)
        self.key = key


def close(node: Pairs | Items) -> None:
    """
    The plain value of a collection, once all is in it.

    :raises Doubled: for a key that comes again.
    """
    if isinstance(node, Items):
        node.value = [each.value for each in node.nodes]
        inner = node.nodes
    else:
        table: dict[object, object] = {}
        for key, value in node.pairs:
            if key.value in table:
                raise Doubled(key)
            table[key.value] = value.value
        node.value = _merged(table) if MERGE in table else table
        inner = [value for _, value in node.pairs]
    node.size = 1 + sum(each.size for each in inner)
    node.height = 1 + max((each.height for each in inner), default=0)


def mergeable(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and all(isinstance(each, dict) for each in value)
    )


def _merged(table: dict[object, object]) -> dict[object, object]:
    """:returns: with what ``<<`` names, which has to give way: the first of several wins."""
    named = table[MERGE]
    merged: dict[object, object] = {}
    for each in reversed(named) if isinstance(named, list) else [named]:
        if isinstance(each, dict):
            merged.update(each)
    return merged | {key: value for key, value in table.items() if key != MERGE}
