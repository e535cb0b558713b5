"""
From documents that lie flat, ``MACHINE.toml``, to directories, ``MACHINE/proxmox.toml``: by
renaming them, and over nothing that is there.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from ...errors import NotFound, Unavailable
from ...net.directories import sync
from ...values import Problem
from ..documents import DEFAULT, GROUPS, format_of
from .entries import visible
from .level import belongs, spellings
from .writing import link, made, remove


@frozen
class Move:
    """
    One renaming.

    :ivar source: what it is called, below the set's directory; ``to`` what it becomes.
    """

    source: str
    to: str


@frozen
class Migration:
    """
    What becomes of documents that lie flat.

    :ivar problems: of those that stay where they are.
    """

    moves: tuple[Move, ...] = ()
    problems: tuple[Problem, ...] = ()


def planned(directory: Path) -> Migration:
    """
    :returns: what :func:`migrated` would do; nothing is changed.
    :raises NotFound: when there is no such directory.
    :raises Unavailable: when it cannot be read.
    """
    moves, problems = [], []
    taken: set[str] = set()
    try:
        for source in _flat(str(directory)):
            to = _to(str(directory), source)
            reason = _obstacle(str(directory), source, to)
            if to is not None and not reason and to in taken:
                reason = f"another document goes to {to}"
            if to is None or reason:
                problems.append(Problem(source, f"stays where it is: {reason}"))
            else:
                taken.add(to)
                moves.append(Move(source, to))
    except FileNotFoundError as e:
        raise NotFound(f"no such directory: {e.filename}") from e
    except OSError as e:
        raise Unavailable(f"{e.filename}: {e.strerror}") from e
    return Migration(tuple(moves), tuple(problems))


def migrated(directory: Path, plan: Migration) -> Migration:
    """
    :param plan: by :func:`planned`; nothing is overwritten that has come since.
    :returns: what was renamed, and what stays. It may be planned and done again, also after it
        was interrupted.
    """
    moves, problems = [], list(plan.problems)
    for move in plan.moves:
        source, to = f"{directory}/{move.source}", f"{directory}/{move.to}"
        try:
            made(os.path.dirname(to))
            _rename(source, to)
        except OSError as e:
            problems.append(Problem(move.source, f"stays where it is: {move.to}: {e.strerror}"))
        else:
            moves.append(move)
    return Migration(tuple(moves), tuple(problems))


def _rename(source: str, to: str) -> None:
    """:raises OSError: when it cannot be done, and there is something of that name already."""
    try:
        link(source, to)
    except FileExistsError:
        if not os.path.samefile(source, to):
            raise
    sync(os.path.dirname(to))
    remove(source)


def _flat(directory: str) -> Iterator[str]:
    entries = visible(directory)
    groups = spellings(directory, [entry.name for entry in entries], GROUPS)
    yield from (entry.name for entry in entries if _is_document(entry))
    for name in groups[:1]:
        for entry in visible(f"{directory}/{name}"):
            if _is_document(entry):
                yield f"{name}/{entry.name}"


def _is_document(entry: os.DirEntry[str]) -> bool:
    return format_of(entry.name) is not None and not os.path.isdir(entry.path)


def _to(directory: str, source: str) -> str | None:
    """:returns: where it belongs, the default's directory as it is spelt already."""
    to = belongs(source)
    if to is None:
        return None
    place, _, name = to.partition("/")
    if place.lower() == DEFAULT:
        place = next(iter(spellings(directory, os.listdir(directory), DEFAULT)), DEFAULT)
    return f"{place}/{name}"


def _obstacle(directory: str, source: str, to: str | None) -> str:
    """:returns: why it cannot go there; empty where it can."""
    if to is None:
        return "its name does not say whose it is"
    path = f"{directory}/{source}"
    if os.path.islink(path) and not os.path.isabs(os.readlink(path)):
        return "a symbolic link would lead elsewhere from there"
    place = os.path.dirname(to)
    if not os.path.lexists(f"{directory}/{place}"):
        return ""
    if not os.path.isdir(f"{directory}/{place}"):
        return f"{place} is no directory"
    for entry in visible(f"{directory}/{place}"):
        there = format_of(entry.name)
        if there is None or there != format_of(source.rpartition("/")[2]):
            continue
        if entry.name != os.path.basename(to) or not os.path.samefile(path, entry.path):
            return f"there is {place}/{entry.name} already"
    return ""
