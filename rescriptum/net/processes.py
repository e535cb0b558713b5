"""A program as a process of its own group: bounded in time and output, and nothing of it stays."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import field, frozen
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessTerminated
from twisted.internet.interfaces import IDelayedCall, IReactorProcess, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ..errors import RescriptumError

#: Seconds between asking a group of processes to end and ending it; and for pipes that something
#: outside the group holds.
PATIENCE, HELD = 2.0, 1.0

# Between the fork and the program: a session of its own, and signals as programs expect them.
# Python may add LC_CTYPE to an environment that has no locale (PEP 538): it goes again.
_LAUNCH: Final = """\
import os, signal, sys
os.setsid()
os.chdir("/")
for each in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(each, signal.SIG_DFL)
environ = dict(os.environb)
environ.pop(b"LC_CTYPE", None)
try:
    os.execve(sys.argv[1], sys.argv[1:], environ)
except OSError as e:
    sys.exit(f"cannot be run: {e.strerror}")
"""


class Reactor(IReactorProcess, IReactorTime):
    """What running a program asks of a reactor."""


class ProgramTrouble(RescriptumError):
    """
    A program that could not be begun, or had to be ended.

    :ivar code: ``failed``, ``timeout``, or ``bad-response`` for one that writes too much.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@frozen
class Program:
    """
    What is run.

    :ivar environ: all of its environment. :ivar args: after its own name; never a secret.
    """

    path: Path
    environ: Mapping[str, str] = field(repr=False)
    args: tuple[str, ...] = ()


@frozen
class Ended:
    """
    A process that is over.

    :ivar status: its exit code; negative: the signal that ended it.
    """

    status: int
    stdout: bytes = field(repr=False)


async def ran(
    reactor: Reactor,
    program: Program,
    stdin: bytes,
    seconds: float,
    most: int,
    heard: Callable[[bytes], None],
) -> Ended:
    """
    :param most: bytes on stdout.
    :param heard: told what comes on stderr.
    :returns: once the process is gone, and all of its group.
    :raises ProgramTrouble: ``timeout``, or ``bad-response`` for too much; then too it is gone.
    """
    child = _Child(reactor, stdin, seconds, most, heard)
    argv = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(program.path), *program.args]
    try:
        reactor.spawnProcess(child, sys.executable, argv, dict(program.environ), path="/")
    except OSError as e:
        raise ProgramTrouble("failed", f"no process can be begun: {e.strerror}") from None
    try:
        return await child.outcome
    finally:
        child.stop()
        await child.gone


class _Child(ProcessProtocol):
    """
    One process.

    :ivar outcome: how it ended, or why it has to. :ivar gone: fires when nothing of it is left.
    """

    def __init__(
        self,
        clock: IReactorTime,
        stdin: bytes,
        seconds: float,
        most: int,
        heard: Callable[[bytes], None],
    ) -> None:
        self._clock = clock
        self._stdin = stdin
        self._seconds = seconds
        self._most = most
        self._heard = heard
        self._stdout = bytearray()
        self._pid: int | None = None
        self._stopping = False
        self._timers: list[IDelayedCall] = []
        self.outcome: Deferred[Ended] = Deferred()
        self.gone: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        assert self.transport is not None
        self._pid = self.transport.pid
        self._later(self._seconds, self._late)
        self.transport.write(self._stdin)
        self.transport.closeStdin()

    def outReceived(self, data: bytes) -> None:
        if self.outcome.called:
            return
        self._stdout += data
        if len(self._stdout) > self._most:
            text = f"the program writes more than {self._most} bytes"
            self._refuse(ProgramTrouble("bad-response", text))

    def errReceived(self, data: bytes) -> None:
        self._heard(data)

    def _late(self) -> None:
        self._refuse(ProgramTrouble("timeout", f"the program was ended after {self._seconds:g} s"))

    def _refuse(self, error: ProgramTrouble) -> None:
        if not self.outcome.called:
            self.outcome.errback(error)

    def stop(self) -> None:
        """End it: with a chance to tidy up, and then without."""
        if not self._stopping and not self.gone.called and self._pid is not None:
            self._stopping = True
            self._signal(signal.SIGTERM)
            self._later(PATIENCE, lambda: self._signal(signal.SIGKILL))

    def _signal(self, number: int) -> None:
        assert self._pid is not None
        try:
            os.killpg(self._pid, number)
        except ProcessLookupError:
            # Not a group yet; where it is over, Twisted knows that there is no such process.
            if self.transport is not None and self.transport.pid is not None:
                os.kill(self._pid, number)

    def processExited(self, reason: Failure) -> None:
        # What it has begun ends with it. The group's number is its own as long as one is in it.
        assert self._pid is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        self._later(HELD, self._let_go)

    def _let_go(self) -> None:
        """Somebody who left the group holds its pipes: that is nothing to wait for."""
        assert self.transport is not None
        self.transport.loseConnection()

    def processEnded(self, reason: Failure) -> None:
        for each in self._timers:
            if each.active():
                each.cancel()
        self.gone.callback(None)
        if not self.outcome.called:
            self.outcome.callback(Ended(_status(reason), bytes(self._stdout)))

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(self._clock.callLater(seconds, call))


def _status(reason: Failure) -> int:
    error = reason.value
    if not isinstance(error, ProcessTerminated):
        return 0
    if error.signal is not None:
        return -int(error.signal)
    return 1 if error.exitCode is None else int(error.exitCode)
