"""TOML, JSON, YAML and XML: checked where a parser is at hand, served as they are stored."""

import json
import tomllib
from collections.abc import Iterator

from ...errors import MalformedDocument
from ..template import OPEN

_UNFILLED = "placeholders are filled in text formats only; this one is"


def toml(data: bytes) -> bytes:
    """:raises MalformedDocument: unless ``data`` is TOML without placeholders."""
    try:
        value = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise MalformedDocument(f"not TOML: {e}") from None
    return _as_stored(data, value, "TOML")


def json_(data: bytes) -> bytes:
    """:raises MalformedDocument: unless ``data`` is JSON without placeholders."""
    try:
        value = json.loads(data.decode("utf-8"), parse_int=str)
    except (ValueError, RecursionError) as e:
        raise MalformedDocument(f"not JSON: {e}") from None
    return _as_stored(data, value, "JSON")


def yaml(data: bytes) -> bytes:
    """:raises MalformedDocument: for a placeholder, in a comment too."""
    return _as_stored(data, data.decode("utf-8", "replace"), "YAML")


def xml(data: bytes) -> bytes:
    """:raises MalformedDocument: for a placeholder, in a comment too."""
    return _as_stored(data, data.decode("utf-8", "replace"), "XML")


def _as_stored(data: bytes, value: object, language: str) -> bytes:
    """Keys and comments of a parsed document are no places for placeholders."""
    for text in _texts(value):
        if OPEN in text:
            raise MalformedDocument(f"{_UNFILLED} {language}: {text.strip()[:60]!r}")
    return data


def _texts(value: object) -> Iterator[str]:
    todo = [value]
    while todo:
        match todo.pop():
            case str() as text:
                yield text
            case dict() as table:
                todo.extend(table.values())
            case list() as array:
                todo.extend(array)
