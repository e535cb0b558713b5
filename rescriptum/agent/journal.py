"""
What became of each command: written down before it is acted on, so that none is run twice and none
that was taken is lost.

A command is *received*, then *running*, then *done*, then *acknowledged*: SQLite, one statement or
one transaction a step, on the disk when the call returns. Time is an argument, in whole seconds.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum

from attrs import frozen

from ..contract.commands import LONGEST_COMMAND, LONGEST_RESULT, Command, Result
from ..contract.refusals import Rejected
from ..contract.structure import parsed, rendered, structured
from ..errors import Malformed, Unavailable
from ..interfaces import Anew

#: Of the tables below.
SCHEMA = 1
#: Seconds for which a command is remembered after its time: nobody can send it anew by then.
REMEMBERED = 86_400
#: Commands in the journal, and bytes of it: more are refused until some are forgotten.
ROWS, BYTES = 4096, 64 << 20
#: Results that are read at a time, to be sent again.
PAGE = 16
#: What tells our databases from those of other programs: ``resj``.
_APPLICATION = 0x7265736A

_TABLES = (
    """
    CREATE TABLE journal (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      made_at INTEGER NOT NULL,
      forgotten INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE commands (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      command_id TEXT NOT NULL UNIQUE,
      digest TEXT NOT NULL,
      kind TEXT NOT NULL,
      workflow TEXT NOT NULL,
      step TEXT NOT NULL,
      not_after INTEGER NOT NULL,
      attested INTEGER NOT NULL,
      octets BLOB NOT NULL CHECK (typeof(octets) = 'blob'),
      state TEXT NOT NULL CHECK (state IN ('received', 'running', 'done', 'acknowledged')),
      boot_id TEXT,
      result BLOB,
      finished_at INTEGER,
      CHECK ((result IS NULL) = (state IN ('received', 'running'))),
      CHECK ((finished_at IS NULL) = (result IS NULL)),
      CHECK (state = 'received' OR boot_id IS NOT NULL)
    )
    """,
    "CREATE INDEX commands_by_state ON commands (state, number)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)
_COLUMNS = "octets, digest, state, boot_id, result, finished_at"
#: Errors of SQLite that say that the file is not, or no longer, what was written.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

#: What a command has come to that was left running: of its kind's name and two boot ids, the
#: one in which it began and the present one. None: nobody can tell.
Resume = Callable[[str, str, str], Result | Anew | None]
_Row = tuple[bytes, str, str, str | None, bytes | None, int | None]


class DamagedJournal(Malformed):
    """A journal that SQLite, or we, cannot read: to be set aside."""

    code = "damaged-journal"


class State(Enum):
    """How far a command has come."""

    RECEIVED = "received"
    RUNNING = "running"
    DONE = "done"
    ACKNOWLEDGED = "acknowledged"


@frozen
class Entry:
    """
    A command in the journal.

    :ivar digest: of ``octets``, the command's claims as they travelled.
    :ivar boot_id: of the boot in which it was begun or, once it is done, ended.
    :ivar result: and ``finished_at``: there once it is done.
    """

    command: Command
    digest: str
    octets: bytes
    state: State
    boot_id: str | None = None
    result: Result | None = None
    finished_at: int | None = None


class Journal:
    """
    One file, one connection, one thread at a time.

    :ivar made_at: when it was made; what was issued before may have been in another one.
    """

    def __init__(self, path: str, now: int, rows: int = ROWS, size: int = BYTES) -> None:
        """
        :param path: of a file that is there, empty or a journal, and that nobody else has open.
        :param rows: commands that there is room for, and ``size``: bytes of them.
        :raises DamagedJournal: when it is to be set aside.
        :raises Unavailable: when it cannot be read or written, or a newer release wrote it.
        """
        self._path = path
        self._rows, self._size = rows, size
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self.made_at = self._prepare(now)
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as e:
            if getattr(e, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGE:
                raise DamagedJournal(f"{path}: {e}") from e
            raise Unavailable(f"{path}: {e}") from e

    def close(self) -> None:
        self._connection.close()

    def joined(self, at: int) -> None:
        """
        Its agent has become a node just now: what is issued to that node from here on was in no
        other journal, whatever the clock said when this one was made.

        :param at: as the gateway's clock had it.
        """
        with self._told():
            self._connection.execute("UPDATE journal SET made_at = ?", (at,))
        self.made_at = at

    def find(self, command_id: str) -> Entry | None:
        """:raises Rejected: ``journal-unavailable``, as every method may."""
        found = self._entries("WHERE command_id = ?", command_id)
        return found[0] if found else None

    def receive(self, command: Command, digest: str, octets: bytes, now: int) -> bool:
        """
        A command that has been verified; what can be forgotten is forgotten first.

        :param octets: the command's claims as they travelled, and ``digest`` of them.
        :returns: whether it is new; when it is not, nothing has changed.
        :raises Rejected: ``busy`` when there is no room, ``too-large``, or ``expired`` for one
            that may have been forgotten already.
        """
        if len(octets) > LONGEST_COMMAND:
            raise Rejected("too-large", f"a command of more than {LONGEST_COMMAND} bytes")
        with self._transaction() as connection:
            self._forget(now)
            query = "SELECT 1 FROM commands WHERE command_id = ?"
            if connection.execute(query, (command.command_id,)).fetchone():
                return False
            [forgotten] = connection.execute("SELECT forgotten FROM journal").fetchone()
            if command.not_after < forgotten:
                raise Rejected("expired", "so old that the journal may have forgotten it")
            self._make_sure_of_room()
            connection.execute(
                "INSERT INTO commands (command_id, digest, kind, workflow, step, not_after,"
                " attested, octets, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'received')",
                (
                    command.command_id,
                    digest,
                    command.kind,
                    command.workflow,
                    command.step,
                    command.not_after,
                    command.attested,
                    octets,
                ),
            )
        return True

    def start(self, command_id: str, boot_id: str) -> None:
        """
        Once this returns the command is never begun again, but by :meth:`recover`.

        :raises Rejected: ``replayed`` unless it is waiting to be begun.
        """
        self._step(
            "UPDATE commands SET state = 'running', boot_id = ?"
            " WHERE command_id = ? AND state = 'received'",
            (boot_id, command_id),
        )

    def finish(self, command_id: str, result: Result, boot_id: str, now: int) -> None:
        """
        Also for a command that was never begun.

        :raises Rejected: ``replayed`` when it has a result, ``too-large`` for this one.
        """
        text = rendered(result)
        if len(text) > LONGEST_RESULT:
            raise Rejected("too-large", f"a result of more than {LONGEST_RESULT} bytes")
        self._step(
            "UPDATE commands SET state = 'done', result = ?, finished_at = ?, boot_id = ?"
            " WHERE command_id = ? AND state IN ('received', 'running')",
            (text, now, boot_id, command_id),
        )

    def acknowledge(self, command_ids: Iterable[str]) -> None:
        """The gateway has these results; ids without one are nobody's."""
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE commands SET state = 'acknowledged'"
                " WHERE command_id = ? AND state = 'done'",
                [(each,) for each in command_ids],
            )

    def unacknowledged(self, most: int = PAGE, after: str = "") -> list[Entry]:
        """
        :param after: id of a command; empty: from the first one on.
        :returns: results to be sent again, the oldest commands first, so many at a time.
        """
        behind = "number > coalesce((SELECT number FROM commands WHERE command_id = ?), 0)"
        clause = f"WHERE state = 'done' AND {behind} ORDER BY number LIMIT ?"
        return self._entries(clause, after, most)

    def waiting(self) -> list[Entry]:
        """:returns: what is to be run, in the order in which it was received."""
        return self._entries("WHERE state = 'received' ORDER BY number")

    def recover(self, boot_id: str, resume: Resume, now: int) -> list[Entry]:
        """
        Before anything is run: no command is left that is running and is not.

        :returns: what was left running, with what it has come to; what is to be begun anew waits
            again.
        """
        left = self._entries("WHERE state = 'running' ORDER BY number")
        for each in left:
            assert each.boot_id is not None
            result = resume(each.command.kind, each.boot_id, boot_id)
            if isinstance(result, Anew):
                self._step(
                    "UPDATE commands SET state = 'received', boot_id = NULL WHERE command_id = ?",
                    (each.command.command_id,),
                )
                continue
            if result is None:
                result = Result(False, "interrupted", "the agent was stopped while it ran")
            self.finish(each.command.command_id, result, boot_id, now)
        found = [self.find(each.command.command_id) for each in left]
        return [each for each in found if each is not None and each.result is not None]

    def _prepare(self, now: int) -> int:
        connection = self._connection
        # Nobody else has the file: no shared memory beside it, and no lock to wait for.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        [found] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise DamagedJournal(f"{self._path}: {found}")
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
            connection.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO journal VALUES (1, ?, 0)", (now,))
            connection.execute("COMMIT")
        [application] = connection.execute("PRAGMA application_id").fetchone()
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise DamagedJournal(f"{self._path}: the database of another program")
        if version != SCHEMA:
            raise Unavailable(
                f"{self._path}: its schema is version {version}, this release understands {SCHEMA}"
            )
        row = connection.execute("SELECT made_at FROM journal").fetchone()
        if row is None:
            raise DamagedJournal(f"{self._path}: does not say when it was made")
        return int(row[0])

    def _forget(self, now: int) -> None:
        old = "FROM commands WHERE state = 'acknowledged' AND not_after < ?"
        before = (now - REMEMBERED,)
        [newest] = self._connection.execute(f"SELECT max(not_after) {old}", before).fetchone()
        if newest is not None:
            self._connection.execute(f"DELETE {old}", before)
            # A clock that was ahead and is set back makes old commands young again. What the clock
            # said does not matter: else a year ahead for a minute would refuse a year of commands.
            forgotten = "UPDATE journal SET forgotten = max(forgotten, ?)"
            self._connection.execute(forgotten, (newest + 1,))

    def _make_sure_of_room(self) -> None:
        one = self._connection.execute
        [rows] = one("SELECT count(*) FROM commands").fetchone()
        if rows >= self._rows:
            raise Rejected("busy", f"{rows} commands are in the journal")
        pages, free, size = (
            one(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * size >= self._size:
            raise Rejected("busy", f"{self._size} bytes of commands are in the journal")

    def _step(self, statement: str, values: tuple[object, ...]) -> None:
        with self._told():
            done = self._connection.execute(statement, values).rowcount
        if not done:
            raise Rejected("replayed", "the journal has another state of it")

    def _entries(self, clause: str, *values: object) -> list[Entry]:
        with self._told():
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM commands {clause}", values)
            return [_entry(row) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._told():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as e:
            raise Rejected("journal-unavailable", f"{self._path}: {e}") from e


def _entry(row: _Row) -> Entry:
    octets, digest, state, boot_id, result, finished_at = row
    return Entry(
        structured(Command, parsed(octets)),
        digest,
        octets,
        State(state),
        boot_id,
        None if result is None else structured(Result, parsed(result)),
        finished_at,
    )
