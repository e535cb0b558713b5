"""The gateway's database: one transaction a call, in threads, whichever database it is."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from ...contract.refusals import Rejected
from ...errors import ConfigError
from ...interfaces import Workers
from ...values import Problem
from . import engine, schema, troubles
from .locations import location
from .telling import Notice, taken
from .troubles import Lost

_T = TypeVar("_T")

#: How often a transaction is tried when others are in its way.
ATTEMPTS: Final = 5


class Database:
    """
    SQLite, or PostgreSQL, which other gateway processes may use at the same time.

    A transaction runs at READ COMMITTED (PostgreSQL) or alone (SQLite). Whatever is decided by
    what was read is therefore one conditional statement, or reads ``FOR UPDATE`` first.
    """

    def __init__(self, url: str, workers: Workers) -> None:
        """
        :param workers: with as many threads as :func:`~.locations.threads` says; whoever made
            them starts and stops them.
        :raises ConfigError: for a URL of no database that we know.
        """
        self._url = location(url)
        self._workers = workers
        self._engine: Engine | None = None
        self._lost: list[Callable[[], None]] = []
        self._committed: list[Callable[[Sequence[Notice]], None]] = []

    def __str__(self) -> str:
        """Which database it is, without a password."""
        return troubles.name(self._url)

    @property
    def is_shared(self) -> bool:
        """Whether other processes may use it at the same time."""
        return self._url.get_backend_name() != "sqlite"

    async def start(self) -> None:
        """
        Open it, and bring its tables up to date.

        :raises ConfigError: for what an operator has to mend.
        :raises Rejected: ``store-unavailable``, where nobody answers.
        """
        await self._workers.run(self.open)

    async def close(self) -> None:
        """Let go of every connection; running transactions end first, where there is a pool."""
        opened, self._engine = self._engine, None
        if opened is not None:
            await self._workers.run(opened.dispose)

    def when_lost(self, callback: Callable[[], None]) -> Callable[[], None]:
        """
        :param callback: called in the reactor's thread, before whoever asked is told.
        :returns: how to stop that.
        """
        self._lost.append(callback)
        return lambda: self._lost.remove(callback)

    def when_committed(self, callback: Callable[[Sequence[Notice]], None]) -> Callable[[], None]:
        """
        :param callback: called in a worker's thread with what a transaction told.
        :returns: how to stop that.
        """
        self._committed.append(callback)
        return lambda: self._committed.remove(callback)

    async def run(self, work: Callable[[Connection], _T]) -> _T:
        """
        Do ``work`` in one transaction: all of it, once, or nothing.

        :param work: is done again when another transaction was in its way: it touches nothing
            but the connection.
        :returns: what ``work`` returned, once that is committed.
        :raises Rejected: ``store-unavailable``: whether it was committed is not known then;
            ``invalid-message`` for values that no database keeps.
        :raises Unavailable: when too much is waiting already.
        """
        try:
            return await self._workers.run(lambda: self._transaction(work))
        except Lost:
            for callback in tuple(self._lost):
                callback()
            raise

    def dedicated(self) -> object:
        """
        Blocks.

        :returns: a connection of the driver, which the pool forgets: whoever asked closes it.
        :raises Rejected: ``store-unavailable``.
        """
        try:
            connection = self._opened().raw_connection()
        except SQLAlchemyError as e:
            raise troubles.told(e, self._url) from None
        driver = connection.driver_connection
        connection.detach()
        return driver

    def _opened(self) -> Engine:
        if self._engine is None:
            raise Rejected("store-unavailable", "the gateway is stopping")
        return self._engine

    def open(self) -> None:
        """As :meth:`start`, in whichever thread this is: it blocks."""
        if self._engine is not None:
            return
        try:
            opened = engine.made(self._url)
        except OSError as e:
            text = f"{e.strerror}; the gateway has to be able to write it and its directory"
            raise ConfigError([Problem(str(self), text)]) from None
        try:
            with opened.begin() as connection:
                schema.migrate(connection, str(self))
        except SQLAlchemyError as e:
            opened.dispose()
            text = troubles.said(e, self._url)
            if troubles.is_damaged(e):
                text += "; damaged, or no database"
            elif not isinstance(e, ProgrammingError):  # of an option, or of what we may do there
                raise troubles.told(e, self._url) from None
            raise ConfigError([Problem("database_url", text)]) from None
        except ConfigError:
            opened.dispose()
            raise
        self._engine = opened

    def _transaction(self, work: Callable[[Connection], _T]) -> _T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(work)
            except Rejected:
                raise
            except Exception as e:
                if attempt < ATTEMPTS and troubles.is_transient(e):
                    continue
                error = troubles.told(e, self._url)
                if error is e:
                    raise
                raise error from None
        raise AssertionError("the last attempt returns or raises")

    def _once(self, work: Callable[[Connection], _T]) -> _T:
        with self._opened().connect() as connection:
            taken(connection)  # of a transaction before that was undone
            with connection.begin():
                result = work(connection)
            notices = taken(connection)
        if notices:
            for callback in tuple(self._committed):
                callback(notices)
        return result
