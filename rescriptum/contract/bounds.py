"""What a peer may put into a field: attrs validators that every message shares."""

from collections.abc import Callable
from typing import Any, Final

from attrs import Attribute

#: Characters of a name, of a sentence, and of a signed message.
NAME, SENTENCE, SIGNED = 128, 2048, 64 * 1024
#: The largest whole number that every JSON reader agrees on.
LARGEST: Final = 2**53 - 1
#: Elements of a list.
MANY = 1000

Validator = Callable[[Any, "Attribute[Any]", Any], None]


def text(longest: int = NAME, empty: bool = False) -> Validator:
    """:param empty: whether there may be nothing in it; None is always fine where it is allowed."""

    def check(_: object, attribute: "Attribute[Any]", value: str | None) -> None:
        if value is None:
            return
        if len(value) > longest:
            raise ValueError(f"longer than {longest} characters")
        if not value and not empty:
            raise ValueError("empty")

    return check


def name() -> Validator:
    """A text that is safe in a path, a log line and a terminal."""

    def check(_: object, attribute: "Attribute[Any]", value: str | None) -> None:
        if value is None:
            return
        if not 0 < len(value) <= NAME:
            raise ValueError(f"not 1 to {NAME} characters")
        if not (value.isascii() and value.isprintable()) or " " in value or "/" in value:
            raise ValueError("not a name: letters, digits, '-', '_', '.' and ':'")

    return check


def number(least: int = 0, most: int = LARGEST) -> Validator:
    """A whole number within bounds."""

    def check(_: object, attribute: "Attribute[Any]", value: int | None) -> None:
        if value is not None and not least <= value <= most:
            raise ValueError(f"not between {least} and {most}")

    return check


def many(most: int = MANY) -> Validator:
    """A list of so many elements."""

    def check(_: object, attribute: "Attribute[Any]", value: tuple[object, ...]) -> None:
        if len(value) > most:
            raise ValueError(f"more than {most}")

    return check
