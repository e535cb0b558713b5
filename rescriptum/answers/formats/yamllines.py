"""
The YAML that most documents are, read line by line: tables and lists by indentation, values on one
line, literal blocks. Many times as quick as the library; all that is not surely this is left to it.
"""

import re

from .yamlnodes import NULL, Doubled, Items, Node, Pairs, Scalar, close, scalar_value

#: How deep it goes.
_DEPTH = 30

#: What a bare word begins with: nothing that could begin anything else.
_FIRST = r"(?:[A-Za-z0-9_/.$+~(]|-(?=[0-9]))"
#: No ``: `` or `` #`` in it, which would end it.
_BARE = rf"{_FIRST}(?:[^:#\n]|:(?=[^ \n])|(?<=[^ \n])#)*"
_QUOTED = r""""[^"\\\n]*"|'[^'\n]*'"""
_KEY = rf"{_FIRST}(?:[^:#\s]|:(?=\S)){{0,200}}"
_LINE = re.compile(
    rf"( *)((?:- +)*)(?:({_KEY}|{_QUOTED})(:)(?= |$) *)?"
    rf"({_QUOTED}|[\[{{].*|\|-?|{_BARE}|) *((?<= )#.*)?"
)
_DASH = re.compile("- +")
_BEHIND = re.compile(r" *(?:(?<= )#.*)?")
_FLOW = re.compile(
    rf" *(?:([\[\]{{}},])|({_QUOTED}|"
    rf"{_FIRST}(?:[^\s,\[\]{{}}:#\"'&*!|>%@`?]|:(?=[A-Za-z0-9/]))*)(: +)?)"
)


def parse(text: str) -> Node | None:
    """
    :returns: the same as :func:`rescriptum.answers.formats.yamlevents.parse`, but for the ends of
        collections of lines; None where that has to be asked.
    """
    if not text.replace("\n", "").isprintable():
        return None
    try:
        return _Reader(text).read()
    except (_Unsure, Doubled):
        return None


class _Unsure(Exception):
    """Something that is not for here."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._top: Node | None = None
        #: What is open, with its column, and the key that has no value yet.
        self._open: list[tuple[int, Pairs | Items]] = []
        self._key: Scalar | None = None
        self._colon = 0

    def read(self) -> Node:
        lines = self._text.split("\n")
        at = number = 0
        begun = False
        while number < len(lines):
            line = lines[number]
            number += 1
            begins = line.lstrip(" ")
            if begins and begins[0] != "#":
                found = _LINE.fullmatch(line)
                if found is not None:
                    column = self._collections(found, at)
                    number, at = self._value(found, at, column, lines, number)
                    continue
                if line != "---" or self._top is not None or begun:
                    raise _Unsure
                begun = True
            at += len(line) + 1
        while self._open:
            self._close()
        return self._top or Scalar(0, 0, NULL)

    def _collections(self, found: re.Match[str], at: int) -> int:
        """
        Closes and opens what the line begins with.

        :returns: the column of the collection that its value is in.
        """
        column, dashes, key = len(found[1]), found[2], found[3]
        while self._open and self._open[-1][0] > column:
            self._close()
        if not dashes and self._open and isinstance(self._open[-1][1], Items):
            self._close()  # the list may stand as far left as the key that it is for
        for first, dash in enumerate(_DASH.findall(dashes) if dashes else ()):
            if first or not self._in(Items, column):
                self._begin(Items(at + column, 0), column, first > 0, lists=True)
            column += len(dash)
        if key is None:
            if not dashes:
                raise _Unsure
            return self._open[-1][0]
        if dashes or not self._in(Pairs, column):
            self._begin(Pairs(at + column, 0), column, bool(dashes))
        self._no_value()
        start = at + found.start(3)
        self._key = self._scalar(key, start)
        self._colon = at + found.end(4)
        return column

    def _value(
        self, found: re.Match[str], at: int, column: int, lines: list[str], number: int
    ) -> tuple[int, int]:
        """:returns: which line is next, and where it begins."""
        written, start = found[5], at + found.start(5)
        after = at + len(found[0]) + 1
        if not written:
            if found[3] is None:
                raise _Unsure
        elif written[0] == "|":
            return self._literal(written, start, column, lines, number, after)
        elif written[0] in "[{":
            node, end = self._flow(start, 0)
            if not _BEHIND.fullmatch(self._text, end, after - 1):
                raise _Unsure
            self._put(node)
        else:
            self._put(self._scalar(written.rstrip(" "), start))
        return number, after

    def _literal(
        self, header: str, start: int, column: int, lines: list[str], number: int, at: int
    ) -> tuple[int, int]:
        """A block: the lines that are further to the right, as they are."""
        first = lines[number] if number < len(lines) else ""
        indent = len(first) - len(first.lstrip(" "))
        if not first.strip() or indent <= column or lines[-1]:
            raise _Unsure
        kept = []
        while number < len(lines) and (not lines[number] or lines[number].startswith(" " * indent)):
            line = lines[number]
            if line and not line.strip():
                raise _Unsure
            if number + 1 == len(lines) and line == "":
                break  # what follows the last line end is no line
            kept.append(line[indent:])
            at += len(line) + 1
            number += 1
        if number < len(lines) and lines[number] and not lines[number].strip():
            raise _Unsure  # blanks, fewer than the block's: they are of it, or of nothing
        text = "\n".join(kept).rstrip("\n") + ("" if header == "|-" else "\n")
        self._put(Scalar(start, min(at, len(self._text)), text, 1, 0, text, "|"))
        return number, at

    def _flow(self, at: int, depth: int) -> tuple[Node, int]:
        """:returns: what begins with the bracket there, and where it ends."""
        if depth > _DEPTH:
            raise _Unsure
        table = self._text[at] == "{"
        node = Pairs(at, at, flow=True) if table else Items(at, at, flow=True)
        closing = "}" if table else "]"
        end = at + 1
        separated = True
        while True:
            found = _FLOW.match(self._text, end)
            if found is None:
                raise _Unsure
            mark, word, colon = found.groups()
            start, end = found.start(1 if mark else 2), found.end()
            if mark == closing:
                if (
                    separated
                    and end > at + 2
                    and (node.nodes if isinstance(node, Items) else node.pairs)
                ):
                    raise _Unsure  # a comma and nothing behind it
                break
            if mark == ",":
                if separated:
                    raise _Unsure
                separated = True
                continue
            if not separated or bool(colon) != table:
                raise _Unsure
            separated = False
            key = None
            if isinstance(node, Pairs):
                key = self._scalar(word, start)
                found = _FLOW.match(self._text, end)
                if found is None or found[3]:
                    raise _Unsure
                mark, word, _ = found.groups()
                start, end = found.start(1 if mark else 2), found.end()
            each: Node
            if mark in ("[", "{"):
                each, end = self._flow(start, depth + 1)
            elif word is not None:
                each = self._scalar(word, start)
            else:
                raise _Unsure
            if isinstance(node, Pairs):
                assert key is not None
                node.pairs.append((key, each))
            else:
                node.nodes.append(each)
        node.end = end
        close(node)
        return node, end

    def _scalar(self, written: str, start: int) -> Scalar:
        end = start + len(written)
        if written[0] in "\"'":
            return Scalar(start, end, written[1:-1], 1, 0, written[1:-1], written[0])
        return Scalar(start, end, scalar_value(written, True), 1, 0, written)

    def _in(self, kind: type[Node], column: int) -> bool:
        """Whether a collection of that kind is open there."""
        if not self._open:
            return False
        here, node = self._open[-1]
        return here == column and isinstance(node, kind)

    def _begin(self, node: Pairs | Items, column: int, in_item: bool, lists: bool = False) -> None:
        """
        :param in_item: whether it is the item of a list that began in the same line.
        :param lists: whether it may be as far left as what it is in.
        """
        if len(self._open) > _DEPTH:
            raise _Unsure
        if not self._open:
            if self._top is not None:
                raise _Unsure
            self._top = node
        elif in_item:
            self._put(node)
        else:
            here, _ = self._open[-1]
            if self._key is None or column < here or (column == here and not lists):
                raise _Unsure
            self._put(node)
        self._open.append((column, node))

    def _put(self, node: Node) -> None:
        holder = self._open[-1][1]
        if isinstance(holder, Items):
            holder.nodes.append(node)
        elif self._key is not None:
            holder.pairs.append((self._key, node))
            self._key = None
        else:
            raise _Unsure

    def _no_value(self) -> None:
        """A key that nothing came for is for nothing."""
        if self._key is not None:
            self._put(Scalar(self._colon, self._colon, NULL))

    def _close(self) -> None:
        self._no_value()
        _, node = self._open.pop()
        close(node)
