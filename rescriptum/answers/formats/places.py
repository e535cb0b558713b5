"""Where in a document something stands that is wrong, for whoever has to mend it."""

import json
import re

from ...errors import MalformedDocument
from ..template import OPEN

_BOM = b"\xef\xbb\xbf"
#: Only so long, and without braces of its own: a line may be a million of them.
_PLACEHOLDER = re.compile(r"\{\{[^\n{}]{0,200}\}\}")
_BARE_QUOTE = re.compile(r'(?<!\\)"')


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
    :param quote: what may be around a text in the format, if there is a choice.
    :returns: the error. A placeholder whose quotes are missing, or end it in its middle, is the
        usual reason: then it says so.
    """
    here = text.split("\n")[line - 1 : line]
    found = _PLACEHOLDER.search(here[0]) if here else None
    said = "" if found is None else _quotes(here[0][: found.start()], found[0], quote)
    return MalformedDocument(f"line {line}: {reason}{said}")


def _quotes(before: str, placeholder: str, quote: str) -> str:
    """:returns: what is wrong with the quotes of a placeholder; empty where nothing is."""
    if before.count("'") % 2:
        return ""
    mark = next((each for each in quote if each not in placeholder), None)
    quoted = json.dumps(placeholder) if mark is None else f"{mark}{placeholder}{mark}"
    if before.count('"') % 2 == 0:
        return f"; a placeholder stands in quotes: {quoted}"
    if not _BARE_QUOTE.search(placeholder):
        return ""
    if mark is None:
        return f"; quotes in a placeholder have a backslash before them: {quoted[1:-1]}"
    return f"; a placeholder with quotes in it stands in the others: {quoted}"


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
