"""Holds a UNIX socket of one directory's owner for as long as the agent runs."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from twisted.application.service import Service
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IReactorUNIX
from twisted.logger import Logger

from .site import Site

#: Only the owner may ask.
MODE = 0o600


class LocalService(Service):
    """
    One HTTP listener on the same host. Where it cannot be had, the rest goes on without it.
    """

    _log = Logger()
    _port: IListeningPort | None = None

    def __init__(self, reactor: IReactorUNIX, name: str, path: Path, site: Site) -> None:
        """:param path: of the socket, in a directory that nobody else listens in."""
        self.setName(name)
        self._reactor = reactor
        self._path = path
        self._site = site

    def startService(self) -> None:
        super().startService()
        try:
            with suppress(FileNotFoundError):
                if stat.S_ISSOCK(os.stat(self._path, follow_symlinks=False).st_mode):
                    os.unlink(self._path)  # of a process that was killed
            self._port = self._reactor.listenUNIX(str(self._path), self._site, mode=MODE)
        except (CannotListenError, OSError) as e:
            error = e.socketError if isinstance(e, CannotListenError) else e
            self._log.warn(
                "No {name} on {path}: {reason}", name=self.name, path=str(self._path), reason=error
            )

    def stopService(self) -> Deferred[None]:
        """:returns: fires when the socket and every connection are gone."""
        super().stopService()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            await maybeDeferred(port.stopListening)
        await self._site.stop(1)
