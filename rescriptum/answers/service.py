"""Reads the answer set when the server starts: what is wrong with it is told before it matters."""

import gc

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import Unavailable
from .store import AnswerStore


class AnswersService(Service):
    """
    Has the store watched, from one first reading on; that is done as the user that the server
    has become.
    """

    name = "answer set"
    _log = Logger()

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._reading: Deferred[None] | None = None

    def startService(self) -> None:
        super().startService()
        self._store.start()
        self._reading = Deferred.fromCoroutine(self._read()).addErrback(self._failed)

    def stopService(self) -> Deferred[None]:
        """:returns: when nothing is read any more, nothing watched, and nothing open."""
        super().stopService()
        if self._reading is None:
            return succeed(None)
        self._reading.cancel()
        return Deferred.fromCoroutine(self._store.stop())

    async def _read(self) -> None:
        try:
            await self._store.latest()
            # What was read stays for long, most of it: the collector need not walk it again.
            gc.freeze()
        except Unavailable as e:
            source, _, reason = str(e).rpartition(": ")
            self._log.warn("answers: {source}: {reason}", source=source, reason=reason)

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("The answer set was not read", failure)
