"""Rows to values and back, and what every statement on them shares."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

from attrs import AttrsInstance, fields, has
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from ...contract.bounds import NAME, is_name
from ...contract.refusals import Rejected
from ...contract.structure import plain, rendered
from ..records import Page

_T = TypeVar("_T")

#: Rows of one page.
LIMIT, MOST = 100, 1000
#: Of a time in a cursor: more make no number that a database has.
_DIGITS: Final = 16


def named(what: str, value: str) -> str:
    """
    :param what: it is the name of.
    :returns: ``value``, which is safe in a path, a log line and a terminal.
    :raises Rejected: ``invalid-message``.
    """
    if not is_name(value):
        text = f"{what}: not a name: 1 to {NAME} letters, digits, '-', '_', '.' and ':'"
        raise Rejected("invalid-message", text)
    return value


def bounded(what: str, value: object, most: int) -> None:
    """:raises Rejected: ``too-large`` for what is longer than ``most`` bytes as JSON."""
    size = len(rendered(value))
    if size > most:
        raise Rejected("too-large", f"{what}: {size} bytes, {most} are the most")


def columns(value: AttrsInstance) -> dict[str, object]:
    """:returns: what a frozen attrs value has for the columns of its table."""
    return {each.name: _column(getattr(value, each.name)) for each in fields(type(value))}


def _column(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_column(each) for each in value]
    return plain(value) if has(type(value)) else value


def made(kind: type[_T], row: RowMapping | Mapping[str, object]) -> _T:
    """:returns: a row as the class that has its columns."""
    arguments: dict[str, Any] = dict(row)
    return kind(**arguments)


def one(
    connection: Connection,
    kind: type[_T],
    statement: Select[Any],
    values: Mapping[str, object] | None = None,
) -> _T | None:
    """
    :param values: of what the statement leaves open.
    :returns: the only row, or None.
    """
    row = connection.execute(statement, values).mappings().one_or_none()
    return None if row is None else made(kind, row)


def every(
    connection: Connection,
    kind: type[_T],
    statement: Select[Any],
    values: Mapping[str, object] | None = None,
) -> list[_T]:
    """
    :param values: of what the statement leaves open.
    :returns: all rows: for statements that have a bound of their own.
    """
    return [made(kind, row) for row in connection.execute(statement, values).mappings()]


def there(found: _T | None, what: str, name: str) -> _T:
    """:raises Rejected: ``not-found``, where nothing was."""
    if found is None:
        raise Rejected("not-found", f"there is no {what} {name[:NAME]!r}")
    return found


def added(connection: Connection, table: Table, values: Mapping[str, object], what: str) -> None:
    """:raises Rejected: ``conflict``, for a row that is there already."""
    try:
        connection.execute(insert(table).values(values))
    except IntegrityError as e:
        raise _integrity(e, what) from None


def removed(connection: Connection, table: Table, where: ColumnElement[bool], what: str) -> None:
    """:raises Rejected: ``not-found`` where there is none; ``in-use`` while others refer to it."""
    try:
        found = connection.execute(delete(table).where(where)).rowcount
    except IntegrityError as e:
        raise _integrity(e, what) from None
    if not found:
        raise Rejected("not-found", f"there is no {what}")


def put(
    connection: Connection, table: Table, key: Iterable[str], values: Mapping[str, object],
    kept: Iterable[str] = (),
) -> None:  # fmt: skip
    """
    Insert a row, or change the one of that key.

    :param kept: columns that stay as they were in a row that is there.
    """
    put_all(connection, table, key, [values], kept)


def put_all(
    connection: Connection, table: Table, key: Iterable[str],
    rows: Sequence[Mapping[str, object]], kept: Iterable[str] = (),
) -> None:  # fmt: skip
    """As :func:`put`, of each of ``rows``, which have the same columns: by one statement."""
    if not rows:
        return
    keys = list(key)
    make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = make(table)
    changed = {
        name: statement.excluded[name] for name in rows[0] if name not in keys and name not in kept
    }
    if changed:
        statement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=keys)
    connection.execute(statement, [dict(each) for each in rows])


def counted(connection: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    """:returns: how many rows there are for which all of ``where`` holds."""
    statement = select(func.count()).select_from(table).where(*where)
    return int(connection.execute(statement).scalar_one())


def _limit(limit: int) -> int:
    if not 0 < limit <= MOST:
        raise Rejected("invalid-message", f"limit: not between 1 and {MOST}")
    return limit


def paged(
    connection: Connection,
    statement: Select[Any],
    column: ColumnElement[str],
    after: str,
    limit: int,
) -> tuple[Sequence[RowMapping], str | None]:
    """
    :param column: unique; the rows come in its order.
    :returns: rows behind ``after``, and what to ask for next.
    """
    limit = _limit(limit)
    if after:
        statement = statement.where(column > named("after", after))
    rows = connection.execute(statement.order_by(column).limit(limit + 1)).mappings().all()
    return rows[:limit], str(rows[limit - 1][column]) if len(rows) > limit else None


def by_name(
    connection: Connection,
    kind: type[_T],
    statement: Select[Any],
    column: ColumnElement[str],
    after: str,
    limit: int,
) -> Page[_T]:
    """:returns: as :func:`paged`, as the class that has the columns."""
    rows, following = paged(connection, statement, column, after, limit)
    return Page(tuple(made(kind, row) for row in rows), following)


def newest(
    connection: Connection,
    kind: type[_T],
    statement: Select[Any],
    at: ColumnElement[int],
    column: ColumnElement[str],
    after: str,
    limit: int,
) -> Page[_T]:
    """
    :param at: when each was made. :param column: its id.
    :param after: ``TIME:ID``, as the page before gave it.
    :returns: rows, the newest first.
    """
    limit = _limit(limit)
    if after:
        time, _, key = after.partition(":")
        if not (time.isascii() and time.isdigit() and len(time) <= _DIGITS):
            raise Rejected("invalid-message", "after: not what a page before gave")
        seconds = int(time)
        behind = (at < seconds) | ((at == seconds) & (column < named("after", key)))
        statement = statement.where(behind)
    statement = statement.order_by(at.desc(), column.desc()).limit(limit + 1)
    rows = connection.execute(statement).mappings().all()
    items = tuple(made(kind, row) for row in rows[:limit])
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(items, None if last is None else f"{last[at]}:{last[column]}")


def _integrity(error: IntegrityError, what: str) -> Rejected:
    text = str(error.orig).lower()
    if "foreign key" in text:
        return Rejected(
            "in-use", f"{what}: something else refers to it, or what it refers to is gone"
        )
    return Rejected("conflict", f"{what}: there is one already")
