"""A TOML document as the lines it is made of: tables, and what is assigned in them."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cached_property

from attrs import field, frozen

from ..template import OPEN, Template

Path = tuple[str, ...]

_KEY = r"[A-Za-z0-9_-]+"
_TEXT = r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
_ANY_KEY = rf"(?:{_KEY}|{_TEXT})"
_DOTTED = rf"{_ANY_KEY}(?:[ \t]*\.[ \t]*{_ANY_KEY})*"
_BARE = re.compile(rf"{_KEY}(?:\.{_KEY})*")
#: By far the most lines: a bare key, a value without escapes or line ends.
_SIMPLE = re.compile(
    rf"([ \t]*({_KEY}(?:\.{_KEY})*)[ \t]*=[ \t]*)"
    r"""("[^"\\\n]*"|'[^'\n]*'|[A-Za-z0-9.:+_-]+)([ \t]*(?:#[^\n]*)?\r?\n)"""
)
_ASSIGNED = re.compile(rf"([ \t]*({_DOTTED})[ \t]*=[ \t]*)")
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]")
#: What matters for where a value ends: texts, comments, brackets, line ends.
_TOKEN = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|'''
    rf"{_TEXT}|#[^\n]*|[\[\]{{}}\n]",
    re.DOTALL,
)
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
#: An escape that may be a brace.
_CODE = re.compile(r"\\[uUx]")
_KEY_FOLLOWS = re.compile(r"[ \t]*[=.]")


@frozen(slots=False)  # for quick look-ups in cached properties
class Assignment:
    """
    A key and its value, in one line or several.

    :ivar path: of the value, from the top of the document.
    :ivar before: as written up to the value; ``value`` and ``after`` likewise.
    """

    path: Path
    before: str
    value: str
    after: str

    @cached_property
    def parts(self) -> tuple[str | Template, ...]:
        """As written, templates in the place of texts that hold placeholders."""
        if OPEN not in self.value and not _CODE.search(self.value):
            return (self.before + self.value + self.after,)
        parts: list[str | Template] = [self.before]
        at = 0
        for start, end, text in texts(self.value):
            if OPEN in text:
                filled = Template.parse(text).encoded(escaped)
                parts += [self.value[at:start], '"', filled, '"']
                at = end
        return (*parts, self.value[at:], self.after)


@frozen(slots=False)
class Table:
    """
    A header and what comes up to the next.

    :ivar path: empty for what comes before the first header.
    :ivar array: whether it is one of a list of tables.
    :ivar header: as written, with the comments right above it.
    :ivar lines: assignments, and comments and empty lines between them as written.
    """

    path: Path = ()
    array: bool = False
    header: str = ""
    lines: tuple[Assignment | str, ...] = field(default=())

    def holding(self, lines: Iterable["Assignment | str"]) -> "Table":
        """:returns: the same with other lines."""
        return Table(self.path, self.array, self.header, tuple(lines))

    @cached_property
    def parts(self) -> tuple[str | Template, ...]:
        """All of it, in few pieces: those that stand below many documents are joined once."""
        parts: list[str | Template] = []
        texts = [self.header]
        for line in self.lines:
            for part in (line,) if isinstance(line, str) else line.parts:
                if isinstance(part, str):
                    texts.append(part)
                else:
                    parts += ["".join(texts), part]
                    texts = []
        return (*parts, "".join(texts))

    @cached_property
    def places(self) -> dict[Path, int]:
        """Which line assigns what."""
        return {line.path: at for at, line in enumerate(self.lines) if isinstance(line, Assignment)}

    @cached_property
    def tables(self) -> frozenset[Path]:
        """What is a table by what is written here: the one of the header, and those above."""
        return frozenset(self.path[:n] for n in range(1, len(self.path) + 1)) | self.dotted

    @cached_property
    def dotted(self) -> frozenset[Path]:
        """What is a table by dotted keys in this one."""
        least = len(self.path) + 1
        return frozenset(path[:n] for path in self.places for n in range(least, len(path)))


def parse(text: str) -> tuple[Table, ...]:
    """
    :param text: a document that the standard library reads.
    :returns: tables that are ``text`` when they are joined, the unnamed one always first.
    """
    tables: list[Table] = []
    path: Path = ()
    array, header = False, ""
    lines: list[Assignment | str] = []
    if text and not text.endswith("\n"):
        text += "\n"
    at = 0
    while at < len(text):
        if found := _SIMPLE.match(text, at):
            before, key, value, after = found.groups()
            lines.append(Assignment((*path, *key.split(".")), before, value, after))
            at = found.end()
            continue
        end, comment = _end(text, at)
        if found := _HEADER.match(text, at):
            above = _above(lines)
            tables.append(Table(path, array, header, tuple(lines)))
            path, array, lines = keys(found[2]), found[1] == "[[", []
            header = above + text[at:end]
        elif found := _ASSIGNED.match(text, at):
            value = text[found.end() : comment].rstrip()
            after = text[found.end() + len(value) : end]
            lines.append(Assignment((*path, *keys(found[2])), found[1], value, after))
        else:
            lines.append(text[at:end])
        at = end
    return (*tables, Table(path, array, header, tuple(lines)))


def keys(written: str) -> Path:
    """:returns: the keys of a dotted key."""
    if _BARE.fullmatch(written):
        return tuple(written.split("."))
    value: object = tomllib.loads(f"{written} = 0")
    found: list[str] = []
    while isinstance(value, dict):
        [(key, value)] = value.items()
        found.append(key)
    return tuple(found)


def texts(value: str) -> Iterator[tuple[int, int, str]]:
    """:returns: each text in a value as written, but no keys: where it begins, ends, what it is."""
    for found in _TOKEN.finditer(value):
        token = found[0]
        if token[0] in "\"'" and not _KEY_FOLLOWS.match(value, found.end()):
            plain = token[1:-1] if "\\" not in token and token[:2] not in ('""', "''") else None
            text = tomllib.loads(f"v = {token}")["v"] if plain is None else plain
            yield found.start(), found.end(), text


def escaped(text: str) -> str:
    """:returns: as it stands between double quotes, character by character."""
    return _ESCAPED.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\u{ord(character):04x}"


def _above(lines: list[Assignment | str]) -> str:
    """Takes the comments off that stand right above a header, and returns them."""
    above = ""
    while lines and isinstance(line := lines[-1], str) and line.lstrip().startswith("#"):
        above = line + above
        lines.pop()
    return above


def _end(text: str, at: int) -> tuple[int, int]:
    """:returns: where what begins at ``at`` ends, and where its last comment begins."""
    depth, comment = 0, -1
    for found in _TOKEN.finditer(text, at):
        token = found[0]
        if token == "\n" and depth == 0:
            return found.end(), found.start() if comment < 0 else comment
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        elif token[0] == "#" and depth == 0:
            comment = found.start()
    return len(text), len(text)
