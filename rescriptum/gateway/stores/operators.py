"""Operators: who may use the operators' API, by digests of their tokens."""

from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from ...contract.refusals import Rejected
from ..records import Operator, Page, Scope
from .rows import LIMIT, added, by_name, columns, counted, named, one, there
from .tables import operators

# Of every request: to put a statement together takes longer than to execute it.
_BY_TOKEN: Final = select(operators).where(
    (operators.c.token_digest == bindparam("token")) & operators.c.removed_at.is_(None)
)


def create(connection: Connection, operator: Operator) -> None:
    """:raises Rejected: ``conflict`` for a name that is or was somebody's; ``invalid-message``."""
    named("operator", operator.name)
    added(connection, operators, columns(operator), f"operator {operator.name}")


def get(connection: Connection, name: str) -> Operator:
    """:returns: also one that was removed. :raises Rejected: ``not-found``."""
    found = one(connection, Operator, select(operators).where(operators.c.name == name))
    return there(found, "operator", name)


def by_token(connection: Connection, token_digest: str) -> Operator | None:
    """:returns: whose token it is; None: nobody's, or of one who was removed."""
    return one(connection, Operator, _BY_TOKEN, {"token": token_digest})


def listing(
    connection: Connection, removed: bool = False, after: str = "", limit: int = LIMIT
) -> Page[Operator]:
    """:param removed: whether those who were removed are listed too. :returns: by name."""
    statement = select(operators)
    if not removed:
        statement = statement.where(operators.c.removed_at.is_(None))
    return by_name(connection, Operator, statement, operators.c.name, after, limit)


def remove(connection: Connection, name: str, now: int) -> None:
    """:raises Rejected: ``not-found``; ``in-use`` for the last one of scope admin."""
    admins = (operators.c.scope == Scope.ADMIN.value) & operators.c.removed_at.is_(None)
    # Two that remove each other at once: the second sees that the first is gone.
    connection.execute(select(operators.c.name).where(admins).with_for_update())
    if not counted(connection, operators, admins & (operators.c.name != name)):
        raise Rejected("in-use", f"{name[:128]} is the last operator of scope admin")
    _changed(connection, name, {"removed_at": now})


def _changed(connection: Connection, name: str, values: dict[str, object]) -> None:
    theirs = (operators.c.name == name) & operators.c.removed_at.is_(None)
    if not connection.execute(update(operators).where(theirs).values(values)).rowcount:
        raise Rejected("not-found", f"there is no operator {name[:128]!r}")
