"""TOML: Proxmox. Layers keep their layout and their comments."""

import json
import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache

import tomlkit

from ...errors import MalformedDocument
from ..control import KEYS
from ..template import Template
from . import plain
from .family import Head, Value
from .heads import control, has_placeholders
from .marks import settled
from .places import decoded, line_at, placed, wrong
from .tomledits import Edited
from .tomledits import written as inline
from .tomllines import Assignment, Table, parse, texts

#: How many recent chains of lower layers are kept: a group's serves many machines.
_KEPT = 64

_AT = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)
_CONTROL = re.compile("|".join(KEYS).encode("ascii"))
#: A key of more parts than tables may be in each other, where one may stand.
_TOO_LONG = re.compile(
    r"""(?:^|[{,])[ \t\[]*+"""
    r"""(?:(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{plain.MAX_DEPTH}}}",
    re.MULTILINE,
)


def read(data: bytes) -> Head:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    top = _parsed(data)
    placeholders = placed(data) and has_placeholders(
        top, lambda path, text, _: _line(decoded(data), path, text)
    )
    return Head(control(top, lambda path: _line(decoded(data), path)), placeholders)


def compose(layers: Sequence[bytes]) -> bytes | Template:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    if len(layers) == 1 and not placed(layers[0]) and not _CONTROL.search(layers[0]):
        return layers[0]
    lower = _kept(tuple(layers[:-1])) if len(layers) > 1 else None
    tables = _laid(lower, layers)
    return settled(Template.joined(part for table in tables for part in table.parts))


@lru_cache(_KEPT)
def _kept(layers: tuple[bytes, ...]) -> Sequence[Table]:
    lower = _kept(layers[:-1]) if len(layers) > 1 else None
    return _laid(lower, layers)


def _laid(lower: Sequence[Table] | None, layers: Sequence[bytes]) -> Sequence[Table]:
    """
    :param lower: all the layers but the last, laid over each other.
    :returns: what is served. Where no edit of lines makes it, it is written anew.
    """
    tables = parse(decoded(layers[-1]))
    if placed(layers[-1]) or _CONTROL.search(layers[-1]):
        tables = _served(tables)
    if lower is None:
        return tables
    edited = Edited(lower)
    edited.lay(tables)
    if edited.certain:
        return edited.tables
    expected = plain.lay([_parsed(each) for each in layers])
    text = "".join(table.header + "".join(map(_text, table.lines)) for table in edited.tables)
    try:
        if plain.same(tomllib.loads(text), expected):
            return edited.tables
    except tomllib.TOMLDecodeError:
        pass
    assert isinstance(expected, dict)
    return parse(tomlkit.dumps(expected))


def _served(tables: Sequence[Table]) -> tuple[Table, ...]:
    """:returns: the same without control, and no empty lines in its place at the top."""
    kept = []
    for table in tables:
        if table.path[:1] and table.path[0] in KEYS:
            continue
        if not table.path:
            lines = [
                line for line in table.lines if isinstance(line, str) or line.path[0] not in KEYS
            ]
            while lines and isinstance(lines[0], str) and not lines[0].strip():
                del lines[0]
            table = Table((), False, "", tuple(lines))
        kept.append(table)
    return tuple(kept)


def values(data: bytes) -> list[Value]:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    return plain.leaves(_parsed(data), _one_line)


def _one_line(value: object) -> str:
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=inline)
    return value if isinstance(value, str) else inline(value)


def _parsed(data: bytes) -> dict[str, object]:
    """:raises MalformedDocument: with the line."""
    text = decoded(data)
    # tomllib takes time and memory by the square of a key's parts.
    if text.count(".") >= plain.MAX_DEPTH and (long := _TOO_LONG.search(text)):
        raise MalformedDocument(f"line {line_at(text, long.end())}: {plain.TOO_DEEP}")
    try:
        top = tomllib.loads(text)
    except ValueError as e:  # of TOML, or what int() says of thousands of digits
        found = _AT.fullmatch(str(e))
        said = found[1] if found else str(e)
        line = int(found[2]) if found and found[2] else line_at(text.rstrip(), len(text))
        raise wrong(text, line, f"not TOML: {said[:1].lower()}{said[1:]}") from None
    except RecursionError:
        raise MalformedDocument(f"line 1: {plain.TOO_DEEP}") from None
    if sum(map(text.count, ".[{")) >= plain.MAX_DEPTH:
        for _ in plain.texts(top):
            pass  # raises where it is too deep
    return top


def _line(text: str, path: plain.Path, holding: str | None = None) -> int:
    """
    :param path: of a value, or of what it is in.
    :param holding: a text that the value is or has in it; then the path does not matter.
    """
    at = 0
    for table in parse(text):
        at += len(table.header)
        if holding is None and table.path[: len(path)] == path and table.header:
            return line_at(text, at - 1)
        for line in table.lines:
            if isinstance(line, Assignment):
                begins = at + len(line.before)
                if holding is None and line.path[: len(path)] == path[: len(line.path)]:
                    return line_at(text, begins)
                if holding is not None:
                    for start, _, each in texts(line.value):
                        if each == holding:
                            return line_at(text, begins + start)
            at += len(_text(line))
    return 1


def _text(line: Assignment | str) -> str:
    return line if isinstance(line, str) else line.before + line.value + line.after
