"""Reads the answer set when the server starts: what is wrong with it is told before it matters."""

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import Unavailable
from .store import AnswerStore


class AnswersService(Service):
    """One reading, as the user that the server has become; requests cause all the others."""

    name = "answer set"
    _log = Logger()

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._reading: Deferred[None] | None = None

    def startService(self) -> None:
        super().startService()
        self._reading = Deferred.fromCoroutine(self._read()).addErrback(self._failed)

    def stopService(self) -> None:
        super().stopService()
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        try:
            await self._store.latest()
        except Unavailable as e:
            source, _, reason = str(e).rpartition(": ")
            self._log.warn("answers: {source}: {reason}", source=source, reason=reason)

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("The answer set was not read", failure)
