"""Commands are issued here, whoever wants them: drafted, approved where they destroy, signed."""

from attrs import frozen
from sqlalchemy import Connection

from ..contract.commands import Approval, Command
from ..contract.joining import TrustBundle
from ..contract.jose import opened
from ..contract.keys import public_keys
from ..contract.kinds import attested, destructive
from ..contract.refusals import Rejected
from ..contract.structure import JSON, structured
from . import interlock
from .records import ApprovalRow, CommandRow, CommandState
from .signing import Draft, Worker, enveloped
from .stores import batches, commands


@frozen(kw_only=True)
class Issue:
    """
    A command to issue.

    :ivar workflow: and ``step``: what it is part of.
    :ivar secret_refs: what its agent may ask for while it runs.
    :ivar life: seconds after which it is not to be run any more.
    :ivar batch: what has to be approved before it is sent; None: nothing has.
    """

    id: str
    node: str
    kind: str
    payload: JSON
    workflow: str
    step: str
    life: int
    secret_refs: tuple[str, ...] = ()
    attested: bool = False
    batch: str | None = None


def needs_approval(kind: str, bundle: TrustBundle) -> bool:
    """:returns: whether agents that were given ``bundle`` refuse it without approvals."""
    return destructive(kind) and bool(bundle.command_roots or bundle.approvers)


def issue(connection: Connection, wanted: Issue, worker: Worker | None, now: int) -> CommandRow:
    """
    :param worker: who signs; None: it travels unsigned.
    :returns: on its way, or waiting for the approval of its batch.
    :raises Rejected: as :func:`rescriptum.gateway.stores.commands.add`, as signing does, and
        ``conflict`` as the interlock does.
    """
    interlock.check(connection, wanted.node, wanted.kind, wanted.payload, now)
    signed = wanted.attested or attested(wanted.kind)
    command = Command(
        wanted.id,
        wanted.node,
        wanted.kind,
        wanted.payload,
        wanted.workflow,
        wanted.step,
        now,
        now + wanted.life,
        signed,
    )
    draft = Draft.of(command)
    row = CommandRow(
        wanted.id,
        wanted.node,
        wanted.kind,
        wanted.workflow,
        wanted.step,
        draft.octets,
        draft.digest,
        enveloped(draft, worker, now),
        now,
        command.not_after,
        wanted.batch,
        signed,
        wanted.secret_refs,
        CommandState.QUEUED if wanted.batch is None else CommandState.WAITING,
    )
    commands.add(connection, row)
    return row


def approved(
    connection: Connection, row: CommandRow, bundle: TrustBundle, now: int
) -> tuple[str, ...]:
    """:returns: its batch's approvals of this very command; nothing, where they are too few."""
    if row.batch is None:
        return ()
    good = tuple(
        each.signed
        for each in batches.approvals_of(connection, row.batch)
        if each.not_after > now and row.digest in _digests(each, bundle)
    )
    return good if len(good) >= max(1, bundle.quorum) else ()


def released(
    connection: Connection, row: CommandRow, bundle: TrustBundle, worker: Worker | None, now: int
) -> bool:
    """
    Send a command that waits, once as many approvers as it needs have approved this very one.

    :returns: whether it is on its way by this.
    """
    good = approved(connection, row, bundle, now)
    if not good:
        return False
    envelope = enveloped(Draft.stored(row.claims), worker, now, good)
    return commands.approved(connection, row.id, envelope)


def _digests(approval: ApprovalRow, bundle: TrustBundle) -> tuple[str, ...]:
    """:returns: of nothing, where the approver is none any more."""
    try:
        signed = opened("approval", approval.signed, public_keys(bundle.approvers, "Ed25519"))
        return structured(Approval, signed.claims).command_digests
    except Rejected:
        return ()
