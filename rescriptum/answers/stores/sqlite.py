"""The answer set in an SQLite database: one row a document."""

import os
import pwd
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...errors import NotFound, Refused, Unavailable
from ...values import Problem
from ..documents import Document, Folder, Key, Kind, Listing, Place
from ..formats.table import BY_EXTENSION
from .admission import admitted

#: Of the tables below.
SCHEMA = 1
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

_IS = "kind = ? AND name = ? AND extension = ?"
_COLUMNS = "kind, name, extension"

#: A document's columns but its bytes.
Row = tuple[str, str, str]


def _row(key: Key) -> Row:
    return key.place.kind.value, key.place.name, key.extension


def _key(row: Row) -> Key | None:
    """:returns: None for a row of a format that this version does not have."""
    kind, name, extension = row
    return Key(Place(Kind(kind), name), extension) if extension in BY_EXTENSION else None


class SQLiteStore:
    """
    A database of answers, opened when it is first asked for. It is made by the first write: until
    then the set is empty.

    A commit is on the disk when its call returns (``synchronous = FULL``): a machine that is
    disarmed must not be armed again because the power failed.
    """

    def __init__(self, path: Path, busy: float = BUSY) -> None:
        """:param busy: seconds for which a call waits while another program writes."""
        self._path = path
        self._busy = busy
        problem = Problem(str(path), "no such database: no machine gets an answer")
        self._none = Listing(problems=(problem,))
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._forget()

    def _forget(self) -> None:
        self._listing: Listing | None = None
        self._rows: set[Row] = set()
        self._removed: set[Row] = set()
        self._seen = 0
        self._version: int | None = None

    def close(self) -> None:
        """Let go of the file; whatever is asked next opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._file = None
        self._forget()

    def describe(self) -> str:
        return f"sqlite:{self._path}"

    def listing(self) -> Listing:
        """Reads the documents that changed since the last time, and no other row."""
        with self._transaction("BEGIN") as connection:
            if connection is None:
                return self._none
            [version] = connection.execute("PRAGMA data_version").fetchone()
            if self._listing is not None and version == self._version:
                return self._listing
            [sequence] = connection.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'"
            ).fetchone()
            if sequence < self._seen:  # an older database was copied over this one
                self._forget()
            query = f"SELECT {_COLUMNS}, data FROM documents WHERE change > ?"
            changed: dict[Row, bytes] = {
                row[:3]: row[3] for row in connection.execute(query, (self._seen,))
            }
            gone = self._gone(connection, changed)
        before = self._listing
        self._rows.update(changed)
        self._rows -= gone
        self._removed.clear()
        self._seen, self._version = sequence, version
        if before is None or changed or gone:
            folders = {} if before is None else before.folders
            self._listing = before = Listing(_laid(folders, changed, gone))
        return before

    def _gone(self, connection: sqlite3.Connection, changed: Mapping[Row, bytes]) -> set[Row]:
        """:returns: which of the rows known are there no more."""
        gone = (self._removed & self._rows).difference(changed)
        [count] = connection.execute("SELECT count(*) FROM documents").fetchone()
        if len(self._rows) + len(changed.keys() - self._rows) - len(gone) == count:
            return gone
        there = set(connection.execute(f"SELECT {_COLUMNS} FROM documents"))
        return self._rows - there

    def keys(self) -> list[Key]:
        with self._transaction("BEGIN") as connection:
            if connection is None:
                return []
            order = f"SELECT {_COLUMNS} FROM documents ORDER BY {_COLUMNS}"
            keys = [_key(row) for row in connection.execute(order)]
        return [each for each in keys if each is not None]

    def get(self, key: Key) -> bytes:
        with self._transaction("BEGIN") as connection:
            query = f"SELECT data FROM documents WHERE {_IS}"
            found = [] if connection is None else connection.execute(query, _row(key)).fetchall()
        if not found:
            raise NotFound(f"there is no {key}")
        data: bytes = found[0][0]
        return data

    def put(self, key: Key, data: bytes) -> None:
        admitted(key, data)
        with self._transaction("BEGIN IMMEDIATE", create=True) as connection:
            assert connection is not None
            connection.execute(
                f"INSERT OR REPLACE INTO documents ({_COLUMNS}, data) VALUES (?, ?, ?, ?)",
                (*_row(key), data),
            )
        self._version = None

    def delete(self, key: Key) -> None:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            if connection is None or not _deleted(connection, key):
                raise NotFound(f"there is no {key}")
        self._removed.add(_row(key))
        self._version = None

    def move(self, key: Key, to: Key) -> None:
        admitted(to)
        with self._transaction("BEGIN IMMEDIATE") as connection:
            if connection is None or not _exists(connection, key):
                raise NotFound(f"there is no {key}")
            if _exists(connection, to):
                raise Refused(f"there is {to} already")
            connection.execute(
                f"INSERT INTO documents ({_COLUMNS}, data) "
                f"SELECT ?, ?, ?, data FROM documents WHERE {_IS}",
                (*_row(to), *_row(key)),
            )
            _deleted(connection, key)
        self._removed.add(_row(key))
        self._version = None

    @contextmanager
    def _transaction(self, begin: str, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        """
        :returns: the connection in a transaction, or None where there is no database and
            ``create`` does not say to make one.
        :raises Unavailable: for any error of the database, with a sentence.
        """
        try:
            connection = self._opened(create)
            if connection is None:
                yield None
                return
            with connection:
                connection.execute(begin)
                yield connection
        except OSError as e:
            raise Unavailable(f"{self._path}: {e.strerror}") from e
        except sqlite3.Error as e:
            code = getattr(e, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
                self.close()
            raise Unavailable(f"{self._path}: {_reason(code, e)}") from e

    def _opened(self, create: bool) -> sqlite3.Connection | None:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self.close()
            if not create:
                return None
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Documents hold passwords: nobody else reads a database that we make.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            status = os.stat(self._path)
        file = (status.st_dev, status.st_ino)
        if self._connection is None or file != self._file:
            self.close()
            self._connection, self._file = self._connected(), file
        return self._connection

    def _connected(self) -> sqlite3.Connection:
        # Not created here, one call at a time (as the store itself), each transaction explicit.
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


def _empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _exists(connection: sqlite3.Connection, key: Key) -> bool:
    query = f"SELECT 1 FROM documents WHERE {_IS}"
    return connection.execute(query, _row(key)).fetchone() is not None


def _deleted(connection: sqlite3.Connection, key: Key) -> bool:
    """:returns: whether there was one."""
    return connection.execute(f"DELETE FROM documents WHERE {_IS}", _row(key)).rowcount > 0


def _laid(
    folders: Mapping[Place, Folder], changed: Mapping[Row, bytes], gone: Iterable[Row]
) -> Mapping[Place, Folder]:
    """:returns: the folders after a change; those that it does not touch are the same objects."""
    touched: dict[Place, dict[str, Document]] = {}

    def documents(place: Place) -> dict[str, Document]:
        if place not in touched:
            folder = folders.get(place)
            touched[place] = {} if folder is None else dict(folder.documents)
        return touched[place]

    for key in map(_key, gone):
        if key is not None:
            documents(key.place).pop(key.extension, None)
    for row, data in changed.items():
        key = _key(row)
        if key is not None:
            documents(key.place)[key.extension] = Document.of(str(key), key.format, data)
    after = dict(folders)
    for place, found in touched.items():
        after.pop(place, None)
        if found:
            after[place] = Folder(place, tuple(sorted(found.values(), key=lambda d: d.source)))
    return after


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
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"
