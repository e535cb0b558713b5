"""
Environment files: ``KEY=value`` lines as systemd and shells know them, without the shell.

Nothing expands and nothing continues; a ``#`` starts a comment at the start of a line only.
"""

import re
from collections.abc import Mapping

from attrs import frozen

from .values import Problem

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_COMMENTED = re.compile(r"\s*#\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=.*")


@frozen
class Line:
    """A value and where it stands; ``number`` counts from one."""

    value: str
    number: int


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def parse(text: str, name: str) -> tuple[dict[str, Line], list[Problem]]:
    """
    :param name: of the file, for problems, which never show a value.
    :returns: the values, and every line that is none of this grammar.
    """
    values: dict[str, Line] = {}
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            problems.append(Problem(f"{name}:{number}", "want KEY=value"))
        elif match[1] in values:
            first = values[match[1]].number
            problems.append(Problem(f"{name}:{number}", f"{match[1]} stands in line {first} too"))
        else:
            values[match[1]] = Line(_unquoted(match[2]), number)
    return values, problems


def edited(text: str, changes: Mapping[str, str | None]) -> str:
    """
    :param changes: new values, or None for a variable that is commented out.
    :returns: ``text`` with them, every other line and comment as it was. A commented-out
        setting is taken into use where it stands; a new one goes to the end.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    for key, value in changes.items():
        active = [at for at, line in enumerate(lines) if _key(_LINE, line) == key]
        parked = [at for at, line in enumerate(lines) if _key(_COMMENTED, line) == key]
        if value is None:
            for at in active:
                lines[at] = f"#{lines[at].lstrip()}"
            continue
        line = f"{key}={_quoted(value)}"
        if active:
            lines[active[0]] = line
        elif parked:
            lines[parked[0]] = line
        else:
            lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _key(grammar: re.Pattern[str], line: str) -> str | None:
    match = grammar.fullmatch(line)
    return match[1] if match else None


def _quoted(value: str) -> str:
    """Quotes keep what stripping would take; other values stand as they are."""
    if value != value.strip() or (value[:1] in "'\"" and value[:1] == value[-1:]):
        return f'"{value}"'
    return value
