"""What a command shows: tables for people, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from attrs import frozen

from ...values import printable

Fields = Mapping[str, Any]
#: Headings, and where in a row what stands below each is found: ``lease.node``.
Columns = Sequence[tuple[str, str]]


@frozen
class Screen:
    """
    :ivar out: for what was asked for. :ivar err: for everything else.
    :ivar as_json: whether a program reads it.
    :ivar plain: whether colours are unwanted: ``NO_COLOR``.
    """

    out: TextIO
    err: TextIO
    as_json: bool = False
    plain: bool = False

    def said(self, line: str) -> None:
        """One line for people; programs get none."""
        if not self.as_json:
            self.out.write(f"{printable(line)}\n")

    def told(self, value: object) -> None:
        """One document for programs."""
        if self.as_json:
            self.out.write(json.dumps(value, indent=1) + "\n")

    def rows(self, key: str, rows: Sequence[Fields], columns: Columns) -> None:
        """A list: a table on a terminal, aligned text elsewhere."""
        if self.as_json:
            self.told({key: list(rows)})
            return
        cells = [[cell(row, path) for _, path in columns] for row in rows]
        if not cells:
            self.err.write(f"no {key}\n")
        elif self.out.isatty():
            self._table([heading for heading, _ in columns], cells)
        else:
            self._aligned([[heading.upper() for heading, _ in columns], *cells])

    def fields(self, row: Fields) -> None:
        """One thing: a field a line, and a table for each list of things in it."""
        if self.as_json:
            self.told(row)
            return
        flat = list(_flat(row))
        width = max((len(name) for name, _ in flat), default=0)
        for name, value in flat:
            self.said(f"{name:<{width}}  {value}")
        for name, value in row.items():
            if _is_list_of_things(value):
                self.said("")
                self.said(f"{name}:")
                names = dict.fromkeys(each for thing in value for each in thing)
                self.rows(name, value, [(each, each) for each in names])

    def _aligned(self, lines: list[list[str]]) -> None:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            text = "  ".join(f"{each:<{width}}" for each, width in zip(line, widths, strict=True))
            self.out.write(f"{text.rstrip()}\n")

    def _table(self, headings: list[str], cells: list[list[str]]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="" if self.plain else "bold", pad_edge=False)
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for line in cells:
            table.add_row(*(Text(each) for each in line))
        Console(file=self.out, no_color=self.plain, highlight=False).print(table)


def cell(row: Fields, path: str) -> str:
    """:returns: what is found at ``path``, in a word."""
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return word(value)


def word(value: object) -> str:
    """:returns: anything of JSON, on one line."""
    if value is None or value in ("", [], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and not any(isinstance(each, (list, dict)) for each in value):
        return printable(", ".join(map(str, value)))
    if isinstance(value, (list, dict)):
        return printable(json.dumps(value))
    return printable(str(value))


def _flat(row: Fields, prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for name, value in row.items():
        if isinstance(value, dict) and value:
            found += _flat(value, f"{prefix}{name}.")
        elif not _is_list_of_things(value):
            found.append((f"{prefix}{name}", word(value)))
    return found


def _is_list_of_things(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
