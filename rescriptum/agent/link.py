"""What an agent says and hears in its sessions: performs what the session's machine decides."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Protocol

from attrs import define, field
from twisted.logger import Logger

from ..boot.lease import AgentLease, GaveUp, Prove
from ..contract.commands import Command
from ..contract.frames import (
    STOPPING,
    Accepted,
    AgentFrame,
    Close,
    CommandFrame,
    Desired,
    Heartbeat,
    Received,
    Revoke,
)
from ..contract.refusals import Rejected
from ..contract.reports import SectionStatus
from ..contract.sessions import SecretAnswer, SecretRequest, Welcome
from ..contract.specs import LeaseSection
from ..contract.structure import JSON
from ..errors import RescriptumError, Unavailable
from ..values import Secret
from .backoff import LONGEST
from .client import EXCHANGE, Session
from .commands import TrustedTime
from .credentials import Credentials
from .desired import DesiredState, Spawn
from .heartbeats import Heartbeats, Later, Timer
from .intake import Intake
from .outbox import Outbox
from .posting import Posting
from .reports import Reporter
from .session import Inputs

#: Seconds that a heartbeat has at least, and that the last words of an agent have.
BEAT, FAREWELL = 2.0, 3.0


class Stream(Protocol):
    """
    The frames of a session.

    :ivar ended: of what ended it.
    """

    @property
    def ended(self) -> Awaitable[RescriptumError]: ...

    def abort(self) -> None: ...


class Door(Protocol):
    """The gateway's: :class:`rescriptum.agent.client.GatewayClient`, whose methods these are."""

    async def hello(self, signed: str) -> Welcome: ...

    async def frames(
        self, session: Session, frames: Sequence[AgentFrame], seconds: float
    ) -> Accepted: ...

    async def secret(self, session: Session, request: SecretRequest) -> SecretAnswer: ...

    def stream(
        self, session: Session, received: Callable[[Received], None], silence: float
    ) -> Stream: ...


@define(eq=False)
class Link:
    """
    Satisfies the effects of :mod:`rescriptum.agent.session`, and the surroundings of commands.

    :ivar hello_text: makes a signed Hello. :ivar fence: the fence's clock.
    :ivar wall: the wall clock. :ivar ended: called once, when nothing is left to be done.
    :ivar session: None: there is none. :ivar trouble: why the last one, or its stream, ended.
    """

    _log: ClassVar[Logger] = Logger()

    door: Door
    hello_text: Callable[[], str]
    lease: AgentLease
    fence: Callable[[], float]
    wall: Callable[[], float]
    later: Later
    spawn: Spawn
    jitter: Callable[[], float]
    ended: Callable[[], None]
    outbox: Outbox = field(factory=Outbox, init=False)
    reporter: Reporter = field(factory=Reporter, init=False)
    session: Session | None = field(default=None, init=False)
    trouble: str = field(default="", init=False)
    heartbeats: Heartbeats = field(init=False)
    posting: Posting = field(init=False)
    credentials: Credentials = field(init=False)
    _inputs: Inputs = field(init=False)
    _intake: Intake = field(init=False)
    _desired: DesiredState = field(init=False)
    _stream: Stream | None = field(default=None, init=False)
    _timer: Timer | None = field(default=None, init=False)
    _time: TrustedTime | None = field(default=None, init=False)
    _usual: float = field(default=0.0, init=False)
    _silence: float = field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        self.heartbeats = Heartbeats(self.lease, self.fence, self.later, self._beat)
        self.credentials = Credentials(self._ask)
        self.posting = Posting(
            self.outbox,
            self.reporter,
            self._say,
            self._heard,
            self.later,
            self.spawn,
            self.fence,
            self.jitter,
        )

    def wire(self, inputs: Inputs, intake: Intake, desired: DesiredState) -> None:
        """Who is told of what is heard: before anything begins."""
        self._inputs, self._intake, self._desired = inputs, intake, desired

    def now(self) -> int:
        """:returns: the trusted time, in Unix seconds."""
        wall = self.wall()
        return int(wall) if self._time is None else self._time.now(wall, self.fence())

    # Effects of the session.

    def hello(self) -> None:
        self.spawn(self._hello())

    async def _hello(self) -> None:
        try:
            welcome = await self.door.hello(self.hello_text())
            Session.of(welcome)
        except RescriptumError as e:
            self._trouble("No session", e)
            self._inputs.refused(e)
        else:
            self._inputs.welcomed(welcome)

    def begin(self, welcome: Welcome) -> None:
        self.session = Session.of(welcome)
        self._time = TrustedTime(welcome.server_time, self.fence())
        self._usual = welcome.heartbeat_ms / 1000
        self._silence = welcome.lease_ttl_ms / 1000
        self._log.info("Session {session} has begun", session=self.session.name)
        self._gave_up(self.lease.begin_session())
        self.heartbeats.begin(self._usual)
        self.posting.begin()
        self.finished()

    def open(self) -> None:
        assert self.session is not None
        stream = self._stream = self.door.stream(self.session, self._frame, self._silence)
        self.spawn(self._streamed(stream))

    async def _streamed(self, stream: Stream) -> None:
        error = await stream.ended
        if stream is self._stream:
            self._trouble("The stream of frames has ended", error)
            if not self._unauthorized(self.session, error):
                self._inputs.lost(error)

    def hang_up(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.abort()

    def end(self) -> None:
        self.session = None
        self.heartbeats.stop()
        self.posting.end()

    def give_up(self) -> None:
        self._gave_up(self.lease.give_up(self.lease.epoch))

    def wait(self, seconds: float) -> None:
        self._timer = self.later(seconds, self._inputs.again)

    def wait_no_longer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def doubled(self) -> None:
        self._log.error(
            "Another process, here or on another host, has this node's identity and took over its"
            " session: stop one of them, and let it join with a token of its own. This one waits"
            " for {seconds:g} seconds",
            seconds=LONGEST,
        )

    def farewell(self) -> None:
        self.heartbeats.stop()
        self.posting.end()
        self.later(0, lambda: self.spawn(self._farewell()))

    async def _farewell(self) -> None:
        batch = self.outbox.batch()
        try:
            if batch and self.session is not None:
                answer = await self.door.frames(self.session, batch, FAREWELL)
                self.outbox.told(batch, answer)
        except RescriptumError as e:
            self._log.warn("The gateway was not told of the end: {reason}", reason=str(e))
        self._inputs.left()

    def over(self) -> None:
        self.ended()

    # What is heard.

    def _frame(self, received: Received) -> None:
        if received.ack is not None:
            self.lease.acknowledged(received.ack.beat, received.ack.epoch)
        frame = received.frame
        if isinstance(frame, Desired):
            if frame.spec.site is not None:
                self._section(frame.spec.site.lease)
            self._desired.desire(frame.spec)
        elif isinstance(frame, CommandFrame):
            self.spawn(self._intake.take(frame.envelope))
        elif isinstance(frame, Revoke):
            self._intake.revoke(frame.command_id)
        elif isinstance(frame, Close):
            self.trouble = f"the gateway has ended the session: {frame.reason}"
            self._log.info("The gateway has ended the session: {reason}", reason=frame.reason)
            if frame.reason == STOPPING:
                self._inputs.lost(Unavailable("the gateway stops"))
            else:
                self._inputs.closed(frame.reason)

    def _section(self, lease: LeaseSection) -> None:
        outcome = self.lease.section(lease.active, lease.epoch, lease.ttl_ms)
        if isinstance(outcome, Prove):
            self._log.info("Epoch {epoch} of the boot lease is this agent's", epoch=outcome.epoch)
            self.credentials.serve(outcome.epoch)
            self.heartbeats.hurry()
        elif isinstance(outcome, GaveUp):
            self._gave_up(outcome.epoch)

    def _gave_up(self, epoch: int) -> None:
        if epoch:
            self._log.info("Epoch {epoch} of the boot lease is given up", epoch=epoch)
            self.credentials.serve(self.lease.epoch)
            self.outbox.release(epoch)
            self.posting.flush()

    # What is said.

    def _beat(self, frame: Heartbeat) -> None:
        if self.session is not None:
            self.spawn(self._beaten(self.session, frame))

    async def _beaten(self, session: Session, frame: Heartbeat) -> None:
        try:
            await self._within(session, [frame], max(BEAT, self._usual))
        except RescriptumError as e:
            self.trouble = f"a heartbeat was not heard: {e}"

    async def _say(self, frames: Sequence[AgentFrame]) -> Accepted:
        if self.session is None:
            raise Unavailable("there is no session")
        return await self._within(self.session, frames, EXCHANGE)

    async def _within(
        self, session: Session, frames: Sequence[AgentFrame], seconds: float
    ) -> Accepted:
        try:
            answer = await self.door.frames(session, frames, seconds)
        except RescriptumError as e:
            self._unauthorized(session, e)
            raise
        if session is self.session and answer.ack is not None:
            self.lease.acknowledged(answer.ack.beat, answer.ack.epoch)
        return answer

    async def _ask(self, request: SecretRequest) -> SecretAnswer:
        session = self.session
        if session is None:
            raise Unavailable("there is no session to ask for secrets in")
        try:
            return await self.door.secret(session, request)
        except RescriptumError as e:
            self._unauthorized(session, e)
            raise

    def _unauthorized(self, session: Session | None, error: RescriptumError) -> bool:
        """:returns: whether ``session`` is over, as the gateway says."""
        if not isinstance(error, Rejected) or error.status != 401:
            return False
        if session is self.session:  # else it is an old one's, of which everybody knows
            self._inputs.unauthorized(error)
        return True

    async def _heard(self, command_ids: Sequence[str]) -> None:
        try:
            await self._intake.recording.acknowledge(command_ids)
            await self._intake.refill()
        except Rejected as e:
            self._log.error("{reason}: results are told again", reason=str(e))

    def _trouble(self, what: str, error: RescriptumError) -> None:
        self.trouble = f"{what[0].lower()}{what[1:]}: {error}"
        self._log.warn("{what}: {reason}", what=what, reason=str(error), code=error.code)

    # What others ask and say.

    def hurry(self) -> None:
        """What proved the lease counts no more: prove it again."""
        if self.session is not None:
            self.heartbeats.hurry()

    def stated(self, status: SectionStatus) -> None:
        """A section of the desired state has come so far."""
        self.reporter.section(status)
        self.posting.flush()

    def status(self) -> JSON:
        """:returns: what there is to say of the session."""
        if self.session is None:
            state = "waiting"
        else:
            state = "live" if self._stream is not None else "reconnecting"
        name = None if self.session is None else self.session.name
        return {"state": state, "name": name, "trouble": self.trouble}

    # The surroundings of commands.

    def epoch(self) -> int:
        return self.lease.epoch

    async def secret(self, command: Command, ref: str, epoch: int) -> Secret:
        return await self.credentials.of_command(command, ref, epoch)

    def progressed(self, command_id: str, data: JSON) -> None:
        self.reporter.progress(command_id, data)
        self.posting.flush()

    def finished(self) -> None:
        self.spawn(self._heard(()))

    def monotonic(self) -> float:
        return self.fence()
