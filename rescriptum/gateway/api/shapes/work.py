"""What agents are told to do: commands, what needs approval, workflows."""

from attrs import field, frozen

from ....contract.bounds import SIGNED, many, name, number, text
from ....contract.commands import LONGEST_LIFE, Result
from ....contract.structure import JSON
from ...records import CommandState, StepState, WorkflowState

#: Seconds for which a command is valid unless somebody says otherwise.
USUAL_LIFE = 900


@frozen
class CommandSend:
    """
    A command for a node.

    :ivar payload: as the kind wants it. :ivar secret_refs: what its agent may ask for.
    :ivar lifetime_s: after which it is not to be run any more.
    :ivar about: for the people who approve it, where it needs that.
    """

    node: str = field(validator=name())
    kind: str = field(validator=name())
    payload: JSON = field(factory=dict)
    secret_refs: tuple[str, ...] = field(default=(), validator=many(16))
    lifetime_s: int = field(default=USUAL_LIFE, validator=number(10, LONGEST_LIFE))
    attested: bool = False
    about: str = field(default="", validator=text(500, empty=True))


@frozen
class Command:
    """
    A command, and what became of it.

    :ivar digest: what approvers sign. :ivar batch: what has to be approved before it is sent.
    :ivar payload: and ``attestation``: where one command is asked for.
    """

    id: str
    node: str
    kind: str
    state: CommandState
    workflow: str
    step: str
    digest: str
    attested: bool
    secret_refs: tuple[str, ...]
    issued_at: str
    not_after: str
    batch: str | None = None
    delivered_at: str | None = None
    journalled_at: str | None = None
    finished_at: str | None = None
    progress: JSON | None = None
    result: Result | None = None
    payload: JSON | None = None
    attestation: str | None = None


@frozen
class Commands:
    """A page of commands, the last ones first."""

    commands: tuple[Command, ...]
    event: int
    server_time: str
    next: str | None = None


@frozen
class Waiting:
    """
    A command of a batch: what is approved.

    :ivar digest: as approvers sign it. :ivar claims: the text that it is the digest of: whoever
        signs reads that, and believes nothing else of this.
    """

    id: str
    digest: str
    claims: str
    node: str
    kind: str
    payload: JSON
    state: CommandState
    not_after: str


@frozen
class ApprovalGiven:
    """:ivar approver: thumbprint of the key."""

    approver: str
    given_at: str
    not_after: str


@frozen
class Batch:
    """
    Commands that are approved together, or not at all.

    :ivar about: for people. :ivar quorum: how many approvers it needs.
    :ivar approved: whether it has them.
    """

    id: str
    created_at: str
    about: str
    quorum: int
    approved: bool
    commands: tuple[Waiting, ...]
    approvals: tuple[ApprovalGiven, ...]


@frozen
class Batches:
    """A page of batches, the last ones first."""

    batches: tuple[Batch, ...]
    next: str | None = None


@frozen
class ApprovalPost:
    """:ivar approval: an ``Approval``, signed by an approver."""

    approval: str = field(validator=text(SIGNED))


@frozen
class WorkflowStart:
    """:ivar machine: which it is about. :ivar parameters: as the kind of workflow wants them."""

    kind: str = field(validator=name())
    machine: str = field(validator=name())
    parameters: JSON = field(factory=dict)


@frozen
class Step:
    """A step of a workflow. :ivar progress: of its command."""

    number: int
    name: str
    state: StepState
    reason: str
    detail: JSON
    command: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    progress: JSON | None = None


@frozen
class Workflow:
    """
    A workflow.

    :ivar step: number of the one that is under way.
    :ivar steps: where one workflow is asked for.
    """

    id: str
    kind: str
    site: str
    state: WorkflowState
    step: int
    reason: str
    operator: str
    created_at: str
    parameters: JSON
    machine: str | None = None
    finished_at: str | None = None
    steps: tuple[Step, ...] = ()


@frozen
class Workflows:
    """A page of workflows, the last ones first."""

    workflows: tuple[Workflow, ...]
    event: int
    server_time: str
    next: str | None = None
