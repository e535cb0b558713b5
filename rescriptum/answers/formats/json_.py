"""JSON: Ignition, and anything else that wants it. Layers are written anew, two blanks deep."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isinf

from ...errors import MalformedDocument
from ..control import KEYS
from ..template import OPEN, Template
from . import plain
from .family import Head, Value
from .heads import control, has_placeholders
from .marks import Marks, settled
from .places import decoded, line_at, placed, wrong

#: How many recent chains of lower layers are kept: a group's serves many machines.
_KEPT = 64

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_HALF_WRITTEN = re.compile(r"\\u[dD][89a-fA-F]")
_CONTROL = re.compile("|".join(KEYS).encode("ascii"))


class _Unreadable(ValueError):
    """Something that readers of JSON do not agree on: the word, and the reason."""


def read(data: bytes) -> Head:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    text = decoded(data)
    top = _parsed(text)
    placeholders = False
    if placed(data):
        if _HALF_WRITTEN.search(text) and _HALF.search(json.dumps(top, ensure_ascii=False)):
            line = line_at(text, next(_HALF_WRITTEN.finditer(text)).start())
            raise MalformedDocument(f"line {line}: \\ud800 to \\udfff are characters in pairs only")
        placeholders = has_placeholders(top, lambda path, *_: _line(text, path))
    return Head(control(top, lambda path: _line(text, path)), placeholders)


def compose(layers: Sequence[bytes]) -> bytes | Template:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    if len(layers) == 1 and not placed(layers[0]) and not _CONTROL.search(layers[0]):
        return layers[0]
    top = plain.served(_parsed(decoded(layers[-1])))
    if len(layers) > 1:
        top = plain.merge(_laid(tuple(layers[:-1])), top)
    text = _write(top)
    if not any(OPEN in each for _, each in plain.texts(top)):
        return text.encode("utf-8")
    marks = Marks([text.encode("utf-8")])

    def stand_in(text: str) -> str:
        return marks.stand_in(Template.parse(text), _escape) if OPEN in text else text

    return settled(marks.template(_write(plain.replaced(top, stand_in))))


@lru_cache(_KEPT)
def _laid(layers: tuple[bytes, ...]) -> object:
    return plain.lay([_parsed(decoded(each)) for each in layers])


def values(data: bytes) -> list[Value]:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    return plain.leaves(_parsed(decoded(data)), compact)


def compact(value: object) -> str:
    """:returns: on one line, a text as it is."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _write(top: object) -> str:
    return json.dumps(top, indent=2, ensure_ascii=False) + "\n"


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _parsed(text: str) -> object:
    """:raises MalformedDocument: with the line."""
    try:
        top: object = json.loads(
            text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_constant
        )
    except json.JSONDecodeError as e:
        raise wrong(text, e.lineno, f"not JSON: {e.msg[:1].lower()}{e.msg[1:]}", "") from None
    except _Unreadable as e:
        word, reason = e.args
        raise MalformedDocument(f"line {_line_of(text, word)}: {reason}") from None
    except RecursionError:
        raise MalformedDocument(f"line 1: {plain.TOO_DEEP}") from None
    except ValueError:  # what int() says of thousands of digits
        digits = max(re.findall(r"\d+", text), key=len)
        line = line_at(text, text.index(digits))
        raise MalformedDocument(f"line {line}: a number of {len(digits)} digits") from None
    if text.count("{") + text.count("[") > plain.MAX_DEPTH:
        for _ in plain.texts(top):
            pass  # raises where it is too deep
    return top


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise _Unreadable(None, f"{json.dumps(twice)} comes twice in one object")
    return table


def _finite(number: str) -> float:
    value = float(number)
    if isinf(value):
        raise _Unreadable(number, f"{number[:20]} is more than a reader of JSON can hold")
    return value


def _no_constant(word: str) -> object:
    raise _Unreadable(word, f"{word} is no JSON")


def _line_of(text: str, word: str | None) -> int:
    """:returns: of a bare word, or of the first key that is there already."""
    if word is not None:
        return next((line_at(text, m.start()) for m in _TOKEN.finditer(text) if m[0] == word), 1)
    seen: set[plain.Path] = set()
    for path, offset in _places(text):
        if path in seen:
            return line_at(text, offset)
        seen.add(path)
    return 1


def _line(text: str, path: plain.Path) -> int:
    """:returns: where the value of ``path`` is, or what is nearest above."""
    places = {each: line_at(text, offset) for each, offset in _places(text)}
    return next((places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in places), 1)


def _places(text: str) -> Iterator[tuple[plain.Path, int]]:
    """Keys and items of lists with their offsets, in order, as far as ``text`` is JSON."""
    path: list[str] = []
    lists: list[bool] = []
    key = False
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in ("}", "]"):
            if not lists:
                return
            lists.pop()
            path.pop()
            key = False
        elif token == ",":
            if not lists:
                return
            key = not lists[-1]
            if lists[-1]:
                path[-1] = str(int(path[-1]) + 1)
        elif token != ":":
            if key:
                path[-1] = _key(token)
                yield tuple(path), found.start()
                key = False
                continue
            if lists and lists[-1]:
                yield tuple(path), found.start()
            if token in ("{", "["):
                lists.append(token == "[")
                path.append("0")
                key = token == "{"


def _key(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token
