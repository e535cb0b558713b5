"""One TOML document laid over another, line by line: what nobody changes stays as written."""

import re
import tomllib
from collections.abc import Iterable, Sequence

import tomlkit

from . import plain
from .tomllines import Assignment, Path, Table, escaped

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Edited:
    """
    A document that others are laid over.

    :ivar tables: of the document, the unnamed one first.
    :ivar certain: whether all edits so far are of the kinds that cannot but be right: a value
        in the place of another, a new key in a table that has a header of its own, and a new
        table where nothing of that name is. What comes of others has to be looked at.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = list(tables)
        self.certain = True

    def lay(self, higher: Sequence[Table]) -> None:
        """:param higher: a valid document; its values win, its lists replace."""
        arrays = {table.path for table in higher if table.array}
        laid: set[Path] = set()
        for table in higher:
            array = _above(table.path, arrays)
            if array is not None:
                if array not in laid:
                    laid.add(array)
                    self.remove(array)
                self._append(table)
                self.certain = False
                continue
            if table.path and not table.places:
                self._assign(Assignment(table.path, "", "{}", "\n"), table, "")
            comments = ""
            for line in table.lines:
                if isinstance(line, str):
                    comments = comments + line if line.strip() else ""
                else:
                    self._assign(line, table, comments)
                    comments = ""

    def remove(self, path: Path) -> None:
        """Whatever there is of that name, and all below."""
        kept = []
        depth = len(path)
        for table in self.tables:
            if table.path[:depth] == path and table.path:
                continue
            if any(place[:depth] == path for place in table.places):
                lines = [
                    line
                    for line in table.lines
                    if isinstance(line, str) or line.path[:depth] != path
                ]
                table = table.holding(lines)
            kept.append(table)
        self.tables = kept

    def _assign(self, line: Assignment, source: Table, comments: str) -> None:
        """
        :param source: the table that the line is in.
        :param comments: those right above the line.
        """
        path, table = line.path, line.value.startswith("{")
        array = _above(path, [each.path for each in self.tables if each.array])
        if array is not None:
            self.certain = False
            self.remove(array)
        for n in range(len(path), 0, -1):
            for at, each in enumerate(self.tables):
                if path[:n] in each.places:
                    if self._over(at, each.places[path[:n]], line):
                        return
                    break
        if any(path in each.tables for each in self.tables):
            self.certain = False
            if table:
                for key, value in _value(line.value).items():
                    self._assign(Assignment((*path, key), "", written(value), "\n"), source, "")
                return
            self.remove(path)
        self._insert(line, source, comments)

    def _over(self, at: int, place: int, line: Assignment) -> bool:
        """
        :returns: whether the line is done with: it took the place of the one that is there, or
            went into it. A value that has to give way to a table is removed instead.
        """
        there = self.tables[at].lines[place]
        assert isinstance(there, Assignment)
        value, after = line.value, there.after
        if there.path != line.path:
            self.certain = False
            if not there.value.startswith("{"):
                self.remove(there.path)
                return False
            inner: object = _value(f"{{v = {value}}}")["v"]
            for key in reversed(line.path[len(there.path) :]):
                inner = {key: inner}
            value = written(plain.merge(_value(there.value), inner))
        elif there.value.startswith("{") and value.startswith("{"):
            self.certain = False
            value = written(plain.merge(_value(there.value), _value(value)))
        elif "#" in line.after:
            after = line.after
        lines = list(self.tables[at].lines)
        lines[place] = Assignment(there.path, there.before, value, after)
        self.tables[at] = self.tables[at].holding(lines)
        return True

    def _insert(self, line: Assignment, source: Table, comments: str) -> None:
        """Where nothing is of that name."""
        home = line.path[:-1]
        for n in range(len(home), 0, -1):
            for at, table in enumerate(self.tables):
                if home[:n] in table.dotted and table.path != home:
                    self.certain = False
                    self._add(at, line, comments, False, beside=home[:n])
                    return
        top = line.path[:1]
        new = not any(top in table.tables or top in table.places for table in self.tables)
        if line.path == source.path:  # a table with nothing in it
            self.certain = self.certain and new
            self._append(source)
            return
        for at, table in enumerate(self.tables):
            if table.path == home:
                self._add(at, line, comments, source.path == home)
                return
        self.certain = self.certain and new
        if source.path == home:
            self._append(source.holding(()))
        else:
            self._append(Table(home, False, f"[{dotted(home)}]\n"))
        self._add(len(self.tables) - 1, line, comments, source.path == home)

    def _append(self, table: Table) -> None:
        """At the end, an empty line before it."""
        last = self.tables[-1]
        ends = last.lines[-1] if last.lines else last.header
        if isinstance(ends, Assignment) or ends.strip():
            self.tables[-1] = last.holding((*last.lines, "\n"))
        self.tables.append(table)

    def _add(
        self, at: int, line: Assignment, comments: str, as_written: bool, beside: Path = ()
    ) -> None:
        """
        :param as_written: whether the line stood in a table of the same name.
        :param beside: what its key begins with: it is put after the last that does.
        """
        table = self.tables[at]
        lines = list(table.lines)
        places = [place for path, place in table.places.items() if path[: len(beside)] == beside]
        place = max(places) + 1 if places else 0 if table.path else len(lines)
        before = line.before
        if not as_written:
            before = f"{dotted(line.path[len(table.path) :])} = "
        after = line.after
        if not places and not table.path and len(self.tables) > 1:
            after += "\n"
        lines.insert(place, Assignment(line.path, comments + before, line.value, after))
        self.tables[at] = table.holding(lines)


def _above(path: Path, arrays: Iterable[Path]) -> Path | None:
    """:returns: the one of ``arrays`` that is ``path``, or that it is in; the outermost."""
    return min((each for each in arrays if path[: len(each)] == each), key=len, default=None)


def _value(inline: str) -> dict[str, object]:
    value = tomllib.loads(f"v = {inline}")["v"]
    assert isinstance(value, dict)
    return value


def dotted(path: Path) -> str:
    """:returns: as a key or header has it."""
    return ".".join(_key(key) for key in path)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else f'"{escaped(key)}"'


def written(value: object) -> str:
    """:returns: in one line."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {written(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return f'"{escaped(value)}"'
    return tomlkit.item(value).as_string()
