"""The file that an SQLite store keeps its documents in: made, opened, and its errors told."""

import os
import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import Unavailable
from .writing import made

#: Of the tables below.
SCHEMA = 1
#: Seconds for which a call waits while another program writes.
BUSY = 5.0
#: What tells our databases from those of other programs: ``resc``.
_APPLICATION = 0x72657363

# The number of a row is its change: it only grows, is never given twice (AUTOINCREMENT), and a
# document that is written gets another one. So what is new is what stands behind the last number
# that was read, and no reader can miss it.
_TABLES = (
    """
    CREATE TABLE documents (
      change INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL CHECK (kind IN ('machine', 'group', 'default')),
      name TEXT NOT NULL,
      extension TEXT NOT NULL,
      data BLOB NOT NULL CHECK (typeof(data) = 'blob'),
      UNIQUE (kind, name, extension)
    )
    """,
    """
    CREATE TRIGGER documents_are_replaced BEFORE UPDATE ON documents BEGIN
      SELECT RAISE(ABORT, 'an update would not be noticed, INSERT OR REPLACE is');
    END
    """,
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)


class Database:
    """
    Opened when it is first asked for, by one call at a time from any thread.

    A commit is on the disk when its call returns (``synchronous = FULL``): a machine that is
    disarmed must not be armed again because the power failed.

    :ivar opened: how often a file was opened: after that nothing that was read before counts.
    """

    def __init__(self, path: Path, busy: float) -> None:
        """:param busy: seconds for which a call waits while another program writes."""
        self._path = path
        self._busy = busy
        self.opened = 0
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def close(self) -> None:
        """Let go of the file; whatever is asked next opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._file = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """
        :returns: the connection, at one moment of the database, or None where there is none.
        :raises Unavailable: for any error of the database, with a sentence.
        """
        with self._told():
            connection = self._current()
            if connection is None:
                yield None
                return
            with connection:
                connection.execute("BEGIN")
                yield connection

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        """
        As :meth:`reading`, and what is written is there with the end of the block, or not at all
        after an error in it.

        :param create: make a database where there is none.
        """
        with self._told():
            connection = self._current()
            if connection is None and create:
                _make(self._path)
                connection = self._current()
            if connection is None:
                yield None
                return
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise Unavailable(f"{e.filename or self._path}: {e.strerror}") from e
        except sqlite3.Error as e:
            code = getattr(e, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
                self.close()
            raise Unavailable(f"{self._path}: {_reason(code, e)}") from e

    def _current(self) -> sqlite3.Connection | None:
        """:returns: a connection to what is there now, whatever was when it was opened."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self.close()
            return None
        file = (status.st_dev, status.st_ino)
        if self._connection is None or file != self._file:
            self.close()
            self._connection, self._file = self._connected(), file
            self.opened += 1
        return self._connection

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """:raises Unavailable: when it is the database of another program, or of a newer one."""
        with connection:
            connection.execute("BEGIN")
            if _empty(connection):
                connection.execute("COMMIT")
                connection.execute("BEGIN IMMEDIATE")
                if _empty(connection):  # nobody else has made the tables meanwhile
                    for statement in _TABLES:
                        connection.execute(statement)
            [application] = connection.execute("PRAGMA application_id").fetchone()
            [version] = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise Unavailable(f"{self._path}: the database of another program")
        if version != SCHEMA:
            raise Unavailable(
                f"{self._path}: database schema is version {version}, "
                f"this program understands {SCHEMA}"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")


def _make(path: Path) -> None:
    """:raises OSError: when it cannot be made."""
    made(str(path.parent))
    # Documents hold passwords, and a group may share them.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640))
    if os.geteuid() == 0:  # the server that reads it is not root
        like = os.stat(path.parent)
        os.chown(path, like.st_uid, like.st_gid)


def _empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _reason(code: int, error: sqlite3.Error) -> str:
    """:returns: what is the matter, and what would be right."""
    if code == sqlite3.SQLITE_BUSY:
        return "another program keeps it locked"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return f"{error}; {_user()} has to be able to write it and its directory"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"{error}; damaged, or no database"
    return str(error)


def _user() -> str:
    try:
        return f"user {pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:
        return f"user {os.geteuid()}"
