"""Holds the TFTP port for as long as the server runs."""

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..values import Listen
from .protocol import Listening, TFTPServer


class TFTPService(Service):
    """
    The one listener whose failure to bind is survived: answers still go out over HTTP, and
    ``rescriptum boot check`` fails instead.

    :ivar listening: what is bound; two for ``[::]``, which means both families.
    """

    _log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        server: TFTPServer,
        at: Listen,
        grace: float = 30.0,
        optional: bool = True,
    ) -> None:
        """
        :param grace: seconds that transfers have to end in when the service stops.
        :param optional: whether a port that cannot be bound is no more than a line in the log;
            otherwise it is an ``OSError`` of its start.
        """
        self.setName("tftp")
        self._clock = clock
        self._server = server
        self._at = at
        self._grace = grace
        self._optional = optional
        self.listening: tuple[Listening, ...] = ()

    def privilegedStartService(self) -> None:
        super().privilegedStartService()
        self._listen(self._at)
        if self._at.host == "::":
            port = self.listening[0].port if self.listening else self._at.port
            self._listen(Listen("0.0.0.0", port))

    def _listen(self, at: Listen) -> None:
        try:
            self.listening += (self._server.listen(at),)
        except OSError as e:
            if not self._optional:
                raise
            self._log.warn(
                "No TFTP on {at}: {reason}; everything else is served",
                at=str(at),
                reason=e.strerror,
            )

    def startService(self) -> None:
        super().startService()
        for each in self.listening:
            at = Listen(each.host, each.port)
            self._log.info("{name} listens on {at}", name=self.name, at=str(at))

    def stopService(self) -> Deferred[None]:
        super().stopService()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        listening, self.listening = self.listening, ()
        for each in listening:
            each.close()
        idle = self._server.idle()
        if not idle.called:
            late = self._clock.callLater(self._grace, self._server.abort)
            await idle
            if late.active():
                late.cancel()
