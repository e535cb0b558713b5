"""Holds a listener's port for as long as the server runs."""

import os

from twisted.application.service import Service
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.internet.tcp import Port
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory

from ..errors import ConfigError
from ..values import Listen, Problem
from .site import Site
from .transport import SendfilePort

#: A rack that is switched on connects at once; the kernel has its own bound.
BACKLOG = 1024


class WebService(Service):
    """
    One HTTP listener.

    :ivar address: ``(host, port)`` that is bound, while it is.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: object,
        name: str,
        listen: Listen,
        site: Site,
        tls: IOpenSSLServerConnectionCreator | None = None,
        grace: float = 30,
    ) -> None:
        """
        :param reactor: one that polls descriptors.
        :param name: of the listener: what its errors and its lines in the log are told by.
        :param grace: seconds that running transfers have to end when the service stops.
        """
        self.setName(name)
        self._reactor = reactor
        self._listen = listen
        self._site = site
        self._tls = tls
        self._grace = grace
        self._port: Port | None = None

    @property
    def address(self) -> tuple[str, int]:
        assert self._port is not None, "not listening"
        bound = self._port.getHost()
        return bound.host, bound.port

    def privilegedStartService(self) -> None:
        """:raises ConfigError: when the port cannot be had: nothing could be served from it."""
        super().privilegedStartService()
        factory: Site | TLSMemoryBIOFactory = self._site
        kind = SendfilePort if hasattr(os, "sendfile") else Port
        if self._tls is not None:
            factory = TLSMemoryBIOFactory(self._tls, False, self._site)
        port = kind(self._listen.port, factory, BACKLOG, self._listen.host, reactor=self._reactor)
        try:
            port.startListening()
        except CannotListenError as e:
            reason = e.socketError.strerror or str(e.socketError)
            problem = Problem(str(self.name), f"cannot listen on {self._listen}: {reason}")
            raise ConfigError([problem]) from e
        self._port = port

    def startService(self) -> None:
        super().startService()
        host, port = self.address
        self._log.info("{name} listens on {at}", name=self.name, at=str(Listen(host, port)))

    def stopService(self) -> Deferred[None]:
        """:returns: fires when the port and every connection are gone."""
        super().stopService()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            await maybeDeferred(port.stopListening)
        await self._site.stop(self._grace)
