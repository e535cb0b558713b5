"""The directory of hosted drivers: programs, each with its manifest, that nobody else can write."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from ...errors import Malformed, Refused
from ...values import Problem
from .manifest import LONGEST, Manifest

#: Drivers of one agent: what a Hello carries.
MOST: Final = 64
_SUFFIX: Final = ".json"


@frozen
class HostedProgram:
    """A driver that can be run."""

    manifest: Manifest
    path: Path


@frozen
class Found:
    """
    What a directory holds.

    :ivar drivers: by id, those that can be run. :ivar problems: why others cannot.
    """

    drivers: Mapping[str, HostedProgram]
    problems: tuple[Problem, ...] = ()


def read(directory: Path) -> Found:
    """:returns: every driver in ``directory``; whatever is there, nothing is raised."""
    drivers: dict[str, HostedProgram] = {}
    problems: list[Problem] = []
    try:
        _only_ours(directory, "directory")
        names = sorted(each.name for each in directory.iterdir())
    except (OSError, Refused) as e:
        return Found({}, (Problem(str(directory), _why(e)),))
    for name in names:
        path = directory / name
        if not name.endswith(_SUFFIX):
            problems += _alone(path, names)
            continue
        try:
            program = _program(path)
            other = drivers.get(program.manifest.id)
            if other is not None:
                raise Refused(f"id: {program.manifest.id} is the id of {other.path.name}, too")
            if len(drivers) >= MOST:
                raise Refused(f"{MOST} drivers are as many as an agent hosts")
        except (OSError, Malformed, Refused) as e:
            problems.append(Problem(str(path), _why(e)))
        else:
            drivers[program.manifest.id] = program
    return Found(drivers, tuple(problems))


def check(program: HostedProgram) -> None:
    """
    Right before it is run.

    :raises Refused: when it cannot be, or others could have written it.
    """
    try:
        _runnable(program.path)
    except OSError as e:
        raise Refused(_why(e)) from None


def _program(manifest: Path) -> HostedProgram:
    """:raises OSError: ``Malformed`` and ``Refused``: when it is no driver."""
    _only_ours(manifest, "manifest")
    with manifest.open("rb") as file:
        made = Manifest.parse(file.read(LONGEST + 1))
    path = manifest.with_suffix("")
    if not path.exists():
        raise Refused(f"there is no program {path.name} beside it")
    try:
        _runnable(path)
    except Refused as e:
        raise Refused(f"{path.name}: {e}") from None
    return HostedProgram(made, path)


def _runnable(path: Path) -> None:
    mode = _only_ours(path, "program")
    if not stat.S_ISREG(mode):
        raise Refused("not a file")
    if not os.access(path, os.X_OK):
        raise Refused(f"not executable: chmod +x {path}")


def _only_ours(path: Path, what: str) -> int:
    """:returns: its mode. :raises Refused: when others than root and this user may write it."""
    found = os.stat(path)
    mode = found.st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Refused(
            f"the {what} can be written by others (mode {stat.S_IMODE(mode):04o}):"
            f" chmod go-w {path}"
        )
    if found.st_uid not in (0, os.geteuid()):
        raise Refused(f"the {what} belongs to user {found.st_uid}: chown root {path}")
    return mode


def _alone(path: Path, names: list[str]) -> Iterator[Problem]:
    beside = path.name + _SUFFIX
    if beside not in names and path.is_file() and os.access(path, os.X_OK):
        yield Problem(str(path), f"a program without a manifest: {beside} says what it is")


def _why(error: Exception) -> str:
    return f"{error.strerror}" if isinstance(error, OSError) else str(error)
