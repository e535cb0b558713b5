"""When heartbeats are sent: what proves that the gateway hears this very agent, now."""

from collections.abc import Callable
from typing import Protocol

from ..boot.lease import AgentLease
from ..contract.frames import Heartbeat


class Timer(Protocol):
    """What is to happen later, and need not."""

    def cancel(self) -> None: ...

    def active(self) -> int: ...


Later = Callable[[float, Callable[[], object]], Timer]


class Heartbeats:
    """
    One after the other, for as long as there is a session: each of a number that no other has, with
    the time of its sending taken before anything of it leaves.
    """

    def __init__(
        self,
        lease: AgentLease,
        clock: Callable[[], float],
        later: Later,
        send: Callable[[Heartbeat], None],
    ) -> None:
        """:param clock: the fence's."""
        self._lease = lease
        self._clock = clock
        self._later = later
        self._send = send
        self._usual = 0.0
        self._timer: Timer | None = None

    def begin(self, usual: float) -> None:
        """:param usual: seconds between two of them, as the session's Welcome has it."""
        self._usual = usual
        self.hurry()

    def hurry(self) -> None:
        """Send one now: a new epoch is ours, and nothing proves it yet."""
        self.stop()
        beat, epoch = self._lease.heartbeat(self._clock())
        self._timer = self._later(self._lease.pace(self._usual), self.hurry)
        self._send(Heartbeat(beat, epoch))

    def stop(self) -> None:
        """No more of them."""
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
