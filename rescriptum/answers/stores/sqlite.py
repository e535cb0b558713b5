"""The answer set in an SQLite database: one row a document."""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...errors import NotFound, Refused
from ...values import Problem, StoreKind
from ..documents import Document, Folder, Key, Kind, Listing, Place
from ..formats.table import BY_EXTENSION
from .admission import admitted
from .database import BUSY, Database

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
    Satisfies :class:`rescriptum.answers.stores.store.Store`.

    The database is made by the first write: until then the set is empty. Other programs may write
    to it at any time.
    """

    def __init__(self, path: Path, busy: float = BUSY) -> None:
        """:param busy: seconds for which a call waits while another program writes."""
        self._path = path
        self._database = Database(path, busy)
        problem = Problem(str(path), "no such database: no machine gets an answer")
        self._missing = Listing(problems=(problem,))
        self._forget()

    def _forget(self) -> None:
        self._opened = self._database.opened
        self._listing = Listing()
        self._rows: set[Row] = set()
        self._removed: set[Row] = set()
        self._seen = 0
        self._version: int | None = None

    def close(self) -> None:
        self._database.close()

    def describe(self) -> str:
        return f"{StoreKind.SQLITE.value}:{self._path}"

    def listing(self) -> Listing:
        """Reads the documents that changed since the last time, and no other row."""
        with self._database.reading() as connection:
            if connection is None:
                return self._missing
            if self._opened != self._database.opened:
                self._forget()
            # Changes with every commit of another connection.
            [version] = connection.execute("PRAGMA data_version").fetchone()
            if version == self._version:
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
        self._rows.update(changed)
        self._rows -= gone
        self._removed.clear()
        self._seen, self._version = sequence, version
        if changed or gone:
            self._listing = Listing(_laid(self._listing.folders, changed, gone))
        return self._listing

    def _gone(self, connection: sqlite3.Connection, changed: Mapping[Row, bytes]) -> set[Row]:
        """:returns: which of the rows known are there no more."""
        gone = (self._removed & self._rows).difference(changed)
        [count] = connection.execute("SELECT count(*) FROM documents").fetchone()
        if len(self._rows) + len(changed.keys() - self._rows) - len(gone) == count:
            return gone
        there = set(connection.execute(f"SELECT {_COLUMNS} FROM documents"))
        return self._rows - there

    def keys(self) -> list[Key]:
        with self._database.reading() as connection:
            if connection is None:
                return []
            order = f"SELECT {_COLUMNS} FROM documents ORDER BY {_COLUMNS}"
            keys = [_key(row) for row in connection.execute(order)]
        return [each for each in keys if each is not None]

    def get(self, key: Key) -> bytes:
        with self._database.reading() as connection:
            query = f"SELECT data FROM documents WHERE {_IS}"
            found = [] if connection is None else connection.execute(query, _row(key)).fetchall()
        if not found:
            raise NotFound(f"there is no {key}")
        data: bytes = found[0][0]
        return data

    def put(self, key: Key, data: bytes) -> None:
        admitted(key, data)
        with self._database.writing(create=True) as connection:
            assert connection is not None
            connection.execute(
                f"INSERT OR REPLACE INTO documents ({_COLUMNS}, data) VALUES (?, ?, ?, ?)",
                (*_row(key), data),
            )
        self._version = None

    def delete(self, key: Key) -> None:
        with self._database.writing() as connection:
            if connection is None or not _deleted(connection, key):
                raise NotFound(f"there is no {key}")
        self._removed.add(_row(key))
        self._version = None

    def move(self, key: Key, to: Key) -> None:
        admitted(to)
        with self._database.writing() as connection:
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
