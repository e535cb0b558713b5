"""YAML: autoinstall, cloud-init. Layers keep layout, comments, and every scalar as written."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from attrs import evolve

from ...errors import MalformedDocument
from ..control import KEYS
from ..template import OPEN, Template
from . import plain, yamledits, yamlevents, yamllines
from .family import Head, Value
from .heads import control, has_placeholders
from .marks import settled
from .places import decoded, line_at, placed
from .yamlnodes import NULL, Node, Pairs, Raw
from .yamlsheet import Sheet, compact, scalars, value_of

#: How many recent chains of lower layers are kept: a group's serves many machines.
_KEPT = 64

_CONTROL = re.compile("|".join(KEYS).encode("ascii"))
_LINE = re.compile(r"line (\d+): ")


def read(data: bytes) -> Head:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    text = decoded(data)
    top = yamllines.parse(text) or yamlevents.parse(text)
    placeholders = placed(data) and _placeholders(text, top)
    told = top.value
    if isinstance(told, dict):
        told = _told({key: told[key] for key in KEYS if key in told})
    return Head(control(told, lambda path: _line(text, top, path)), placeholders)


def _placeholders(text: str, top: Node) -> bool:
    for node in scalars(top):
        if OPEN in node.text and isinstance(node.value, Raw):
            line = line_at(text, node.start)
            raise MalformedDocument(f"line {line}: what has a tag cannot be filled: {node.text}")
    return has_placeholders(value_of(top), lambda _, each, e: _holding(text, top, each, e))


def _holding(text: str, top: Node, holding: str, error: MalformedDocument) -> int:
    """:returns: the line of a text; in a literal block the one that is meant."""
    node = next(node for node in scalars(top) if node.text == holding)
    line = line_at(text, node.start)
    inside = _LINE.match(str(error))
    return line + int(inside[1]) if node.style == "|" and inside else line


def _line(text: str, top: Node, path: Sequence[str]) -> int:
    """:returns: where the key of ``path`` is, or what is nearest above."""
    line = 1
    for name in path:
        pairs = top.pairs if isinstance(top, Pairs) else []
        found = next(((key, value) for key, value in pairs if key.text.lower() == name), None)
        if found is None:
            break
        key, top = found
        line = line_at(text, key.start)
    return line


def _told(value: object) -> object:
    """:returns: as control is read: numbers and dates are what is written."""
    if isinstance(value, dict):
        return {str(key): _told(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_told(each) for each in value]
    if isinstance(value, Raw):
        return None if value == NULL else value.text
    return value


def compose(layers: Sequence[bytes]) -> bytes | Template:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    if len(layers) == 1 and not placed(layers[0]) and not _CONTROL.search(layers[0]):
        return layers[0]
    sheet = _served(layers[-1])
    if len(layers) > 1:
        sheet = _laid(_kept(tuple(layers[:-1])), sheet)
    return settled(Template.joined(sheet.parts))


@lru_cache(_KEPT)
def _kept(layers: tuple[bytes, ...]) -> Sheet:
    sheet = _served(layers[-1])
    return _laid(_kept(layers[:-1]), sheet) if len(layers) > 1 else sheet


def _served(data: bytes) -> Sheet:
    """:returns: one layer without its control."""
    text = decoded(data)
    sheet = Sheet.of(text)
    if text and not text.endswith("\n"):  # which may be the end of a literal block
        top = value_of(yamllines.parse(text) or yamlevents.parse(text))
        if not plain.same(sheet.value, top):
            sheet = evolve(sheet, text=yamlevents.written(top))
    value = sheet.value
    if not isinstance(value, dict) or value.keys().isdisjoint(KEYS):
        return sheet
    return _sound(lambda: evolve(sheet, text=yamledits.served(sheet)), plain.served(value), sheet)


def _laid(lower: Sheet, higher: Sheet) -> Sheet:
    head = evolve(lower, template=higher.template or lower.template, kind=higher.kind or lower.kind)
    expected = plain.merge(lower.value, higher.value)
    return _sound(lambda: evolve(head, text=yamledits.lay(lower, higher)), expected, head)


def _sound(make: Callable[[], Sheet], expected: object, head: Sheet) -> Sheet:
    """
    :param make: edits a document by its lines.
    :returns: what it makes, if it has the value it should; else that value, written anew.
    """
    try:
        made = make()
        if plain.same(made.value, expected):
            return made
    except (yamledits.Unfit, MalformedDocument):
        pass
    return evolve(head, text=yamlevents.written(expected))


def values(data: bytes) -> list[Value]:
    """As :class:`rescriptum.answers.formats.family.Family` has it."""
    text = decoded(data)
    return plain.leaves(value_of(yamllines.parse(text) or yamlevents.parse(text)), compact)
