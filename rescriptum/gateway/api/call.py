"""One request of an operator, read, and what every operation does with it."""

import re
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from typing import Final, Protocol, TypeVar

from attrs import frozen
from sqlalchemy import Connection

from ...contract.refusals import Rejected
from ...contract.structure import JSON
from ...web.request import Request
from ..records import Operator, Workflow
from ..replies import message
from ..signing import Worker
from ..stores import events
from .operations import LONGEST_LIMIT, USUAL_LIMIT, Operation
from .shapes.gateway import Pins

_T = TypeVar("_T")
_E = TypeVar("_E", bound=Enum)
_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


class Start(Protocol):
    """Begins a workflow, within a transaction."""

    def __call__(
        self,
        connection: Connection,
        kind: str,
        machine: str,
        parameters: JSON,
        operator: str,
        now: int,
    ) -> Workflow:
        """:raises Rejected: for a kind, a machine or parameters that it cannot begin with."""


class Cancel(Protocol):
    """See :func:`rescriptum.gateway.ending.cancel`."""

    def __call__(self, connection: Connection, workflow: str, reason: str, now: int, /) -> bool:
        """:returns: whether it ended by this. :raises Rejected: ``not-found``."""


@frozen(kw_only=True)
class Means:
    """
    What operations are performed with.

    :ivar now: Unix time. :ivar monotonic: seconds of a clock that is never set back.
    :ivar octets: gives so many random ones.
    :ivar seal: makes of a secret's name and value what is stored.
    :ivar worker: who signs commands; None: they travel unsigned.
    :ivar start: begins a workflow. :ivar cancel: ends one.
    :ivar version: of rescriptum.
    """

    now: Callable[[], float]
    monotonic: Callable[[], float]
    octets: Callable[[int], bytes]
    pins: Pins
    seal: Callable[[str, bytes], bytes]
    worker: Callable[[], Worker | None]
    start: Start
    cancel: Cancel
    version: str


@frozen
class Call:
    """
    What is asked, by whom, and when.

    :ivar captures: of the path. :ivar filters: of the query, those that were given.
    :ivar after: where the page begins; empty: at the beginning.
    :ivar condition: the ETag that the thing must still have; None: whatever it has.
    :ivar now: Unix time, in whole seconds.
    """

    operator: Operator
    captures: tuple[str, ...]
    body: object
    filters: dict[str, str]
    limit: int
    after: str
    condition: str | None
    now: int
    means: Means

    @property
    def name(self) -> str:
        """The first capture: of what the path leads to."""
        return self.captures[0]

    def sent(self, kind: type[_T]) -> _T:
        """:returns: the body."""
        assert isinstance(self.body, kind)
        return self.body

    def one_of(self, name: str, kind: type[_E]) -> _E | None:
        """
        :returns: what the filter ``name`` says; None: nothing.
        :raises Rejected: for a word that is none of ``kind``.
        """
        text = self.filters.get(name)
        for each in kind:
            if each.value == text:
                return each
        if text is not None:
            words = ", ".join(str(each.value) for each in kind)
            raise Rejected("invalid-message", f"{name}: one of {words}")
        return None

    def met(self, revision: int) -> None:
        """:raises Rejected: unless the thing has the revision that the caller has seen."""
        if self.condition not in (None, "*", etag(revision)):
            raise Rejected("changed-meanwhile", f"it is at revision {revision}")

    def new_id(self) -> str:
        """:returns: one that nothing has."""
        return b32encode(self.means.octets(10)).decode("ascii").lower()

    def new_token(self) -> str:
        """:returns: 256 random bits."""
        return urlsafe_b64encode(self.means.octets(32)).decode("ascii").rstrip("=")

    def changed(
        self, connection: Connection, kind: str, subject: str, site: str | None, /, **data: object
    ) -> None:
        """Record what was changed, for whoever follows and whoever asks later."""
        said = {"operator": self.operator.name, **data}
        events.append(connection, kind, site, subject, said, self.now)


def read(
    operation: Operation,
    request: Request,
    captures: tuple[str, ...],
    operator: Operator,
    means: Means,
) -> Call:
    """:raises Rejected: for a query or a body that ``operation`` does not take."""
    query = dict(request.query)
    taken = {*operation.filters, *(("limit", "cursor") if operation.paged else ())}
    for name in sorted(query.keys() - taken):
        takes = ", ".join(sorted(taken)) or "no query"
        raise Rejected("invalid-message", f"takes {takes}, not {name[:40]!r}")
    limit = query.get("limit", str(USUAL_LIMIT))
    if not _NUMBER.fullmatch(limit) or not 1 <= int(limit) <= LONGEST_LIMIT:
        raise Rejected("invalid-message", f"limit: not 1 to {LONGEST_LIMIT}")
    return Call(
        operator,
        captures,
        None if operation.takes is None else message(operation.takes, request),
        {name: query[name] for name in operation.filters if query.get(name)},
        int(limit),
        query.get("cursor", ""),
        request.header("if-match") if operation.matches else None,
        int(means.now()),
        means,
    )


def at(seconds: int) -> str:
    """:returns: ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def maybe_at(seconds: int | None) -> str | None:
    """:returns: ISO 8601 in UTC, or None where it has not happened."""
    return None if seconds is None else at(seconds)


def etag(revision: int) -> str:
    """:returns: quoted, as headers have it."""
    return f'"{revision}"'
