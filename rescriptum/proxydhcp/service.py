"""Holds the DHCP ports for as long as the boot server runs."""

from twisted.application.service import Service
from twisted.logger import Logger

from ..values import Listen
from .protocol import Listening, ProxyDHCP


class ProxyDHCPService(Service):
    """
    Ports 67 and 4011: both, or it does not start. The ear at port 68 only warns of other servers,
    so it is done without where it cannot be had.

    :ivar listening: what is bound.
    """

    _log = Logger()

    def __init__(self, server: ProxyDHCP, device: str | None = None) -> None:
        """:param device: the only interface that is heard; None: all."""
        self.setName("dhcp")
        self._server = server
        self._device = device
        self.listening: tuple[Listening, ...] = ()

    def privilegedStartService(self) -> None:
        """:raises OSError: when a port cannot be bound."""
        super().privilegedStartService()
        self._listen()

    def startService(self) -> None:
        """:raises OSError: as above, where it is not started by ``twistd`` but by a parent."""
        super().startService()
        if not self.listening:
            self._listen()

    def _listen(self) -> None:
        self.listening = self._server.listen(self._device)
        try:
            self.listening += (self._server.watch(self._device),)
        except OSError as e:
            self._log.info(
                "dhcp: other servers' offers are not heard: port 68: {reason}", reason=e.strerror
            )
        for each in self.listening:
            at = Listen(each.host, each.port)
            self._log.info("{name} listens on {at}", name=self.name, at=str(at))

    def stopService(self) -> None:
        super().stopService()
        listening, self.listening = self.listening, ()
        for each in listening:
            each.close()
