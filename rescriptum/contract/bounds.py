"""
What a peer may put into a field: attrs validators that every message shares.

Each is a value: JSON Schemas are made of the same bounds.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from attrs import Attribute, frozen

#: Characters of a name, of a sentence, and of a signed message.
NAME, SENTENCE, SIGNED = 128, 2048, 64 * 1024
#: The largest whole number that every JSON reader agrees on.
LARGEST: Final = 2**53 - 1
#: What people may call what they make.
TITLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
#: Elements of a list.
MANY = 1000

Validator = Callable[[Any, "Attribute[Any]", Any], None]


@frozen
class Text:
    """
    A text of bounded length.

    :ivar longest: in characters.
    :ivar empty: whether there may be nothing in it.
    """

    longest: int
    empty: bool

    def __call__(self, _: object, attribute: "Attribute[Any]", value: str | None) -> None:
        if value is None:
            return
        if len(value) > self.longest:
            raise ValueError(f"{attribute.name}: longer than {self.longest} characters")
        if not value and not self.empty:
            raise ValueError(f"{attribute.name}: empty")


@frozen
class Name:
    """A text that is safe in a path, a log line and a terminal."""

    def __call__(self, _: object, attribute: "Attribute[Any]", value: str | None) -> None:
        if value is None:
            return
        if not 0 < len(value) <= NAME:
            raise ValueError(f"{attribute.name}: not 1 to {NAME} characters")
        if not is_name(value):
            raise ValueError(
                f"{attribute.name}: not a name: letters, digits, '-', '_', '.' and ':'"
            )


@frozen
class Title:
    """A name that people choose for what they make: safe as a part of a URL, too."""

    def __call__(self, _: object, attribute: "Attribute[Any]", value: str | None) -> None:
        if value is not None and not TITLE.fullmatch(value):
            raise ValueError(
                f"{attribute.name}: not up to {NAME} letters, digits, '-', '_' and '.', the first"
                " of them a letter or digit"
            )


@frozen
class Number:
    """A whole number within bounds, both included."""

    least: int
    most: int

    def __call__(self, _: object, attribute: "Attribute[Any]", value: int | None) -> None:
        if value is not None and not self.least <= value <= self.most:
            raise ValueError(f"{attribute.name}: not between {self.least} and {self.most}")


@frozen
class Many:
    """A list of at most so many elements."""

    most: int

    def __call__(
        self, _: object, attribute: "Attribute[Any]", value: tuple[object, ...] | None
    ) -> None:
        if value is not None and len(value) > self.most:
            raise ValueError(f"{attribute.name}: more than {self.most}")


def is_name(text: str) -> bool:
    """:returns: whether :func:`name` would take it."""
    plain = text.isascii() and text.isprintable() and " " not in text and "/" not in text
    return plain and 0 < len(text) <= NAME


def text(longest: int = NAME, empty: bool = False) -> Validator:
    """:param empty: whether there may be nothing in it; None is always fine where it is allowed."""
    return Text(longest, empty)


def name() -> Validator:
    """A text that is safe in a path, a log line and a terminal."""
    return Name()


def title() -> Validator:
    """A name that people choose for what they make."""
    return Title()


def number(least: int = 0, most: int = LARGEST) -> Validator:
    """A whole number within bounds."""
    return Number(least, most)


def many(most: int = MANY) -> Validator:
    """A list of so many elements."""
    return Many(most)
