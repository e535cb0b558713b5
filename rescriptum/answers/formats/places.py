"""Where in a document something stands that is wrong, for whoever has to mend it."""

import json
import re

from ...errors import MalformedDocument
from ..template import OPEN

_BOM = b"\xef\xbb\xbf"
#: Only so long, and without braces of its own: a line may be a million of them.
_PLACEHOLDER = re.compile(r"\{\{[^\n{}]{0,200}\}\}")


def decoded(data: bytes) -> str:
    """:raises MalformedDocument: unless ``data`` is UTF-8 as structured documents have it."""
    if data.startswith((_BOM, b"\xff\xfe", b"\xfe\xff")):
        raise MalformedDocument("line 1: begins with a byte order mark: save it as UTF-8 without")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise MalformedDocument(
            f"line {data.count(10, 0, e.start) + 1}: byte {data[e.start]:#04x} is not UTF-8"
        ) from None


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def wrong(text: str, line: int, reason: str, quote: str = "\"'") -> MalformedDocument:
    """
    :param quote: what may be around a text in the format.
    :returns: the error. A placeholder without quotes is the usual reason: then it says so.
    """
    here = text.split("\n")[line - 1 : line]
    found = _PLACEHOLDER.search(here[0]) if here else None
    if found is None or any(here[0].count(each, 0, found.start()) % 2 for each in "\"'"):
        return MalformedDocument(f"line {line}: {reason}")
    mark = next((each for each in quote if each not in found[0]), None)
    quoted = json.dumps(found[0]) if mark is None else f"{mark}{found[0]}{mark}"
    return MalformedDocument(f"line {line}: {reason}; a placeholder stands in quotes: {quoted}")


def unreadable(line: int, path: str, error: MalformedDocument) -> MalformedDocument:
    """
    :param error: what :meth:`rescriptum.answers.template.Template.parse` says of one text.
    :returns: the same, said of the document.
    """
    reason = re.sub(r"^line \d+: ", "", str(error))
    return MalformedDocument(f"line {line}: {path}: {reason}" if path else f"line {line}: {reason}")


def placed(data: bytes) -> bool:
    """:returns: whether there may be a placeholder: its braces, or an escape that may be one."""
    return OPEN.encode("ascii") in data or b"\\u" in data or b"\\U" in data or b"\\x" in data
