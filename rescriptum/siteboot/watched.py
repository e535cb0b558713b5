"""What proxy DHCP has come to know of machines and of other servers, as status reports have it."""

from collections.abc import Sequence
from typing import TypeVar

from attrs import frozen

from ..contract.structure import JSON, plain

_T = TypeVar("_T")

#: Machines and findings that a report names: the last ones. There may be thousands of them, and a
#: report has to travel.
MACHINES, FINDINGS = 32, 8


@frozen
class Learnt:
    """
    A machine that did not take our offers as they are made first, and how it took them.

    :ivar architecture: the tag of the architecture table; empty: unknown.
    """

    mac: str
    architecture: str
    strategy: str


@frozen
class Foreign:
    """
    Another server that says what ours says.

    :ivar code: stable. :ivar reason: and ``cure``, the line to remove: for people.
    """

    server: str
    code: str
    reason: str
    cure: str


def shown(learnt: Sequence[Learnt], foreign: Sequence[Foreign]) -> JSON:
    """:returns: the last of each, and how many there are."""
    return {
        "learnt": _last(learnt, MACHINES),
        "learnt_of": len(learnt),
        "foreign": _last(foreign, FINDINGS),
        "foreign_of": len(foreign),
    }


def _last(rows: Sequence[_T], most: int) -> list[JSON]:
    return [plain(each) for each in rows[-most:]]
