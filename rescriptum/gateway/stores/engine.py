"""A pool of connections to either database, each set up so that an answered commit is kept."""

import os
from sqlite3 import Connection as SQLiteConnection
from typing import TYPE_CHECKING, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from .locations import CONNECTIONS

if TYPE_CHECKING:
    from psycopg import Connection as PostgresConnection

#: Seconds: until somebody else's lock is given up, a connection counts as dead, a statement ends.
BUSY, CONNECT, STATEMENT = 5, 10, 30
# A peer that is silent must not hold a thread for hours: it is told dead by TCP within 20 seconds.
_ALIVE: Final = {
    "connect_timeout": str(CONNECT),
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "20000",
    "application_name": "rescriptum-gateway",
}
# A commit that was answered is never lost: the lease is founded on it.
_KEPT: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)


def made(url: URL) -> Engine:
    """
    :returns: an engine that has opened nothing yet.
    :raises OSError: when the file of an SQLite database cannot be made.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    return _postgres(url)


def _sqlite(url: URL) -> Engine:
    if url.database and url.database != ":memory:":
        # It holds digests of tokens and sealed secrets; its journal takes over the mode.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        os.close(os.open(url.database, flags, 0o600))
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": BUSY, "isolation_level": None, "check_same_thread": False},
    )

    def prepare(connection: SQLiteConnection, _: ConnectionPoolEntry) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    def begin(connection: Connection) -> None:
        # What is read decides what is written: the lock is had before either.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def _postgres(url: URL) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=CONNECT,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        connect_args={name: each for name, each in _ALIVE.items() if name not in url.query},
    )

    def prepare(connection: "PostgresConnection[tuple[object, ...]]", _: object) -> None:
        connection.execute(f"SET statement_timeout = '{STATEMENT}s'")
        connection.execute(f"SET lock_timeout = '{BUSY}s'")
        connection.execute(f"SET idle_in_transaction_session_timeout = '{STATEMENT}s'")
        connection.execute(_KEPT)
        connection.commit()

    event.listen(engine, "connect", prepare)
    return engine
