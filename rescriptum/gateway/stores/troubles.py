"""What a database's errors mean to whoever asked, in one line that holds no secret."""

from typing import Final

from sqlalchemy import URL
from sqlalchemy.exc import (
    DatabaseError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as NoConnection

from ...contract.refusals import Rejected
from ...values import printable

#: Two transactions were in each other's way, and this one was undone: serialization, deadlock.
_AGAIN: Final = {"40001", "40P01"}
_READ_ONLY: Final = "25006"
#: Errors that say: not now.
_UNAVAILABLE: Final = (OperationalError, InterfaceError, NoConnection)
_SAID: Final = 300


class Lost(Rejected):
    """The connection is gone: what was read by it says nothing any more."""

    def __init__(self, detail: str) -> None:
        super().__init__("store-unavailable", detail)


def is_transient(error: Exception) -> bool:
    """:returns: whether the same transaction may well succeed when it is done again."""
    return isinstance(error, DBAPIError) and _state(error) in _AGAIN


def told(error: Exception, url: URL) -> Exception:
    """:returns: what to raise in its place: ``error`` itself where the fault is ours."""
    if isinstance(error, DataError | UnicodeEncodeError | OverflowError):
        return Rejected("invalid-message", "a value that the database cannot keep")
    if not isinstance(error, SQLAlchemyError):
        return error
    text = said(error, url)
    if isinstance(error, DBAPIError):
        state = _state(error)
        if error.connection_invalidated or state == _READ_ONLY:
            return Lost(text)
        if isinstance(error, OperationalError) and url.get_backend_name() != "sqlite":
            # Without a state it never came to a statement: nobody answered, or refused us.
            return Rejected("store-unavailable", text) if state else Lost(text)
    if isinstance(error, _UNAVAILABLE) or is_damaged(error):
        return Rejected("store-unavailable", text)
    return error


def is_damaged(error: SQLAlchemyError) -> bool:
    """:returns: whether the file is no database, or not a whole one."""
    return isinstance(error, DatabaseError) and not isinstance(
        error, OperationalError | IntegrityError | ProgrammingError | DataError
    )


def said(error: SQLAlchemyError, url: URL) -> str:
    """:returns: the first line of what the driver says: behind it stand values of rows."""
    if isinstance(error, NoConnection):
        return f"{name(url)}: all connections are in use"
    cause = error.orig if isinstance(error, DBAPIError) else error
    line = (str(cause).splitlines() or ["no reason given"])[0].strip()
    if url.password:
        line = line.replace(url.password, "…")
    return printable(f"{name(url)}: {line}")[:_SAID]


def name(url: URL) -> str:
    """:returns: the database as operators know it, without a password."""
    if url.get_backend_name() == "sqlite":
        return url.database or "in memory"
    host = url.host or str(url.query.get("host", "local"))
    return f"{url.database or url.username} at {host}:{url.port or 5432}"


def _state(error: DBAPIError) -> str | None:
    state = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None
