"""A relay between an agent and its gateway that can keep every byte, both ways."""

from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IReactorTCP
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.tcp import Port
from twisted.python.failure import Failure


class _Half(Protocol):
    """One direction: what comes here goes to ``other``, now or once the relay lets go."""

    def __init__(self, relay: "Relay") -> None:
        self.relay = relay
        self.other: _Half | None = None
        self.kept = b""
        self.ended = False

    def connectionMade(self) -> None:
        self.relay.halves.add(self)

    def dataReceived(self, data: bytes) -> None:
        self.kept += data
        self.flush()

    def flush(self) -> None:
        if self.relay.holds or self.other is None or self.other.transport is None:
            return
        kept, self.kept = self.kept, b""
        if kept:
            self.other.transport.write(kept)
        if self.ended:
            self.other.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.relay.halves.discard(self)
        self.ended = True
        if self.relay.holds:
            self.relay.halves.add(self)
        self.flush()


class Relay(Factory):
    """:ivar holds: whether bytes are kept: neither lost nor told."""

    noisy = False

    def __init__(self, port: int) -> None:
        self.holds = False
        self.halves: set[_Half] = set()
        self._to = port
        self._port: Port | None = None

    def start(self) -> None:
        tcp = IReactorTCP(reactor)
        port = tcp.listenTCP(0, self, interface="127.0.0.1")  # type: ignore[arg-type]
        assert isinstance(port, Port)
        self._port = port

    @property
    def port(self) -> int:
        assert self._port is not None
        return int(self._port.getHost().port)

    def buildProtocol(self, addr: object) -> _Half:
        near, far = _Half(self), _Half(self)
        near.other = far
        far.other = near
        endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", self._to)
        connecting = endpoint.connect(Factory.forProtocol(lambda: far))
        connecting.addCallbacks(lambda _: near.flush(), lambda _: None)
        return near

    def let_go(self) -> None:
        """All that was kept goes on its way."""
        self.holds = False
        for each in list(self.halves):
            each.flush()
            if each.ended:
                self.halves.discard(each)

    async def stop(self) -> None:
        if self._port is not None:
            await self._port.stopListening()
        for each in list(self.halves):
            if each.transport is not None:
                each.transport.abortConnection()  # type: ignore[attr-defined]
