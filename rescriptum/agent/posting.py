"""One request of agent frames at a time: what there is to tell, told again until it is heard."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from twisted.logger import Logger

from ..contract.frames import Accepted, AgentFrame, Status
from ..contract.refusals import Rejected
from ..contract.reports import StatusReport
from ..errors import RescriptumError
from .backoff import Backoff
from .desired import Spawn
from .heartbeats import Later, Timer
from .outbox import Outbox
from .reports import Reporter

#: Seconds until what was sent and is not answered for is sent again.
RESEND: Final = 5.0


class Posting:
    """Everything but heartbeats, which wait behind nothing."""

    _log = Logger()

    def __init__(
        self,
        outbox: Outbox,
        reporter: Reporter,
        send: Callable[[Sequence[AgentFrame]], Awaitable[Accepted]],
        heard: Callable[[Sequence[str]], Awaitable[None]],
        later: Later,
        spawn: Spawn,
        seconds: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        """
        :param send: within the session that there is.
        :param heard: told of ids whose results the gateway has.
        """
        self._outbox = outbox
        self._reporter = reporter
        self._send = send
        self._heard = heard
        self._later = later
        self._spawn = spawn
        self._seconds = seconds
        self._jitter = jitter
        self._backoff = Backoff()
        self._failing = False
        self._session = 0
        self._active = False
        self._running = False
        self._timer: Timer | None = None

    def begin(self) -> None:
        """There is a session, whatever requests of earlier ones are still under way."""
        self._session += 1
        self._active, self._running = True, False
        self._backoff, self._failing = Backoff(), False
        self._reporter.begin_session()
        self.flush()

    def end(self) -> None:
        """There is none any more."""
        self._active = False
        self._quiet()

    def flush(self) -> None:
        """
        There is something to tell: in a later turn of the reactor, so that what this turn still
        decides is told with it, and no release overtakes an answer.
        """
        if self._active and not self._running and not self._failing:
            self._wait(0)

    def _wait(self, seconds: float) -> None:
        self._quiet()
        self._timer = self._later(seconds, self._due)

    def _quiet(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _due(self) -> None:
        self._failing = False
        if not self._running:
            self._running = True
            self._spawn(self._run(self._session))

    async def _run(self, session: int) -> None:
        wait: float | None = None
        try:
            while wait is None:
                batch = self._outbox.batch()
                report = self._reporter.take(self._seconds())
                if not batch and report is None:
                    wait = self._reporter.due(self._seconds())
                    break
                wait = await self._tell(session, batch, report)
                if session != self._session or not self._active:
                    return
        finally:
            if session == self._session:
                self._running = False
        if wait is not None:
            self._wait(wait)

    async def _tell(
        self, session: int, batch: list[AgentFrame], report: StatusReport | None
    ) -> float | None:
        """:returns: seconds until there is anything more to tell; None: go on."""
        frames = batch if report is None else [*batch, Status(report)]
        try:
            answer = await self._send(frames)
        except RescriptumError as e:
            if isinstance(e, Rejected) and e.status != 401:
                self._log.error("The gateway refuses frames: {reason}", reason=str(e))
                self._outbox.spurned(batch)
            elif report is not None:
                self._reporter.failed(report)
            if session == self._session:
                self._failing = True
                self._backoff = self._backoff.ended(0)
            return self._backoff.wait(self._jitter())
        self._backoff = Backoff()
        before = len(self._outbox)
        done = self._outbox.told(batch, answer)
        stuck = bool(batch) and len(self._outbox) >= before
        if done:
            await self._heard(done)
        return RESEND if stuck else None
