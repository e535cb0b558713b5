"""YAML by the library: its events made nodes, plain values made events."""

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml import events as event
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.tag import Tag

from ...errors import MalformedDocument
from . import plain
from .places import line_at, wrong
from .yamlnodes import (
    MERGE,
    NULL,
    WORD,
    Alias,
    Doubled,
    Items,
    Node,
    Pairs,
    Raw,
    Scalar,
    close,
    mergeable,
    scalar_value,
    typed,
)

#: Of one document, with every alias in the place of what it names.
MAX_VALUES = 100_000

_CORE = "tag:yaml.org,2002:"
#: Line ends in YAML 1.1 and not in 1.2, and a mark that is only one where a text begins.
_DISPUTED = re.compile("[\x85\u2028\u2029\ufeff]")
_COLON = re.compile(r"\s*:")


def parse(text: str) -> Node:
    """
    By the library, in milliseconds.

    :returns: the top of the one document in ``text``; a ``Raw`` of nothing for an empty one.
    :raises MalformedDocument: with the line, and nothing else whatever ``text`` is.
    """
    if found := _DISPUTED.search(text):
        line, code = line_at(text, found.start()), f"\\u{ord(found[0]):04x}"
        raise MalformedDocument(f"line {line}: {code} ends a line to some readers: escape it")
    yaml = YAML(typ="safe", pure=True)
    try:
        return _Builder(text).built(yaml.parse(text))
    except MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        line = mark.line + 1 if mark is not None else 1
        said = e.problem or e.context or "cannot be read"
        raise wrong(text, min(line, text.count("\n") + 1), f"not YAML: {said}") from None
    except ReaderError as e:
        line = line_at(text, e.position)
        raise MalformedDocument(f"line {line}: not YAML: {e.reason}") from None
    except (YAMLError, ValueError, OverflowError, AssertionError) as e:
        raise MalformedDocument(f"line 1: not YAML: {e}") from None
    except RecursionError:
        raise MalformedDocument(f"line 1: {plain.TOO_DEEP}") from None


class _Builder:
    """Events to nodes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._anchors: dict[str, Node] = {}
        self._open: list[Pairs | Items] = []
        self._keys: list[Scalar | None] = []
        self._documents = 0
        self._top: Node | None = None

    def built(self, events: Iterable[Any]) -> Node:
        for each in events:
            if isinstance(each, event.ScalarEvent):
                self._scalar(each)
            elif isinstance(each, event.AliasEvent):
                self._alias(each)
            elif isinstance(each, event.CollectionStartEvent):
                self._begin(each)
            elif isinstance(each, event.CollectionEndEvent):
                node = self._open.pop()
                self._keys.pop()
                node.end = each.end_mark.index
                self._close(node)
                self._put(node)
            elif isinstance(each, event.DocumentStartEvent):
                self._documents += 1
                if self._documents > 1:
                    self._refuse(each.start_mark.index, "a second document begins; want one")
        if self._top is None or self._top.start == self._top.end:
            return Scalar(0, 0, NULL)
        return self._top

    def _refuse(self, offset: int, reason: str) -> NoReturn:
        raise wrong(self._text, line_at(self._text, offset), reason)

    def _scalar(self, each: Any) -> None:
        tag = "" if each.tag is None else str(each.tag)
        text = each.value
        start, end = each.start_mark.index, each.end_mark.index
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._refuse(start, "half a character: \\ud800 to \\udfff are no text")
        value: str | Raw
        if tag in ("", "!", f"{_CORE}str"):
            value = scalar_value(text, not tag and not each.style)
        else:
            value = Raw(text, tag)
        prefixed = bool(tag or each.anchor)
        node = Scalar(start, end, value, 1, 0, text, each.style or "", prefixed)
        self._name(each.anchor, node)
        self._put(node)

    def _alias(self, each: Any) -> None:
        start = each.start_mark.index
        named = self._anchors.get(each.anchor)
        if named is None:
            self._refuse(start, "* before a name that is nothing's above: quote what is text")
        if named in self._open:
            self._refuse(start, f"*{each.anchor} is inside of what it names")
        end = each.end_mark.index
        self._put(Alias(start, end, named.value, named.size, named.height))

    def _begin(self, each: Any) -> None:
        start = each.start_mark.index
        table = isinstance(each, event.MappingStartEvent)
        tag = "" if each.tag is None else str(each.tag)
        if tag not in ("", "!", f"{_CORE}map" if table else f"{_CORE}seq"):
            self._refuse(start, f"a {'table' if table else 'list'} with the tag {tag}")
        if self._open and isinstance(self._open[-1], Pairs) and self._keys[-1] is None:
            self._refuse(start, "a key that is no text")
        if len(self._open) >= plain.MAX_DEPTH:
            self._refuse(start, plain.TOO_DEEP)
        kind = Pairs if table else Items
        node = kind(start, start, flow=bool(each.flow_style), prefixed=bool(tag or each.anchor))
        self._name(each.anchor, node)
        self._open.append(node)
        self._keys.append(None)

    def _name(self, anchor: str | None, node: Node) -> None:
        if anchor is not None:
            if anchor in self._anchors:  # which YAML 1.2 allows, and cloud-init does not
                self._refuse(
                    node.start, "& before a name that is given already: quote what is text"
                )
            self._anchors[anchor] = node

    def _put(self, node: Node) -> None:
        """In the collection that is open."""
        if not self._open:
            self._top = node
            return
        holder = self._open[-1]
        if isinstance(holder, Items):
            holder.nodes.append(node)
            return
        key = self._keys[-1]
        if key is not None:
            if node.start == node.end and (colon := _COLON.match(self._text, key.end)):
                node.start = node.end = colon.end()  # not behind the comments that follow
            holder.pairs.append((key, node))
            self._keys[-1] = None
        elif isinstance(node, Scalar):
            self._keys[-1] = node
        else:
            self._refuse(node.start, "a key that is no text")

    def _close(self, node: Pairs | Items) -> None:
        try:
            close(node)
        except Doubled as e:
            self._refuse(e.key.start, f"{e.key.text} is there already")
        if node.size > MAX_VALUES:
            self._refuse(node.start, f"aliases make more than {MAX_VALUES} values of this")
        if node.height + len(self._open) > plain.MAX_DEPTH:
            self._refuse(node.start, plain.TOO_DEEP)
        if isinstance(node, Pairs):
            for key, value in node.pairs:
                if key.value == MERGE and not mergeable(value.value):
                    self._refuse(key.start, "<< wants a table, or a list of them")


def written(value: object) -> str:
    """:returns: a document of a plain value, written anew; texts are in double quotes."""
    stream = StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.width = 2**31
    yaml.emit(_events(value), stream)
    return stream.getvalue().removesuffix("...\n")


def _events(value: object) -> Iterator[event.Event]:
    yield event.StreamStartEvent()
    yield event.DocumentStartEvent(explicit=False)
    yield from _node(value)
    yield event.DocumentEndEvent(explicit=False)
    yield event.StreamEndEvent()


def _node(value: object) -> Iterator[event.Event]:
    if isinstance(value, dict):
        yield event.MappingStartEvent(None, None, True, flow_style=not value)
        for key, each in value.items():
            yield _key(key)
            yield from _node(each)
        yield event.MappingEndEvent()
    elif isinstance(value, list):
        yield event.SequenceStartEvent(None, None, True, flow_style=not value)
        for each in value:
            yield from _node(each)
        yield event.SequenceEndEvent()
    else:
        yield _scalar(value)


def _key(key: object) -> event.Event:
    if isinstance(key, str) and WORD.fullmatch(key) and not typed(key):
        return event.ScalarEvent(None, None, (True, True), key)
    return _scalar(key)


def _scalar(value: object) -> event.Event:
    if not isinstance(value, Raw):
        text = str(value)
        return event.ScalarEvent(None, Tag(suffix=f"{_CORE}str"), (False, True), text, style='"')
    if value.tag:
        tag = Tag(suffix=value.tag)
        return event.ScalarEvent(None, tag, (False, False), value.text, style='"')
    return event.ScalarEvent(None, None, (True, False), value.text or "null")
