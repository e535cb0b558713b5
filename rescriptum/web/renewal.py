"""Holds the listeners' certificate while the server runs, and takes a renewed one up."""

import signal
from pathlib import Path
from types import FrameType

from OpenSSL.SSL import Connection
from twisted.application.service import Service
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, IReactorFromThreads
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOProtocol
from zope.interface import implementer

from ..errors import ConfigError
from .tls import Certificate


@implementer(IOpenSSLServerConnectionCreator)
class CertificateService(Service):
    """
    Reads certificate and key while the server may still read a key of root's, and again on SIGHUP.

    It stands before the listeners that show it: theirs is the next start.
    """

    name = "certificate"
    _log = Logger()

    def __init__(self, reactor: IReactorFromThreads, certificate: Path, key: Path) -> None:
        self._reactor = reactor
        self._files = certificate, key
        self._certificate: Certificate | None = None

    def privilegedStartService(self) -> None:
        """:raises ConfigError: when there is none to show."""
        super().privilegedStartService()
        self._certificate = Certificate(*self._files)

    def startService(self) -> None:
        super().startService()
        signal.signal(signal.SIGHUP, self._hung_up)

    def stopService(self) -> None:
        super().stopService()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def _hung_up(self, number: int, frame: FrameType | None) -> None:
        # Between any two instructions: the reactor's turn does the work.
        self._reactor.callFromThread(self.renew)

    def renew(self) -> None:
        """Show what the files hold now; where they cannot be used, what was shown before."""
        assert self._certificate is not None, "not started"
        try:
            self._certificate.reload()
        except ConfigError as e:
            self._log.warn("The old certificate kept: {problems}", problems=str(e))
        else:
            self._log.info("{file}: certificate read again", file=str(self._files[0]))

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> Connection:
        assert self._certificate is not None, "not started"
        return self._certificate.serverConnectionForTLS(tlsProtocol)
