"""What documents of plain values say at their head, and the line of what is wrong with it."""

from collections.abc import Callable

from ...errors import MalformedDocument
from ..control import KEYS, NOTHING, Control
from ..template import OPEN, Template
from . import plain
from .places import unreadable


def has_placeholders(
    top: object, line: Callable[[plain.Path, str, MalformedDocument], int]
) -> bool:
    """
    :param top: a document.
    :param line: that a text is on, by where it is in the document, what it is, and what is wrong.
    :raises MalformedDocument: for a placeholder that cannot be read, or one nested too deep.
    """
    found = False
    for path, text in plain.texts(plain.served(top)):
        if OPEN in text:
            found = True
            try:
                Template.parse(text)
            except MalformedDocument as e:
                raise unreadable(line(path, text, e), plain.shown(path), e) from None
    return found


def control(top: object, line: Callable[[plain.Path], int]) -> Control:
    """
    :param top: a document, or what it says of itself alone.
    :param line: that a key is on, by where it is in the document.
    :raises MalformedDocument: naming the line, the key and what would be right.
    """
    if not isinstance(top, dict) or top.keys().isdisjoint(KEYS):
        return NOTHING
    try:
        return Control.of_table(top)
    except MalformedDocument as e:
        path = tuple(str(e).partition(":")[0].split("."))
        raise MalformedDocument(f"line {line(path)}: {e}") from None
