"""A YAML document that is served: its first lines, its text, its nodes, what is to be filled."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Self

from attrs import frozen

from ..template import OPEN, Template
from . import plain, yamlevents, yamllines
from .yamlnodes import NULL, Items, Node, Pairs, Raw, Scalar

#: What cloud-init looks for in the first line, or behind the word that makes it a template.
_HEAD = re.compile(r"(## template:[ \t]*\S+[ \t]*\r?\n)?(#cloud-config[a-z-]*[ \t]*\r?\n)?")
_PREFIX = re.compile(r"(?:[!&]\S*\s+)*")
_QUOTED = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


@frozen(slots=False)
class Sheet:
    """
    :ivar template: a first line that says that cloud-init renders the document, or nothing.
    :ivar kind: the line after it, ``#cloud-config``, or nothing.
    :ivar text: all else; ends with a line end unless it is empty.
    """

    template: str
    kind: str
    text: str

    @classmethod
    def of(cls, text: str) -> Self:
        if text and not text.endswith("\n"):
            text += "\n"
        head = _HEAD.match(text)
        assert head is not None
        return cls(head[1] or "", head[2] or "", text[head.end() :])

    @cached_property
    def top(self) -> Node:
        """:raises MalformedDocument: when it is no YAML, with a line that means nothing."""
        return yamllines.parse(self.text) or yamlevents.parse(self.text)

    @property
    def value(self) -> object:
        """Plain; a document that says nothing is an empty table."""
        return value_of(self.top)

    @cached_property
    def parts(self) -> tuple[str | Template, ...]:
        """The document, templates in the place of texts that hold placeholders."""
        parts: list[str | Template] = [self.template, self.kind]
        at = 0
        if OPEN in self.text or "\\" in self.text:
            for node in scalars(self.top):
                if OPEN in node.text:
                    parts += [self.text[at : node.start], *self._filled(node)]
                    at = node.end
        return (*parts, self.text[at:])

    def _filled(self, node: Scalar) -> Iterator[str | Template]:
        written = self.text[node.start : node.end]
        header, _, body = written.partition("\n")
        if header in ("|", "|-", "|+") and _stays(body):
            yield f"{header}\n"
            yield Template.parse(body)
            return
        prefix = _PREFIX.match(written) if node.prefixed else None
        yield f'{prefix[0] if prefix else ""}"'
        yield Template.parse(node.text).encoded(escaped)
        yield '"\n' if node.style in ("|", ">") else '"'


def value_of(top: Node) -> object:
    return {} if top.value == NULL else top.value


def scalars(top: Node) -> Iterator[Scalar]:
    """Every scalar but the keys, in order."""
    todo = [top]
    while todo:
        node = todo.pop()
        if isinstance(node, Scalar):
            yield node
        elif isinstance(node, Items):
            todo += reversed(node.nodes)
        elif isinstance(node, Pairs):
            todo += [value for _, value in reversed(node.pairs)]


def escaped(text: str) -> str:
    """:returns: as it stands between double quotes, character by character."""
    return _QUOTED.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t"}.get(character) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    )


def _stays(body: str) -> bool:
    """
    Whether a literal block is the same block with whatever is filled in: what is filled has no
    line ends in it, and on none of its lines is it what the indentation is read from, or all.
    """
    lines = (line for line in body.split("\n") if OPEN in line)
    return all(line.partition(OPEN)[0].strip() for line in lines)


def compact(value: object) -> str:
    """:returns: on one line, a text as it is."""
    if isinstance(value, str):
        return value
    return _compact(value)


def _compact(value: object) -> str:
    if isinstance(value, dict):
        pairs = (f"{plain.quoted(str(key))}:{_compact(each)}" for key, each in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_compact, value))}]"
    if isinstance(value, Raw):
        return "null" if value == NULL else value.text
    return plain.quoted(str(value))
