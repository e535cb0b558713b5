"""Runs a program for everything that happens to the machine, one run after the other."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.interfaces import (
    IDelayedCall,
    IProcessTransport,
    IReactorProcess,
    IReactorTime,
)
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from .hooks import variables
from .state import KEPT, Changed

#: The program writes to where we do, and reads nothing.
_FILES: Final[Mapping[int, int | str]] = {0: "w", 1: 1, 2: 2}
#: Seconds that it has to end when it is asked to.
GRACE: Final = 5.0


class _Run(ProcessProtocol):
    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.closeStdin()

    def processEnded(self, reason: Failure) -> None:
        self._ended("" if reason.check(ProcessDone) else str(reason.value))


class Hook:
    """
    :ivar waiting: what the program has not been told yet: the oldest is left out of more than
        :data:`KEPT`.
    """

    def __init__(
        self,
        reactor: IReactorProcess,
        argv: Sequence[str],
        environ: Mapping[str, str],
        failed: Callable[[str], None],
    ) -> None:
        """
        :param reactor: also one that tells the time.
        :param environ: that the program has beside what it is told.
        :param failed: told of a run that did not go well, in one line.
        """
        self.waiting: deque[Changed] = deque(maxlen=KEPT)
        self._reactor = reactor
        self._clock = IReactorTime(reactor)
        self._argv = tuple(argv)
        self._environ = dict(environ)
        self._failed = failed
        self._timer: IDelayedCall | None = None
        self._running: IProcessTransport | None = None
        self._over: Deferred[None] | None = None

    def changed(self, change: Changed) -> None:
        """Run the program when the change has come about, and those before it have been told."""
        self.waiting.append(change)
        self._next()

    def stop(self) -> Deferred[None]:
        """:returns: fires when no program runs any more: a running one is asked to end."""
        self.waiting.clear()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self._running is None:
            return succeed(None)
        self._over = Deferred()
        self._signal("TERM")
        self._timer = self._clock.callLater(GRACE, self._signal, "KILL")
        return self._over

    def _signal(self, name: str) -> None:
        if self._running is not None:
            with suppress(ProcessExitedAlready):
                self._running.signalProcess(name)

    def _next(self) -> None:
        if self._running is not None or not self.waiting:
            return
        if self._timer is not None and self._timer.active():
            return
        left = self.waiting[0].due - self._clock.seconds()
        self._timer = self._clock.callLater(max(left, 0), self._run)

    def _run(self) -> None:
        environ = {**self._environ, **variables(self.waiting.popleft())}
        try:
            self._running = self._reactor.spawnProcess(
                _Run(self._ended), self._argv[0], self._argv, environ, childFDs=_FILES
            )
        except OSError as e:
            self._failed(f"{self._argv[0]}: {e.strerror or e}")
            self._next()

    def _ended(self, trouble: str) -> None:
        self._running = None
        if self._over is not None:
            if self._timer is not None and self._timer.active():
                self._timer.cancel()
            over, self._over = self._over, None
            over.callback(None)
            return
        if trouble:
            self._failed(f"{self._argv[0]}: {trouble}")
        self._next()
