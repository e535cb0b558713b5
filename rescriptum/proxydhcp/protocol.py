"""Ports 67 and 4011, and an ear at port 68: datagrams in, decisions performed, events out."""

from collections.abc import Callable, Iterable, Sequence
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
from .answer import BOOT_PORT, EVERYBODY, SERVER_PORT, Silence
from .events import DhcpDiscovered, DhcpForeign, DhcpIgnored, DhcpOffered, DhcpRefused
from .foreign import Foreigners
from .policy import ANOTHER_SERVER, NO_ENTRY, NO_QUESTION, STANDBY, Answer, Policy
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
        self._logger = self._log  # which makes a new one each time that it is asked for
        # Of machines that anybody can make up, and of those that have entries.
        self._strangers, self._tally = Tally(), Tally()
        self._complained = -PERIOD

    def listen(self, device: str | None = None) -> tuple[Listening, ...]:
        """
        Take requests.

        :param device: the only interface that is heard; None: all.
        :raises OSError: when one of the two ports cannot be bound; then neither is.
        """
        first = self._listen(SERVER_PORT, device)
        try:
            return first, self._listen(BOOT_PORT, device)
        except BaseException:
            first.close()
            raise

    def _listen(self, port: int, device: str | None) -> Listening:
        came: list[Arrival] = []
        way = Way(device, everybody=True, drained=lambda: self._answer(at, came), nested=True)
        at = self._network.listen(Listen(_EVERYWHERE, port), came.append, way)
        return at

    def watch(self, device: str | None = None) -> Listening:
        """
        Hear what other servers say to everybody. Bound to that address alone, it takes nothing
        away from this host's own DHCP client.

        :raises OSError: when it cannot be bound.
        """
        way = Way(device, shared=True, deaf_to=self._own)
        return self._network.listen(Listen(*EVERYBODY), self._overheard, way)

    def _answer(self, at: Listening, came: list[Arrival]) -> None:
        """
        Decide on what has come, then send, then tell of it: to go back and forth between these
        with each takes half as much time again.
        """
        arrivals, port = came[:], at.port
        came.clear()
        policy, standing = self._policy, self._policy.standing()
        leaving = []
        for arrival in arrivals:
            datagram, peer = arrival.datagram, arrival.peer
            try:
                question = policy.question(datagram, port, peer)
                if question is None:
                    self.noise += 1
                    continue
                answer = policy.decide(question, datagram[4:8], standing)
                if not isinstance(answer, Silence):
                    leaving.append((answer, arrival))
                elif answer.code not in _USUAL:
                    self._silent(question.request, (peer[0], peer[1]), answer)
            except MalformedDatagram:
                self.noise += 1
            except Exception:  # noqa: BLE001 - the next datagram is somebody else's
                self._log.failure("Deciding on a datagram")
        if leaving:
            self._told(self._sent(at, leaving))

    def _sent(
        self, at: Listening, leaving: Sequence[tuple[Answer, Arrival]]
    ) -> list[tuple[Answer, Arrival]]:
        """:returns: what has left."""
        is_open, sent, send, own = self._fence.is_open, self._fence.sent, at.send, self._own
        left = []
        for each in leaving:
            answer, arrival = each
            to = answer.question.to
            local = arrival.local if arrival.unicast else own
            interface = arrival.interface if to is EVERYBODY else 0
            # Nothing comes between the fence's last word and the sending.
            if not is_open():
                break
            try:
                send(answer.datagram, to, local, interface)
            except OSError as e:  # it asks again
                self._unsent(to[0], e)
                continue
            sent()
            left.append(each)
        return left

    def _unsent(self, host: str, error: OSError) -> None:
        self.unsent += 1
        if self._monotonic() - self._complained >= PERIOD:
            self._complained = self._monotonic()
            self._log.warn(
                "dhcp: {count} answers could not be sent, the last one to {host}: {reason}",
                count=self.unsent,
                host=host,
                reason=error.strerror,
            )

    def _told(self, left: Iterable[tuple[Answer, Arrival]]) -> None:
        now = self._monotonic()
        for answer, arrival in left:
            machine = answer.machine
            if now - machine.told < PACE and not answer.ignored:
                machine.untold += 1
            else:
                self._tell((arrival.peer[0], arrival.peer[1]), answer)
                machine.told, machine.untold = now, 0

    def _tell(self, peer: tuple[str, int], answer: Answer) -> None:
        machine, question, at = answer.machine, answer.question, self._now()
        client, strategy = question.client, machine.strategy.value
        if answer.ignored:
            ignored = DhcpIgnored(
                peer=peer, mac=machine.mac, client=client, times=machine.times, strategy=strategy
            )
            record(self._logger, ignored, at)
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
        record(self._logger, offered, at)

    def _silent(self, request: Request, peer: tuple[str, int], silence: Silence) -> None:
        mac, client = request.mac, request.client
        if silence is NO_ENTRY and self._discovered.asked(
            mac, request.uuid, client.name, self._now()
        ):
            self._found()
        tally = self._strangers if silence is NO_ENTRY else self._tally
        if tally.counted(str(mac), silence.code, self._monotonic()) is None:
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
