"""Kinds and surroundings for tests of the agent: none of them touches anything."""

from attrs import define, field, frozen
from twisted.internet.defer import CancelledError, Deferred

from rescriptum.agent.kinds import Context
from rescriptum.contract.commands import Command, Result
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.errors import Unavailable
from rescriptum.values import Secret

BOTH = frozenset((Role.SITE, Role.RAMDISK))


@frozen
class Words:
    """:ivar machine: what it acts on."""

    text: str = ""
    machine: str = ""


@define
class Echo:
    """Gives back what it was sent. :ivar ran: the ids of all commands that began, in order."""

    name: str = "test.echo"
    roles: frozenset[Role] = BOTH
    destructive: bool = False
    timeout_s: float = 10.0
    payload: type[Words] = Words
    ran: list[str] = field(factory=list)

    def resource(self, payload: Words) -> str:
        return payload.machine

    async def run(self, context: Context, payload: Words) -> JSON:
        self.ran.append(context.command_id)
        return {"text": payload.text}


@define
class Slow(Echo):
    """
    Runs until the test says how it ends, or until it is cancelled.

    :ivar contexts: of those that run, by command.
    :ivar cleaning: what it still waits for when it is cancelled.
    """

    name: str = "test.slow"
    contexts: dict[str, Context] = field(factory=dict)
    ends: dict[str, Deferred[JSON]] = field(factory=dict)
    cleaning: Deferred[None] | None = None

    async def run(self, context: Context, payload: Words) -> JSON:
        self.ran.append(context.command_id)
        self.contexts[context.command_id] = context
        end: Deferred[JSON] = Deferred()
        self.ends[context.command_id] = end
        try:
            return await end
        except CancelledError:
            if self.cleaning is not None:
                await self.cleaning
            raise
        finally:
            del self.contexts[context.command_id], self.ends[context.command_id]


@define
class Failing(Echo):
    """Raises what its payload names."""

    name: str = "test.failing"

    async def run(self, context: Context, payload: Words) -> JSON:
        if payload.text == "coded":
            raise Rejected("stale-epoch", "another one")
        if payload.text == "expected":
            raise Unavailable("no such BMC")
        if payload.text == "odd":
            return {"not": {1, 2}}
        if payload.text == "long":
            return {"text": "x" * 1_000_000}
        raise ZeroDivisionError("with a secret in it")


@define
class Destructive(Echo):
    """Wants approvals, and runs in the ramdisk alone."""

    name: str = "test.destructive"
    roles: frozenset[Role] = frozenset((Role.RAMDISK,))
    destructive: bool = True


@define
class Resuming(Slow):
    """Is done once the machine has booted again."""

    name: str = "test.resuming"

    def resume(self, boot_id_then: str, boot_id_now: str) -> Result | None:
        return Result(True, "ok") if boot_id_then != boot_id_now else None


def fakes() -> tuple[Echo, Slow, Failing, Destructive, Resuming]:
    """:returns: one of each."""
    return Echo(), Slow(), Failing(), Destructive(), Resuming()


@define
class FakeSurroundings:
    """
    Satisfies :class:`rescriptum.agent.kinds.Surroundings`.

    :ivar secrets: by reference; others are refused.
    :ivar told: how often there were results.
    """

    lease: int = 0
    secrets: dict[str, str] = field(factory=dict)
    progress: list[tuple[str, JSON]] = field(factory=list)
    asked: list[tuple[str, str, int]] = field(factory=list)
    told: int = 0
    time: float = 0.0

    def epoch(self) -> int:
        return self.lease

    async def secret(self, command: Command, ref: str, epoch: int) -> Secret:
        self.asked.append((command.command_id, ref, epoch))
        if ref not in self.secrets:
            raise Rejected("secret-refused")
        return Secret(self.secrets[ref])

    def progressed(self, command_id: str, data: JSON) -> None:
        self.progress.append((command_id, data))

    def finished(self) -> None:
        self.told += 1

    def monotonic(self) -> float:
        return self.time
