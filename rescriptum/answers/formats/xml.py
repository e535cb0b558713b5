"""AutoYaST's profiles, Windows' answer files, other XML; control in an ``answer-meta`` element."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from lxml import etree

from ...errors import MalformedDocument
from ..control import Control, Pairs
from ..template import OPEN, Template
from .elements import TYPES, by_name, children, discriminator, is_list, lay, lists, remove, words
from .family import Head, Value
from .marks import Marks, settled
from .markup import Markup

META = "answer-meta"
_CHILDREN = "want member, match and example in it"
#: How many characters of a wrong text an error shows.
_SHOWN = 100
_LINE = re.compile(r"line (\d+): ")


def read(data: bytes) -> Head:
    markup = Markup.parse(data)
    control = _control(markup.root)
    return Head(control, bool(list(_places(markup.root))))


def compose(layers: Sequence[bytes]) -> bytes | Template:
    base, *others = [_served(each) for each in layers]
    for each in others:
        if each.root.tag != base.root.tag:
            raise MalformedDocument(
                f"the layers have different root elements: {base.root.tag}, then {each.root.tag}"
            )
        base = base.under(each)
        lay(base.root, each.root)
    written = base.written()
    places = list(_places(base.root))
    if not places:
        return written.encode("utf-8")
    marks = Marks([written.encode("utf-8")])
    for place in places:
        place.write(marks)
    return settled(marks.template(base.written()))


def values(data: bytes) -> list[Value]:
    root = _served(data).root
    return _values(root, f"/{_step(root)}")


class _Place(NamedTuple):
    """
    A text with placeholders.

    :ivar slot: ``text``, ``tail``, or an attribute with ``@`` before its name.
    """

    node: etree._Element
    slot: str
    template: Template

    def write(self, marks: Marks) -> None:
        if self.slot == "text":
            self.node.text = marks.stand_in(self.template, _text)
        elif self.slot == "tail":
            self.node.tail = marks.stand_in(self.template, _text)
        else:
            self.node.set(self.slot[1:], marks.stand_in(self.template, _attribute))


def _text(text: str) -> str:
    for character, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = text.replace(character, written)
    return text


def _attribute(text: str) -> str:
    text = _text(text)
    for character, written in (('"', "&quot;"), ("\n", "&#10;"), ("\t", "&#9;")):
        text = text.replace(character, written)
    return text


def _places(root: etree._Element) -> Iterator[_Place]:
    """In elements' texts and attributes; their names, comments and instructions have none."""
    for node in root.iter():
        if isinstance(node.tag, str):
            if node.text and OPEN in node.text:
                yield _Place(node, "text", _parsed(node.text, _line(node)))
            for name, value in node.attrib.items():
                if OPEN in value:
                    template = _parsed(str(value), _line(node))
                    yield _Place(node, f"@{name!s}", template)
        if node is not root and node.tail and OPEN in node.tail:
            yield _Place(node, "tail", _parsed(node.tail, _end(node)))


def _parsed(text: str, line: int) -> Template:
    try:
        return Template.parse(text)
    except MalformedDocument as e:
        found = _LINE.match(str(e))
        assert found is not None
        line += int(found[1]) - 1
        raise MalformedDocument(f"line {line}: {str(e)[found.end() :]}") from None


def _end(node: etree._Element) -> int:
    """:returns: the line that an element's end tag is on, if no tag goes over lines."""
    lines = 0
    while len(node):
        node = node[-1]
        lines += (node.tail or "").count("\n")
    text = node.text if isinstance(node.tag, str) else None
    return _line(node) + (text or "").count("\n") + lines


def _line(node: etree._Element) -> int:
    """Where an element's start tag ends; where a comment does."""
    return cast(int | None, node.sourceline) or 1


def _served(data: bytes) -> Markup:
    markup = Markup.parse(data)
    _control(markup.root)
    return markup


def _control(root: etree._Element) -> Control:
    """Taken out of the tree."""
    extends: str | None = None
    members: list[str] = []
    match: list[tuple[str, str]] = []
    examples: list[Pairs] = []
    for meta in children(root):
        if _local(meta.tag) != META:
            continue
        at = meta
        try:
            for name, value in meta.attrib.items():
                if name != "extends" or extends is not None:
                    raise MalformedDocument(f"{META}: want one attribute, extends, not {name!s}")
                extends = str(value).strip()
            Control.of_pairs(extends, (), ())
            if words(meta):
                raise MalformedDocument(f"{META}: {_CHILDREN}, not text")
            for at in children(meta):
                kind = _local(at.tag)
                if kind == "member":
                    members.append(_member(at))
                elif kind == "match":
                    pairs = _pairs(at)
                    Control.of_pairs(None, (), pairs)
                    match += pairs
                elif kind == "example":
                    examples.append(tuple(_pairs(at)))
                else:
                    raise MalformedDocument(f"{META}: {_CHILDREN}, not {kind}")
        except MalformedDocument as e:
            raise MalformedDocument(f"line {_line(at)}: {e}") from None
        remove(meta)
    return Control.of_pairs(extends, members, match, examples)


def _member(element: etree._Element) -> str:
    text = words(element)
    if not text or "," in text:
        raise MalformedDocument(f"member: want one identity, not {text[:_SHOWN]!r}")
    return text


def _pairs(element: etree._Element) -> list[tuple[str, str]]:
    if not element.attrib:
        raise MalformedDocument(f'{_local(element.tag)}: want attributes, fact="text"')
    return [(_local(name), str(value)) for name, value in element.attrib.items()]


def _local(name: object) -> str:
    return etree.QName(str(name)).localname


def _values(root: etree._Element, path: str) -> list[Value]:
    found: list[Value] = []
    todo: list[Value | tuple[str, etree._Element]] = [(path, root)]
    while todo:
        each = todo.pop()
        if isinstance(each, Value):
            found.append(each)
            continue
        path, node = each
        told = discriminator(node)
        for name, value in node.attrib.items():
            if name not in TYPES and not (told and str(name).lower() == told[0]):
                found.append(Value(f"{path}/@{_local(name)}", str(value)))
        inner = children(node)
        if is_list(node):
            found.append(Value(path, _listed(inner)))
            continue
        if (text := words(node)) or not inner:
            found.append(Value(path, text))
        todo += reversed(_within(path, inner))
    return found


def _within(path: str, inner: Sequence[etree._Element]) -> list[Value | tuple[str, etree._Element]]:
    """:returns: the children in order, those that are a list as one value where it begins."""
    named = by_name(inner)
    listed = lists(named)
    within: list[Value | tuple[str, etree._Element]] = []
    for each in inner:
        alike = named[str(each.tag)]
        if str(each.tag) not in listed:
            within.append((f"{path}/{_step(each)}", each))
        elif each is alike[0]:
            within.append(Value(f"{path}/{_step(each)}", _listed(alike)))
    return within


def _listed(elements: Sequence[etree._Element]) -> str:
    items = []
    for each in elements:
        values = _values(each, "")
        told = discriminator(each)
        if told:
            values.insert(0, Value(f"/@{told[0]}", told[1]))
        texts = [
            f"{value.path[1:]}: {value.text}" if value.path else value.text for value in values
        ]
        plain = len(values) == 1 and not values[0].path
        items.append(texts[0] if plain else f"{{{', '.join(texts)}}}")
    return f"[{', '.join(items)}]"


def _step(element: etree._Element) -> str:
    told = discriminator(element)
    return _local(element.tag) + (f"[{told[0]}={told[1]}]" if told else "")
