"""What a look at a rendered document finds, before an installer does."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import Enum
from itertools import islice
from typing import Self

from attrs import frozen

#: Of one document; a file that is wrong throughout says so often enough.
MAX_FINDINGS = 50

_CLOSE = 0.75
#: What is longer is like no name that is known, and takes its time to compare.
_LONGEST = 64
_SHOWN = 12


class Severity(Enum):
    """How bad it is: for a problem the installer stops, asks or does something else."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@frozen
class Finding:
    """
    One thing that is wrong, or looks like it.

    :ivar text: what is wrong and what would be right.
    :ivar path: of the value in a structured document: ``global.fqdn``, ``storage.files[0]``.
    :ivar line: of a text, the first is 1; 0 where there are none.
    :ivar repeats: that the text says something twice. Where it is laid together of several
        documents, that is how the higher one wins, and nothing is wrong.
    """

    severity: Severity
    text: str
    path: str = ""
    line: int = 0
    repeats: bool = False

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else self.path
        return f"{where}: {self.text}" if where else self.text


@frozen
class Checked:
    """
    What became of one document.

    :ivar kind: what it was taken for: ``Ubuntu autoinstall``; empty where nothing is known of it
        and nothing was looked at.
    """

    kind: str
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, kind: str, findings: Iterable[Finding]) -> Self:
        """As many as are worth reading: no more of ``findings`` is taken."""
        return cls(kind, tuple(islice(findings, MAX_FINDINGS)))


#: A check: from the bytes that an installer would receive. It never raises.
Check = Callable[[bytes], Checked]


def problem(text: str, path: str = "", line: int = 0) -> Finding:
    return Finding(Severity.PROBLEM, text, path, line)


def warning(text: str, path: str = "", line: int = 0) -> Finding:
    return Finding(Severity.WARNING, text, path, line)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """:returns: the known name that ``name`` is most like, if it is much like any."""
    if len(name) > _LONGEST:
        return None
    names = {_plain(each): each for each in known}
    found = get_close_matches(_plain(name), names, 1, _CLOSE)
    return names[found[0]] if found else None


def hint(name: str, known: Iterable[str]) -> str:
    """:returns: ``; did you mean fqdn?``, or nothing."""
    found = nearest(name, known)
    return f"; did you mean {found}?" if found is not None else ""


def either(names: Iterable[str]) -> str:
    """:returns: ``ext4, xfs or zfs``; of many the first few."""
    all_names = list(names)
    shown = all_names[:_SHOWN]
    if len(all_names) > len(shown):
        return f"{', '.join(shown)} or another of {len(all_names)}"
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
