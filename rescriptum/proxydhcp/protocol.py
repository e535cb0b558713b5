"""Ports 67 and 4011, and an ear at port 68: datagrams in, decisions performed, events out."""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from twisted.logger import Logger

from ..boot.discovery import Discoveries
from ..boot.events import record
from ..boot.tally import PERIOD, Tally
from ..errors import MalformedDatagram
from ..interfaces import Fence
from ..net.udp import Arrival, Received, Way
from ..values import Listen
from . import wire
from .answer import (
    ANOTHER_SERVER,
    BOOT_PORT,
    EVERYBODY,
    NO_ENTRY,
    NO_QUESTION,
    SERVER_PORT,
    STANDBY,
    Answer,
    Policy,
    Silence,
)
from .events import DhcpDiscovered, DhcpForeign, DhcpIgnored, DhcpOffered, DhcpRefused
from .foreign import Foreigners
from .request import Request
from .wire import decode

#: Seconds in which a machine's answers make one event.
PACE: Final = 1.0
_EVERYWHERE: Final = "0.0.0.0"
#: What is right and happens with every boot: no event.
_USUAL: Final = frozenset(each.code for each in (STANDBY, ANOTHER_SERVER, NO_QUESTION))


class Listening(Protocol):
    """A bound socket that answers."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...

    def send(
        self, datagram: bytes, to: tuple[str, int], local: str = "", interface: int = 0
    ) -> None:
        """
        :param local: the address that it comes from. :param interface: that it leaves by; 0: any.
        :raises OSError: when it does not leave.
        """

    def close(self) -> None:
        """Nothing is called after this."""


class Network(Protocol):
    """Where sockets come from: :class:`rescriptum.net.udp.UDP`, or a test."""

    def listen(self, at: Listen, received: Received, way: Way) -> Listening:
        """:raises OSError: when it cannot be bound."""


class ProxyDHCP:
    """
    Answers machines that boot.

    :ivar noise: datagrams of strangers that are no requests of such machines.
    :ivar unsent: answers that the system did not take.
    :ivar foreign: what other servers say.
    """

    _log = Logger()

    def __init__(
        self,
        network: Network,
        policy: Policy,
        *,
        fence: Fence,
        discovered: Discoveries,
        server: bytes,
        monotonic: Callable[[], float],
        now: Callable[[], float],
        found: Callable[[], None],
        foreign: Foreigners | None = None,
    ) -> None:
        """
        :param server: our address in option 54.
        :param now: Unix time.
        :param found: called when a machine was discovered that was not known.
        :param foreign: what is known of other servers already; None: nothing is.
        """
        self.noise = 0
        self.unsent = 0
        self.foreign = Foreigners(server) if foreign is None else foreign
        self._network = network
        self._policy = policy
        self._fence = fence
        self._discovered = discovered
        self._own = wire.dotted(server)
        self._monotonic = monotonic
        self._now = now
        self._found = found
        self._tally = Tally()
        self._complained = -PERIOD
        self._ports: dict[int, Listening] = {}
        self._leaving: list[tuple[Answer, Arrival]] = []

    def listen(self, device: str | None = None) -> tuple[Listening, ...]:
        """
        Take requests.

        :param device: the only interface that is heard; None: all.
        :raises OSError: when one of the two ports cannot be bound; then neither is.
        """
        way = Way(device, everybody=True, drained=self._send)
        first = self._listen(SERVER_PORT, way)
        try:
            return first, self._listen(BOOT_PORT, way)
        except BaseException:
            first.close()
            raise

    def _listen(self, port: int, way: Way) -> Listening:
        received = partial(self._received, port)
        self._ports[port] = self._network.listen(Listen(_EVERYWHERE, port), received, way)
        return self._ports[port]

    def watch(self, device: str | None = None) -> Listening:
        """
        Hear what other servers say to everybody. Bound to that address alone, it takes nothing
        away from this host's own DHCP client.

        :raises OSError: when it cannot be bound.
        """
        way = Way(device, shared=True, deaf_to=self._own)
        return self._network.listen(Listen(*EVERYBODY), self._overheard, way)

    def _received(self, port: int, arrival: Arrival) -> None:
        datagram = arrival.datagram
        try:
            question = self._policy.question(datagram, port)
        except MalformedDatagram:
            question = None
        if question is None:
            self.noise += 1
            return
        peer = arrival.peer[0], arrival.peer[1]
        answer = self._policy.decide(question, datagram, peer)
        if isinstance(answer, Silence):
            if answer.code not in _USUAL:
                self._silent(question.request, peer, answer)
            return
        self._leaving.append((answer, arrival))

    def _send(self) -> None:
        """What came together is answered together: see :meth:`UDPListener.doRead`."""
        leaving, self._leaving = self._leaving, []
        is_open, sent, own = self._fence.is_open, self._fence.sent, self._own
        left = []
        for answer, arrival in leaving:
            local = arrival.local if arrival.unicast else own
            interface = arrival.interface if answer.to is EVERYBODY else 0
            listening = self._ports[answer.question.port]
            # Nothing comes between the fence's last word and the sending.
            if not is_open():
                break
            try:
                listening.send(answer.datagram, answer.to, local, interface)
            except OSError as e:  # it asks again
                self._unsent(answer, e)
                continue
            sent()
            left.append((answer, arrival))
        now = self._monotonic()
        for answer, arrival in left:
            machine = answer.machine
            if now - machine.told < PACE and not answer.ignored:
                machine.untold += 1
            else:
                self._told((arrival.peer[0], arrival.peer[1]), answer, now)

    def _unsent(self, answer: Answer, error: OSError) -> None:
        self.unsent += 1
        if self._monotonic() - self._complained >= PERIOD:
            self._complained = self._monotonic()
            self._log.warn(
                "dhcp: {count} answers could not be sent, the last one to {host}: {reason}",
                count=self.unsent,
                host=answer.to[0],
                reason=error.strerror,
            )

    def _told(self, peer: tuple[str, int], answer: Answer, now: float) -> None:
        machine, question = answer.machine, answer.question
        client, strategy = str(question.request.client), machine.strategy.value
        if answer.ignored:
            ignored = DhcpIgnored(
                peer=peer, mac=machine.mac, client=client, times=machine.times, strategy=strategy
            )
            record(self._log, ignored)
        offered = DhcpOffered(
            peer=peer,
            mac=machine.mac,
            answer=question.message,
            client=client,
            boot_file=question.boot_file,
            strategy=strategy,
            times=machine.times,
            untold=machine.untold,
        )
        record(self._log, offered)
        machine.told, machine.untold = now, 0

    def _silent(self, request: Request, peer: tuple[str, int], silence: Silence) -> None:
        mac, client = request.mac, request.client
        if silence is NO_ENTRY and self._discovered.asked(
            mac, request.uuid, client.name, self._now()
        ):
            self._found()
        if self._tally.counted(str(mac), silence.code, self._monotonic()) is None:
            return
        if silence is NO_ENTRY:
            record(self._log, DhcpDiscovered(peer=peer, mac=mac, client=str(client)))
            return
        refused = DhcpRefused(
            peer=peer, mac=mac, client=str(client), code=silence.code, reason=silence.reason
        )
        record(self._log, refused)

    def _overheard(self, arrival: Arrival) -> None:
        if not self._fence.is_open():
            return  # what it hears may be the very agent that holds the lease
        try:
            packet = decode(arrival.datagram)
        except MalformedDatagram:
            self.noise += 1
            return
        source = arrival.peer[0], arrival.peer[1]
        for each in self.foreign.heard(packet, source[0]):
            found = DhcpForeign(
                peer=source,
                server=each.server,
                code=each.code,
                reason=each.reason,
                cure=each.cure,
            )
            record(self._log, found)
