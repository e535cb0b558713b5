"""Which ETag a BMC wants to see again: each vendor reads RFC 9110 in its own way (W213-W217)."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from attrs import frozen

#: Changes of one resource that are tried for one change that is asked.
PATCHES: Final = 4


class Tag(Enum):
    """A way to say which state a change is for."""

    HEADER = "header"
    STRONG = "strong"
    INSIDE = "inside"
    NONE = "none"
    ANY = "any"


@frozen
class Tried:
    """
    One change that was tried.

    :ivar value: of If-Match; None: there was no such header.
    """

    way: Tag
    value: str | None


def next_try(known: str, tried: Sequence[Tried], header: str, inside: str) -> Tried | None:
    """
    :param known: the way that held before, which is the first. :param tried: so far.
    :param header: the ETag header of a GET a moment ago; empty for none (W216).
    :param inside: ``@odata.etag`` of its body.
    :returns: what was not tried yet; None when that was all.
    """
    if len(tried) == PATCHES:
        return None
    ways = sorted(Tag, key=lambda each: each.value != known)
    spent = {each.value for each in tried}
    for way in ways:
        value = tag_of(way, header, inside)
        if value not in spent and way not in {each.way for each in tried}:
            return Tried(way, value)
    return None


def tag_of(way: Tag, header: str, inside: str) -> str | None:
    """:returns: the value of If-Match; None for no such header."""
    inside = _sendable(inside)
    header = _sendable(header) or inside
    if way is Tag.ANY:
        return "*"
    if way is Tag.HEADER:
        return header or None
    if way is Tag.STRONG:
        return _strong(header) or None
    if way is Tag.INSIDE:
        return inside or None
    return None


def _sendable(tag: str) -> str:
    return tag.strip() if tag.isascii() and tag.isprintable() and len(tag) <= 512 else ""


def _strong(tag: str) -> str:
    """:returns: ``"x"`` of ``W/"x"``, of ``""x""``, of ``x``."""
    bare = tag.removeprefix("W/").strip('"')
    return f'"{bare}"' if bare else ""
