"""A fake BMC that listens."""

from collections.abc import Callable
from datetime import UTC, datetime
from secrets import token_hex, token_urlsafe
from typing import TypeVar

from twisted.application.service import Service
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IReactorTCP, IReactorTime
from twisted.protocols.tls import TLSMemoryBIOFactory

from ..errors import ConfigError
from ..values import Listen, Problem
from ..web.site import Limits, Site
from .protocol import Cuttable, SelfSigned
from .resource import Heard, RedfishTree
from .state import NOWHERE, Changed, State
from .switches import Switch, Switches

_T = TypeVar("_T")

#: Of whoever may ask, where nothing else is said.
USER = "admin"
_BODY = 64 << 10


def _nobody(change: Changed) -> None:
    """Plays the machine where nobody else does."""


class _Inline:
    """Satisfies what a listener needs for files: a fake BMC has none."""

    async def run(self, work: Callable[[], _T]) -> _T:
        return work()


class FakeBMC(Service):
    """
    One BMC with one machine, over TLS.

    :ivar username: and ``password``: of whoever may ask it, at first. :ivar pin: of its key.
    """

    def __init__(
        self,
        reactor: IReactorTCP,
        *switches: Switch,
        listen: Listen | None = None,
        clock: IReactorTime | None = None,
        username: str = USER,
        password: str = "",
        elsewhere: str = NOWHERE,
        changed: Callable[[Changed], None] = _nobody,
    ) -> None:
        """
        :param reactor: also one that tells the time.
        :param listen: none: any port of the loopback.
        :param clock: the time of the machine, where it is another than the reactor's.
        :param password: none: a new one.
        :param elsewhere: another host's URL, for the switches that lead there.
        :param changed: told what happens to the machine.
        """
        self.username = username
        self.password = password or token_urlsafe(9)
        chosen = Switches.of(*switches)
        state = State.new(chosen, username, self.password, elsewhere)
        time = IReactorTime(reactor)
        shown = SelfSigned(chosen, datetime.now(UTC))
        self.pin = shown.pin
        self._reactor = reactor
        self._listen = listen or Listen("127.0.0.1", 0)
        self._tree = RedfishTree(state, time, clock or time, token_hex, changed, self._cut)
        limits = Limits(body_bytes=_BODY)
        self._site = Site(self._tree, reactor=time, limits=limits, workers=_Inline())
        self._factory = Cuttable(TLSMemoryBIOFactory(shown, False, self._site))
        self._port: IListeningPort | None = None

    @property
    def state(self) -> State:
        """What the BMC and its machine are now."""
        return self._tree.state

    @property
    def heard(self) -> tuple[Heard, ...]:
        """What it was asked, the oldest first."""
        return tuple(self._tree.heard)

    @property
    def most_sessions(self) -> int:
        """That were ever open at once."""
        return self._tree.most_sessions

    @property
    def crowded(self) -> int:
        """How often a request came while another was being answered."""
        return self._tree.crowded

    @property
    def connections(self) -> int:
        """That were ever made, also those that never came to a request."""
        return self._factory.seen

    @property
    def address(self) -> str:
        """Host and port, while it listens."""
        assert self._port is not None, "not listening"
        at = self._port.getHost()
        assert isinstance(at, IPv4Address | IPv6Address)
        return str(Listen(at.host, at.port))

    @property
    def url(self) -> str:
        return f"https://{self.address}"

    def startService(self) -> None:
        """:raises ConfigError: when the port cannot be had."""
        super().startService()
        at = self._listen
        try:
            self._port = self._reactor.listenTCP(
                at.port,
                self._factory,  # type: ignore[arg-type]  # of servers and clients
                interface=at.host,
            )
        except CannotListenError as e:
            reason = e.socketError.strerror or str(e.socketError)
            raise ConfigError([Problem("listen", f"cannot listen on {at}: {reason}")]) from e

    def stopService(self) -> Deferred[None]:
        """:returns: fires when the port and every connection are gone."""
        super().stopService()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            await maybeDeferred(port.stopListening)
        self._factory.cut_all()
        await self._site.stop(1)

    def _cut(self, peer: tuple[str, int]) -> None:
        self._factory.cut(peer)
