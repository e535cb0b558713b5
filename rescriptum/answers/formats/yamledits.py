"""One YAML document laid over another by its lines: what nobody changes stays as written."""

import re

from ..control import KEYS
from .yamlnodes import MERGE, NULL, WORD, Alias, Items, Node, Pairs, Raw, Scalar
from .yamlsheet import Sheet, escaped

_COLON = re.compile(r"\s*:")
#: What ends a bare word in brackets.
_ENDS = re.compile(r"[,\[\]{}#:]")


class Unfit(Exception):
    """What is to be changed is not written in lines that could be."""


def lay(lower: Sheet, higher: Sheet) -> str:
    """
    :returns: the text of ``lower`` with what ``higher`` says in it. It has to be looked at
        whether it says that: anchors, say, may have come to name something else.
    :raises Unfit: for layouts that this does not do.
    """
    below, above = lower.top, higher.top
    if above.value == NULL:
        return lower.text
    if not (isinstance(below, Pairs) and isinstance(above, Pairs)):
        return higher.text
    edits = _Edits(lower.text, higher.text)
    edits.over(below, above)
    return edits.made()


def served(sheet: Sheet) -> str:
    """
    :returns: the text without control.
    :raises Unfit: for layouts that this does not do.
    """
    top = sheet.top
    if not isinstance(top, Pairs):
        return sheet.text
    edits = _Edits(sheet.text, "")
    for key, value in top.pairs:
        if key.value in KEYS:
            if top.flow:
                raise Unfit
            edits.put(_line_start(sheet.text, key.start), _end(sheet.text, value), "")
    text = edits.made()
    return text.lstrip("\r\n") if text != sheet.text else text


class _Edits:
    """Places of a text, and what comes there instead."""

    def __init__(self, lower: str, higher: str) -> None:
        self._lower = lower
        self._higher = higher
        self._edits: list[tuple[int, int, str]] = []

    def put(self, start: int, end: int, text: str) -> None:
        self._edits.append((start, end, text))

    def made(self) -> str:
        """:raises Unfit: for edits of edits."""
        parts, at = [], 0
        for start, end, text in sorted(self._edits, key=lambda edit: edit[0]):
            if start < at:
                raise Unfit
            parts += [self._lower[at:start], text]
            at = end
        return "".join([*parts, self._lower[at:]])

    def over(self, below: Pairs, above: Pairs) -> None:
        """The lower layer's table with what the higher one's says in it."""
        there = {key.value: (key, value) for key, value in below.pairs}
        if MERGE in there:
            raise Unfit
        new = []
        for key, value in above.pairs:
            if key.value == MERGE:
                raise Unfit
            if key.value not in there:
                new.append((key, value))
                continue
            name, old = there[key.value]
            if isinstance(old, Pairs) and isinstance(value, Pairs) and old.pairs:
                self.over(old, value)
            elif not (isinstance(old, Pairs) and isinstance(value, Pairs) and not value.pairs):
                self._replace(below, name, old, above, key, value)
        if new and below.flow:
            pairs = ", ".join(f"{_flow_key(key)}: {_flow(value)}" for key, value in new)
            at = below.end - 1
            self.put(at, at, f", {pairs}" if below.pairs else pairs)
        elif new:
            column = _column(self._lower, below.pairs[0][0])
            text = "".join(self._entry(above, key, value, column) for key, value in new)
            at = _end(self._lower, below.pairs[-1][1])
            self.put(at, at, text)

    def _entry(self, holder: Pairs, key: Scalar, value: Node, column: int) -> str:
        """:returns: lines for a table that has not got it."""
        indent = " " * column
        if holder.flow:
            return f"{indent}{_flow_key(key)}: {_flow(value)}\n"
        start = _line_start(self._higher, key.start)
        own = self._higher[key.start : _end(self._higher, value)]
        by = column - (key.start - start)
        comments = ""
        while not self._higher[start : key.start].strip() and start:
            above = _line_start(self._higher, start - 1)
            line = self._higher[above:start]
            if not line.lstrip().startswith("#"):
                break
            comments, start = f"{indent}{line.lstrip()}{comments}", above
        return f"{comments}{indent}{_shifted(own, by)}"

    def _replace(
        self, below: Pairs, name: Scalar, old: Node, above: Pairs, key: Scalar, value: Node
    ) -> None:
        text = self._higher[value.start : value.end]
        one_line = _in_one(value) and "\n" not in text
        if below.flow:
            if old.start == old.end:
                raise Unfit
            self.put(old.start, old.end, _flow(value))
            return
        end = _end(self._lower, old)
        colon = _colon(self._lower, name)
        if above.flow or one_line:
            text = _flow(value) if above.flow else text
            rest = self._rest(value) if not above.flow else ""
            if not _in_one(old):
                self.put(colon, end, f" {text}{rest or chr(10)}")
            elif rest:
                self.put(colon, end, f" {text}{rest}")
            else:
                self.put(old.start, old.end, text if old.start > colon else f" {text}")
            return
        theirs = _colon(self._higher, key)
        own = self._higher[theirs : _end(self._higher, value)]
        by = _column(self._lower, name) - _column(self._higher, key)
        self.put(colon, end, _shifted(own, by))

    def _rest(self, value: Node) -> str:
        """:returns: of the line that a value of the higher layer is in, if that is a comment."""
        rest = self._higher[value.end : _end(self._higher, value)]
        return rest if rest.strip() else ""


def _in_one(node: Node) -> bool:
    """Whether it stands behind its key, and ends where it ends."""
    if isinstance(node, Scalar):
        return node.style not in ("|", ">")
    return isinstance(node, Alias) or (isinstance(node, (Items, Pairs)) and node.flow)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _column(text: str, key: Scalar) -> int:
    return key.start - _line_start(text, key.start)


def _colon(text: str, key: Scalar) -> int:
    found = _COLON.match(text, key.end)
    if found is None:
        raise Unfit
    return found.end()


def _end(text: str, node: Node) -> int:
    """:returns: where the line begins that is behind the last one of a node."""
    while isinstance(node, (Items, Pairs)) and not node.flow:
        node = node.nodes[-1] if isinstance(node, Items) else node.pairs[-1][1]
    end = node.end
    if isinstance(node, Scalar) and node.style in ("|", ">"):
        written = text[node.start : end]
        if "+" not in written.partition("\n")[0]:
            end = node.start + len(written.rstrip())
        elif written.endswith("\n"):
            return end
    return text.find("\n", end) + 1 or len(text)


def _shifted(text: str, by: int) -> str:
    """:returns: all lines but the first further to the right."""
    first, *lines = text.splitlines(keepends=True)
    if by >= 0:
        moved = [" " * by + line if line.strip("\r\n") else line for line in lines]
    else:
        moved = [line[min(-by, len(line) - len(line.lstrip(" "))) :] for line in lines]
    return "".join([first, *moved])


def _flow_key(key: Scalar) -> str:
    if isinstance(key.value, Raw):
        return _flow(key)
    return key.text if WORD.fullmatch(key.text) else f'"{escaped(key.text)}"'


def _flow(node: Node) -> str:
    """:returns: in one line, as it may stand in brackets."""
    if isinstance(node, Items):
        return f"[{', '.join(map(_flow, node.nodes))}]"
    if isinstance(node, Pairs):
        pairs = ", ".join(f"{_flow_key(key)}: {_flow(value)}" for key, value in node.pairs)
        return f"{{{pairs}}}"
    if not isinstance(node, Scalar) or (isinstance(node.value, Raw) and node.value.tag):
        raise Unfit
    if not isinstance(node.value, Raw):
        bare = not node.style and WORD.fullmatch(node.text)
        return node.text if bare else f'"{escaped(node.text)}"'
    if _ENDS.search(node.text):
        raise Unfit
    return node.text or "null"
