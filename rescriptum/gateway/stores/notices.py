"""
What other transactions told, brought to whoever wants to know: of this process and of others.

A notice may be lost, doubled or late: whoever listens also looks by itself now and then.
"""

from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger

from ...errors import RescriptumError
from . import telling
from .database import Database
from .telling import CHANNEL, Notice, Topic

if TYPE_CHECKING:
    from psycopg import Connection as PostgresConnection

#: Seconds: how long stopping may take, and between two attempts to listen.
GLANCE, AGAIN = 0.5, 1.0

Heard = Callable[[str], None]


class Notices:
    """
    Calls those who subscribed, in the reactor's thread, in a turn of its own.

    With PostgreSQL it listens on a connection of its own, in a thread of its own, and connects
    again whenever that is lost.
    """

    _log = Logger()

    def __init__(self, database: Database, reactor: IReactorFromThreads) -> None:
        self._database = database
        self._reactor = reactor
        self._subscribers: dict[Topic, list[Heard]] = {}
        self._unregister: Callable[[], None] | None = None
        self._thread: Thread | None = None
        self._stopping = Event()
        self._deaf = False
        self._stopped: Deferred[None] | None = None

    #: Tell it to every process, if and when a transaction is committed.
    notify = staticmethod(telling.notify)

    def subscribe(self, topic: Topic, callback: Heard) -> Callable[[], None]:
        """
        :param callback: called with the key.
        :returns: how to stop that.
        """
        callbacks = self._subscribers.setdefault(topic, [])
        callbacks.append(callback)
        return lambda: callbacks.remove(callback)

    def start(self) -> None:
        """Hear what is told from now on."""
        if not self._database.is_shared:
            self._unregister = self._database.when_committed(self._told)
            return
        self._stopping.clear()
        self._stopped = Deferred()
        self._thread = Thread(target=self._listening, name="gateway notices", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Nobody is called any more; the connection is closed."""
        if self._unregister is not None:
            self._unregister()
            self._unregister = None
        if self._thread is not None and self._stopped is not None:
            self._stopping.set()
            await self._stopped
            self._thread.join()
            self._thread = None

    # In other threads.

    def _told(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self._reactor.callFromThread(self._deliver, notice)

    def _listening(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._listen()
                except Exception as e:  # noqa: BLE001 - whatever it is: the next one may do
                    if not self._deaf:  # said once, however long it takes
                        self._log.warn("No notices for a while: {reason}", reason=_reason(e))
                    self._deaf = True
                    self._stopping.wait(AGAIN)
        finally:
            self._reactor.callFromThread(self._end)

    def _listen(self) -> None:
        """Until stopping, or until the connection is lost: then it raises."""
        opened = self._database.dedicated()
        connection = cast("PostgresConnection[tuple[object, ...]]", opened)
        with connection:
            connection.autocommit = True
            connection.execute(f"LISTEN {CHANNEL}")
            self._log.info("Notices come by {database}", database=str(self._database))
            self._deaf = False
            while not self._stopping.is_set():
                for each in connection.notifies(timeout=GLANCE):
                    notice = Notice.parse(each.payload)
                    if notice is not None:
                        self._told([notice])
                    if self._stopping.is_set():
                        break

    # In the reactor's thread.

    def _deliver(self, notice: Notice) -> None:
        for callback in tuple(self._subscribers.get(notice.topic, ())):
            try:
                callback(notice.key)
            except Exception:  # noqa: BLE001 - the others are called all the same
                self._log.failure("Notice of {topic} was not taken", topic=notice.topic)

    def _end(self) -> None:
        if self._stopped is not None:
            self._stopped.callback(None)
            self._stopped = None


def _reason(error: Exception) -> str:
    """:returns: a line without values of the database."""
    if isinstance(error, RescriptumError):
        return str(error)
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
