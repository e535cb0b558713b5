"""What commands an agent runs: a kind is a class, and its table has one of each name."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from attrs import define, field

from ..contract.commands import Command, Result
from ..contract.joining import Role
from ..contract.refusals import Rejected
from ..contract.structure import JSON, structured
from ..interfaces import Anew
from ..values import Secret

_P = TypeVar("_P")


class Surroundings(Protocol):
    """What the rest of the agent does for commands that run."""

    def epoch(self) -> int:
        """:returns: of the boot lease that this agent has, or 0."""

    async def secret(self, command: Command, ref: str, epoch: int) -> Secret:
        """
        Ask the gateway, each time anew: secrets are in memory only.

        :param epoch: that the secret is bound to; 0: to none.
        :raises Rejected: ``secret-refused``, ``stale-epoch``.
        :raises Unavailable: when there is no session.
        """

    def progressed(self, command_id: str, data: JSON) -> None:
        """Tell the gateway when it next suits; what came before need not be told any more."""

    def finished(self) -> None:
        """There are results in the journal that the gateway does not have."""

    def monotonic(self) -> float:
        """:returns: seconds, of a clock that only goes forward."""


@define(eq=False)
class Context:
    """
    What a command that runs has, beside its payload.

    :ivar cancelled: whether it was asked to stop: a kind that can, raises ``Rejected("revoked")``.
    """

    command: Command
    _surroundings: Surroundings
    cancelled: bool = field(default=False, init=False)

    @property
    def command_id(self) -> str:
        return self.command.command_id

    @property
    def workflow(self) -> str:
        return self.command.workflow

    @property
    def step(self) -> str:
        return self.command.step

    @property
    def epoch(self) -> int:
        """Of the boot lease at this moment; 0: this agent does not hold it."""
        return self._surroundings.epoch()

    async def secret(self, ref: str, epoch: int = 0) -> Secret:
        """
        :param epoch: of the boot lease that the secret is bound to; 0: to none.
        :raises Rejected: where the command's workflow does not name it.
        :raises Unavailable: when there is no session.
        """
        return await self._surroundings.secret(self.command, ref, epoch)

    def seconds(self) -> float:
        """:returns: of a clock that only goes forward."""
        return self._surroundings.monotonic()

    def progress(self, data: JSON) -> None:
        """:param data: how far it has come; no secret."""
        self._surroundings.progressed(self.command.command_id, data)


class Kind(Protocol[_P]):
    """
    What commands of one name do.

    :ivar name: dotted, as commands and certificates spell it.
    :ivar roles: of the agents that run it.
    :ivar destructive: whether approvers have to agree.
    :ivar timeout_s: seconds after which it is cancelled and its result is ``timeout``.
    :ivar payload: the attrs class of its payload.
    """

    @property
    def name(self) -> str: ...
    @property
    def roles(self) -> frozenset[Role]: ...
    @property
    def destructive(self) -> bool: ...
    @property
    def timeout_s(self) -> float: ...
    @property
    def payload(self) -> type[_P]: ...

    def resource(self, payload: _P) -> str:
        """
        :returns: the one machine or BMC that it acts on: commands that name the same one run one
            after the other. Empty: it may run beside any other.
        :raises Rejected: ``invalid-payload`` for one that no type can tell is wrong.
        """

    async def run(self, context: Context, payload: _P) -> JSON:
        """
        :returns: the result's data.
        :raises Rejected: when it fails in a way that has a code. Cancelled, it is past its time
            or the agent stops.
        """


@runtime_checkable
class Resumes(Protocol):
    """A kind that knows what it has come to when the agent was stopped while it ran."""

    def resume(self, boot_id_then: str, boot_id_now: str) -> Result | Anew | None:
        """
        :param boot_id_then: of the boot in which it began.
        :returns: what became of it, or that it is to be begun anew; None: nobody can tell.
        """


#: A kind with whatever payload: who asks it gave it one of its own type.
AnyKind: TypeAlias = Kind[Any]


class KindTable:
    """The kinds of one agent."""

    def __init__(self, role: Role, kinds: Iterable[AnyKind]) -> None:
        """
        :param kinds: also those of other roles: they are refused as such.
        :raises ValueError: when two have one name.
        """
        self._role = role
        table: dict[str, AnyKind] = {}
        for kind in kinds:
            if kind.name in table:
                raise ValueError(f"two kinds are called {kind.name}")
            table[kind.name] = kind
        self._kinds: Mapping[str, AnyKind] = table

    @property
    def names(self) -> tuple[str, ...]:
        """What Hello lists: the kinds that commands may have."""
        return tuple(sorted(n for n, each in self._kinds.items() if self._role in each.roles))

    def find(self, name: str) -> AnyKind:
        """
        :raises Rejected: ``unknown-kind``, or ``wrong-role`` for one of other agents.
        """
        kind = self._kinds.get(name)
        if kind is None:
            raise Rejected("unknown-kind", f"this agent does not run {name}")
        if self._role not in kind.roles:
            roles = " and ".join(sorted(each.value for each in kind.roles))
            raise Rejected("wrong-role", f"{name} is for agents of role {roles}")
        return kind

    def payload(self, command: Command) -> object:
        """
        :returns: of the type that the command's kind wants.
        :raises Rejected: ``invalid-payload``, and as :meth:`find` does.
        """
        wanted = self.find(command.kind).payload
        made: object = structured(wanted, command.payload, "invalid-payload")
        return made

    def resume(self, name: str, boot_id_then: str, boot_id_now: str) -> Result | Anew | None:
        """:returns: what has become of a command that was left running; None: nobody can tell."""
        kind = self._kinds.get(name)
        if not isinstance(kind, Resumes):
            return None
        return kind.resume(boot_id_then, boot_id_now)
