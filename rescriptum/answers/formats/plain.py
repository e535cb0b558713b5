"""Documents as plain values: what layering means, whatever a format looks like."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from ...errors import MalformedDocument
from ..control import KEYS
from .family import Value

#: How deep lists and tables may stand in each other.
MAX_DEPTH = 100
TOO_DEEP = f"nested deeper than {MAX_DEPTH} lists and tables"

Path = tuple[str, ...]

_PLAIN_KEY = re.compile(r'[^\s."\[\]{}]+')


def merge(lower: object, higher: object) -> object:
    """Tables key by key; anything else, lists too, is replaced by the higher layer."""
    if not (isinstance(lower, dict) and isinstance(higher, dict)):
        return higher
    merged = dict(lower)
    for key, value in higher.items():
        merged[key] = merge(merged[key], value) if key in merged else value
    return merged


def served(top: object) -> object:
    """:returns: a document without what it says of itself."""
    if not isinstance(top, dict):
        return top
    return {key: value for key, value in top.items() if key not in KEYS}


def lay(layers: Sequence[object]) -> object:
    """
    :param layers: documents, the lowest first.
    :returns: what is served.
    """
    return reduce(merge, map(served, layers))


def same(one: object, other: object) -> bool:
    """Whether readers cannot tell them apart: ``1`` is neither ``1.0`` nor true, NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other) if isinstance(one, float) else one == other


def texts(top: object) -> Iterator[tuple[Path, str]]:
    """
    Every text of a document but its keys, in order.

    :raises MalformedDocument: when it is nested too deep.
    """
    todo: list[tuple[Path, object]] = [((), top)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, str):
            yield path, value
            continue
        if not isinstance(value, (dict, list)):
            continue
        if len(path) >= MAX_DEPTH:
            raise MalformedDocument(f"line 1: {TOO_DEEP}")
        todo += [((*path, str(key)), each) for key, each in reversed(children(value))]


def children(value: dict[object, object] | list[object]) -> list[tuple[object, object]]:
    """:returns: what is in a table or list, by its keys or places."""
    return list(value.items() if isinstance(value, dict) else enumerate(value))


def replaced(value: object, replace: Callable[[str], object]) -> object:
    """:returns: the same with every text but the keys as ``replace`` has it."""
    if isinstance(value, dict):
        return {key: replaced(each, replace) for key, each in value.items()}
    if isinstance(value, list):
        return [replaced(each, replace) for each in value]
    return replace(value) if isinstance(value, str) else value


def shown(path: Path) -> str:
    """:returns: for people: ``global.fqdn``."""
    return ".".join(key if _PLAIN_KEY.fullmatch(key) else quoted(key) for key in path)


def quoted(text: str) -> str:
    """:returns: as JSON has it."""
    return json.dumps(text, ensure_ascii=False)


def leaves(top: object, write: Callable[[object], str]) -> list[Value]:
    """
    :param top: a document, which may hold its control.
    :param write: makes one line of a value that is no table with something in it.
    """
    found: list[Value] = []
    todo: list[tuple[Path, object]] = [((), served(top))]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict) and value:
            todo += [((*path, str(key)), each) for key, each in reversed(value.items())]
        elif path or value != {}:
            found.append(Value(shown(path), write(value)))
    return found
