"""Runs commands: journalled before each step, those of one machine one after the other."""

from collections.abc import Coroutine
from typing import Any

from attrs import define, field
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..contract.bounds import SENTENCE
from ..contract.commands import LONGEST_RESULT, Command, Result
from ..contract.refusals import Incomplete, Rejected
from ..contract.structure import JSON, parsed, rendered, structured
from ..errors import RescriptumError
from .kinds import AnyKind, Context, KindTable, Surroundings
from .lanes import Lanes
from .recording import Recording

#: Commands that run at once, and that wait beside them.
ABREAST, WAITING = 8, 256
#: Seconds until a journal that could not be written is tried again.
RETRY = 5.0


@define(eq=False)
class _Job:
    """:ivar running: there while its kind runs."""

    command: Command
    kind: AnyKind
    payload: object
    key: str
    context: Context
    running: Deferred[JSON] | None = field(default=None, init=False)


class Runner:
    """
    Every command that was taken and is not done.

    What it cannot write down it does not do: it tries again until the journal can be written.
    """

    _log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        recording: Recording,
        kinds: KindTable,
        boot_id: str,
        surroundings: Surroundings,
        abreast: int = ABREAST,
        waiting: int = WAITING,
    ) -> None:
        """
        :param clock: for time limits.
        :param boot_id: of this boot of the machine.
        """
        self._clock = clock
        self._recording = recording
        self._kinds = kinds
        self._boot_id = boot_id
        self._surroundings = surroundings
        self._lanes = Lanes(abreast)
        self._most = abreast + waiting
        self._jobs: dict[str, _Job] = {}
        self._tasks: set[Deferred[None]] = set()
        self._pauses: set[Deferred[None]] = set()
        self._stopping = False

    @property
    def idle(self) -> bool:
        """Whether every command that was taken has a result in the journal."""
        return not self._jobs

    async def start(self) -> None:
        """
        Go on where the last process stopped: what it ran is over, what it had not begun is begun.

        :raises Rejected: ``journal-unavailable``; then nothing has begun.
        """
        left = await self._recording.recover(self._boot_id, self._kinds.resume)
        for entry in left:
            assert entry.result is not None
            self._log.warn(
                "Command {command_id} ({kind}) was running when the agent stopped: {code}",
                command_id=entry.command.command_id,
                kind=entry.command.kind,
                code=entry.result.code,
            )
        if left:
            self._surroundings.finished()
        for entry in await self._recording.waiting():
            command = entry.command
            try:
                self._add(self._job(command))
            except Rejected as e:  # another release, which does not run this kind any more
                self._task(self._record(command, Result(False, e.code, e.detail)))
        self._begin()

    async def take(self, command: Command, digest: str, octets: bytes) -> bool:
        """
        Run a command that has been verified. Whoever waits for the answer may leave: then it is
        taken nevertheless.

        :param octets: its claims as they travelled, and ``digest`` of them.
        :returns: once it is in the journal: whether it is new.
        :raises Rejected: when it is not: ``busy``, ``journal-unavailable``, or its payload.
        """
        if command.command_id in self._jobs:
            return False
        job = self._job(command)
        if self._stopping:
            raise Rejected("busy", "the agent is stopping")
        if len(self._jobs) >= self._most:
            raise Rejected("busy", f"{len(self._jobs)} commands run and wait")
        self._jobs[command.command_id] = job
        taking: Deferred[bool] = Deferred()
        self._task(self._receive(job, digest, octets, taking))
        return await taking

    def revoke(self, command_id: str) -> None:
        """What has not begun does not begin, and what runs is asked to stop."""
        job = self._jobs.get(command_id)
        if job is None:
            return
        job.context.cancelled = True
        if self._lanes.withdraw(command_id):
            self._task(self._revoked(job))

    async def stop(self) -> None:
        """
        Begin nothing, end what runs, and wait for it. What is cut off stays *running* in the
        journal, and comes to what its kind says when the agent starts again.
        """
        self._stopping = True
        for job in list(self._jobs.values()):
            if job.running is not None:
                job.context.cancelled = True
                job.running.cancel()
        for pause in list(self._pauses):
            pause.cancel()
        while self._tasks:
            await DeferredList(list(self._tasks))

    def _job(self, command: Command) -> _Job:
        kind, payload = self._kinds.find(command.kind), self._kinds.payload(command)
        context = Context(command, self._surroundings)
        return _Job(command, kind, payload, kind.resource(payload), context)

    def _task(self, work: Coroutine[Deferred[Any], Any, None]) -> None:
        task = Deferred.fromCoroutine(work)
        self._tasks.add(task)

        def ended(result: Failure | None) -> None:
            self._tasks.discard(task)
            if isinstance(result, Failure):
                self._log.failure("A command was lost track of", failure=result)

        task.addBoth(ended)

    async def _receive(self, job: _Job, digest: str, octets: bytes, taking: Deferred[bool]) -> None:
        command = job.command
        try:
            new = await self._recording.receive(command, digest, octets)
        except Exception:  # noqa: BLE001 - whoever waits is told, whatever it is
            del self._jobs[command.command_id]
            taking.errback(Failure())
            return
        if new:
            self._add(job)
        else:
            del self._jobs[command.command_id]
        taking.callback(new)
        self._begin()

    def _add(self, job: _Job) -> None:
        command_id = job.command.command_id
        self._jobs[command_id] = job
        self._lanes.add(command_id, job.key)
        if job.context.cancelled:  # meanwhile
            self.revoke(command_id)

    def _begin(self) -> None:
        if not self._stopping:
            for command_id in self._lanes.begin():
                self._task(self._perform(self._jobs[command_id]))

    async def _perform(self, job: _Job) -> None:
        command_id = job.command.command_id
        try:
            early = await self._begun(job)
            if early is not None:
                await self._record(job.command, early)
            elif not self._stopping:
                await self._run(job)
        finally:
            self._lanes.end(command_id)
            del self._jobs[command_id]
            self._begin()

    async def _revoked(self, job: _Job) -> None:
        try:
            await self._record(job.command, Result(False, "revoked"))
        finally:
            del self._jobs[job.command.command_id]

    async def _begun(self, job: _Job) -> Result | None:
        """:returns: None once it is in the journal that it runs, or when the agent stops."""
        command = job.command
        while not self._stopping:
            if job.context.cancelled:
                return Result(False, "revoked")
            if self._recording.now() >= command.not_after:
                return Result(False, "expired", "before it could be begun")
            try:
                await self._recording.start(command.command_id, self._boot_id)
            except Rejected as e:
                if e.code != "journal-unavailable":
                    return Result(False, "interrupted", e.detail)
                self._log.error("{reason}: nothing is run until it can", reason=str(e))
                await self._pause()
            else:
                return Result(False, "revoked") if job.context.cancelled else None
        return None

    async def _run(self, job: _Job) -> None:
        """The result is written when it is there, and the lane is held until the kind has ended."""
        command = job.command
        self._log.info(
            "Running {kind}: command {command_id}", kind=command.kind, command_id=command.command_id
        )
        verdict: Deferred[Result | None] = Deferred()
        over: Deferred[None] = Deferred()

        def decide(result: Result | None) -> None:
            if not verdict.called:
                verdict.callback(result)

        def late() -> None:
            running.cancel()
            # Where it takes its time to stop, the gateway hears of it now.
            decide(Result(False, "timeout", f"after {job.kind.timeout_s:g} seconds"))

        def ended(result: JSON | Failure) -> None:
            if timer.active():
                timer.cancel()
                decide(self._result(job, result))
            elif isinstance(result, Failure) and not result.check(CancelledError):
                self._log.failure("{kind} failed to stop", failure=result, kind=command.kind)
            over.callback(None)

        timer = self._clock.callLater(job.kind.timeout_s, late)
        job.running = running = Deferred.fromCoroutine(_kind(job))
        running.addBoth(ended)
        result = await verdict
        if result is not None:
            await self._record(command, result)
        await over

    def _result(self, job: _Job, ended: JSON | Failure) -> Result | None:
        """:returns: None: it was cut off, since the agent stops."""
        if not isinstance(ended, Failure):
            return _checked(Result(True, "ok", data=ended))
        error = ended.value
        if isinstance(error, Incomplete):
            return _checked(Result(False, error.code, error.detail[:SENTENCE], error.data))
        if isinstance(error, Rejected):
            return Result(False, error.code, error.detail[:SENTENCE])
        if isinstance(error, RescriptumError):
            return Result(False, "failed", f"{error.code}: {error}"[:SENTENCE])
        if isinstance(error, CancelledError) and self._stopping:
            return None
        self._log.failure(
            "{kind} failed: command {command_id}",
            failure=ended,
            kind=job.command.kind,
            command_id=job.command.command_id,
        )
        return Result(False, "failed", type(error).__name__)

    async def _record(self, command: Command, result: Result) -> None:
        self._log.info(
            "Command {command_id} ({kind}): {code}",
            command_id=command.command_id,
            kind=command.kind,
            code=result.code,
        )
        while True:
            try:
                await self._recording.finish(command.command_id, result, self._boot_id)
            except Rejected as e:
                if e.code != "journal-unavailable":
                    raise
                self._log.error(
                    "{reason}: what became of command {command_id} is not told until it can",
                    reason=str(e),
                    command_id=command.command_id,
                )
                if self._stopping:
                    return
                await self._pause()
            else:
                self._surroundings.finished()
                return

    async def _pause(self) -> None:
        pause = deferLater(self._clock, RETRY, lambda: None)
        self._pauses.add(pause)
        try:
            await pause
        except CancelledError:
            if not self._stopping:
                raise
        finally:
            self._pauses.discard(pause)


async def _kind(job: _Job) -> JSON:
    return await job.kind.run(job.context, job.payload)


def _checked(made: Result) -> Result:
    """:returns: what the journal can hold, and the gateway can read."""
    try:
        text = rendered(made)
        if len(text) > LONGEST_RESULT:
            return Result(False, "too-large", f"its result has more than {LONGEST_RESULT} bytes")
        return structured(Result, parsed(text))
    except (Rejected, TypeError, ValueError, RecursionError) as e:
        return Result(False, "failed", f"its result is not JSON: {e}"[:SENTENCE])
