"""What the gateway remembers, as values: one class a table, named as its columns are."""

from collections.abc import Iterable
from enum import Enum
from typing import Generic, TypeVar

from attrs import field, frozen

from ..contract.commands import Envelope, Result
from ..contract.joining import Role
from ..contract.reports import SectionStatus
from ..contract.structure import JSON, structured

_T = TypeVar("_T")


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _documents(values: Iterable[JSON]) -> tuple[JSON, ...]:
    return tuple(values)


class CommandState(Enum):
    """How far a command has come."""

    WAITING = "waiting"  # for approvals
    QUEUED = "queued"
    DELIVERED = "delivered"
    JOURNALLED = "journalled"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    EXPIRED = "expired"
    REVOKED = "revoked"

    @property
    def finished(self) -> bool:
        """Whether nothing is done for it any more; a late result is recorded all the same."""
        return self not in UNFINISHED


UNFINISHED = frozenset(
    {
        CommandState.WAITING,
        CommandState.QUEUED,
        CommandState.DELIVERED,
        CommandState.JOURNALLED,
    }
)


class WorkflowState(Enum):
    """How far a workflow has come."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class StepState(Enum):
    """How far a step of a workflow has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Scope(Enum):
    """What an operator may do: each scope includes those before it."""

    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"

    def includes(self, other: "Scope") -> bool:
        order = list(Scope)
        return order.index(self) >= order.index(other)


@frozen
class Page(Generic[_T]):
    """
    Part of a listing.

    :ivar next: what to ask for with ``after`` to get what follows; None: that was all.
    """

    items: tuple[_T, ...]
    next: str | None


@frozen
class Site:
    """:ivar ttl_ms: of the next epoch. :ivar wanted_node: who is to hold the boot lease."""

    name: str
    created_at: int
    ttl_ms: int
    wanted_node: str | None = None
    labels: JSON = field(factory=dict)


@frozen
class JoinTokenRow:
    """
    A join token, by its digest.

    :ivar node: whom it made. :ivar machine: whom it is for, and ``workflow``: of discovery tokens.
    """

    digest: str
    site: str
    role: Role = field(converter=Role)
    created_at: int
    expires_at: int
    used_at: int | None = None
    node: str | None = None
    machine: str | None = None
    workflow: str | None = None


def _sections(value: object) -> tuple[SectionStatus, ...]:
    assert isinstance(value, list | tuple)
    return tuple(
        each if isinstance(each, SectionStatus) else structured(SectionStatus, each)
        for each in value
    )


@frozen
class Node:
    """
    An agent.

    :ivar jkt: thumbprint of ``jwk``, its key. :ivar machine: that it runs on, where known.
    :ivar version: of its program, and ``boot_id``, ``kinds``, ``drivers``, ``labels``: of its last
        Hello.
    :ivar sections: and ``inventory``: its last status.
    """

    id: str
    site: str
    role: Role = field(converter=Role)
    jwk: JSON
    jkt: str
    machine: str | None
    joined_at: int
    removed_at: int | None = None
    version: str = ""
    boot_id: str = ""
    kinds: tuple[str, ...] = field(default=(), converter=_texts)
    drivers: tuple[JSON, ...] = field(default=(), converter=_documents)
    labels: JSON = field(factory=dict)
    desired_version: int = 0
    sections: tuple[SectionStatus, ...] = field(default=(), converter=_sections)
    inventory: JSON | None = None
    reported_at: int | None = None


@frozen
class SessionRow:
    """
    A session of a node.

    :ivar process: which gateway process has its stream. :ivar boots: whether it may hold the lease.
    :ivar reason: why it ended.
    """

    id: str
    node: str
    site: str
    token_digest: str
    process: str
    boots: bool
    opened_at: int
    heard_at: int
    ended_at: int | None = None
    reason: str | None = None


@frozen
class Machine:
    """
    A machine that is ours to run.

    :ivar bmc_address: and the other ``bmc_`` fields: empty where it has none.
    :ivar credential_ref: name of the secret for its BMC.
    :ivar addresses: hosts that the site's agent may be told to make requests to.
    :ivar revision: goes up with every change.
    """

    name: str
    site: str
    macs: tuple[str, ...] = field(converter=_texts)
    uuid: str = ""
    bmc_address: str = ""
    bmc_driver: str = ""
    bmc_pin: str = ""
    bmc_username: str = ""
    credential_ref: str = ""
    labels: JSON = field(factory=dict)
    addresses: tuple[str, ...] = field(default=(), converter=_texts)
    created_at: int = 0
    revision: int = 1


@frozen
class SecretRow:
    """
    A secret as listings have it: without its value.

    :ivar changed_at: when it was last given one.
    """

    name: str
    created_at: int
    changed_at: int


@frozen
class Image:
    """
    An image of an operating system.

    :ivar sites: that are to have it in their cache. :ivar revision: goes up with every change.
    """

    name: str
    sha256: str
    url: str
    format: str = "raw"
    sites: tuple[str, ...] = field(default=(), converter=_texts)
    created_at: int = 0
    revision: int = 1


@frozen
class DiscoveredMachine:
    """A machine that boots at a site and is nobody's yet."""

    site: str
    mac: str
    uuid: str
    arch: str
    ip: str
    first_seen_at: int
    seen_at: int


def _envelope(value: object) -> Envelope:
    return value if isinstance(value, Envelope) else structured(Envelope, value)


def _result(value: object) -> Result | None:
    return value if value is None or isinstance(value, Result) else structured(Result, value)


@frozen
class CommandRow:
    """
    A command, and what became of it.

    :ivar claims: the octets that are signed. :ivar digest: of them.
    :ivar batch: of a destructive one. :ivar secret_refs: what its agent may ask for.
    """

    id: str
    node: str
    kind: str
    workflow: str
    step: str
    claims: bytes = field(repr=False)
    digest: str
    envelope: Envelope = field(converter=_envelope, repr=False)
    issued_at: int
    not_after: int
    batch: str | None = None
    attested: bool = False
    secret_refs: tuple[str, ...] = field(default=(), converter=_texts)
    state: CommandState = field(default=CommandState.QUEUED, converter=CommandState)
    delivered_at: int | None = None
    journalled_at: int | None = None
    finished_at: int | None = None
    result: Result | None = field(default=None, converter=_result)
    attestation: str | None = None
    progress: JSON | None = None


@frozen
class Batch:
    """Destructive commands that are approved together. :ivar about: for who approves."""

    id: str
    created_at: int
    about: str


@frozen
class ApprovalRow:
    """:ivar approver: thumbprint. :ivar signed: as the approver signed it."""

    batch: str
    approver: str
    signed: str
    not_after: int
    given_at: int


@frozen
class Workflow:
    """
    A journalled list of steps.

    :ivar step: number of the one that is under way. :ivar reason: why it ended as it did.
    :ivar process: who carries it on.
    """

    id: str
    kind: str
    site: str
    machine: str | None
    parameters: JSON
    operator: str
    created_at: int
    state: WorkflowState = field(default=WorkflowState.RUNNING, converter=WorkflowState)
    step: int = 0
    reason: str = ""
    process: str | None = None
    finished_at: int | None = None


@frozen
class WorkflowStep:
    """:ivar number: from 0. :ivar command: that it waits for. :ivar detail: for programs."""

    workflow: str
    number: int
    name: str
    state: StepState = field(default=StepState.WAITING, converter=StepState)
    command: str | None = None
    detail: JSON = field(factory=dict)
    reason: str = ""
    started_at: int | None = None
    finished_at: int | None = None


@frozen
class Event:
    """
    Something that happened.

    :ivar seq: one of a row that only grows; later events have greater ones.
    :ivar subject: whom it is about: a node, machine, workflow or command.
    """

    seq: int
    at: int
    kind: str
    site: str | None
    subject: str
    data: JSON


@frozen
class Operator:
    """Who may use the operators' API."""

    name: str
    token_digest: str = field(repr=False)
    scope: Scope = field(converter=Scope)
    created_at: int
    removed_at: int | None = None
