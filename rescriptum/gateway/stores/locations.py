"""Where the database is: ``database_url``, read once, and never printed with its password."""

from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from ...errors import ConfigError
from ...values import Problem

#: Connections to PostgreSQL, and threads that use them. SQLite has one writer.
CONNECTIONS: Final = 8
_SETTING: Final = "database_url"
_POSTGRES: Final = {"postgres", "postgresql", "postgresql+psycopg"}
_WANTED: Final = "want sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"


def location(text: str) -> URL:
    """
    :returns: with the driver that is ours.
    :raises ConfigError: for anything that is no database of a kind that we know.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # neither text is repeated: there may be a password in it
        raise ConfigError([Problem(_SETTING, f"not a URL; {_WANTED}")]) from None
    if url.drivername in _POSTGRES:
        _importable()
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite":
        kind = url.drivername[:40]
        raise ConfigError([Problem(_SETTING, f"no database of kind {kind!r}; {_WANTED}")])
    if url.host or url.username or url.query:
        raise ConfigError([Problem(_SETTING, "a file takes three slashes; want sqlite:///PATH")])
    return url


def threads(text: str) -> int:
    """
    :returns: how many threads the workers of this database need.
    :raises ConfigError: as :func:`location`.
    """
    return 1 if location(text).get_backend_name() == "sqlite" else CONNECTIONS


def _importable() -> None:
    try:
        import psycopg  # noqa: F401 - a choice: SQLite needs nothing beside Python
    except ImportError:
        text = "PostgreSQL needs psycopg: pip install 'rescriptum[postgres]'"
        raise ConfigError([Problem(_SETTING, text)]) from None
