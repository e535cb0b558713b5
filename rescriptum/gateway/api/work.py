"""Commands, and the batches of those that destroy: what waits, and who has approved it."""

from sqlalchemy import Connection

from ...contract.commands import Approval, Command
from ...contract.joining import TrustBundle
from ...contract.jose import opened
from ...contract.keys import public_keys
from ...contract.refusals import Rejected
from ...contract.structure import parsed, structured
from ..issuing import Issue, approved, issue, needs_approval, released
from ..records import ApprovalRow, Batch, CommandRow, CommandState
from ..stores import batches, commands, events, nodes
from ..stores.rows import MOST
from ..stores.telling import notify
from ..trust import trust
from . import counts
from .call import Call, at, maybe_at
from .shapes.work import (
    ApprovalGiven,
    ApprovalPost,
    Batches,
    Commands,
    CommandSend,
    Waiting,
)
from .shapes.work import Batch as ShownBatch
from .shapes.work import Command as Shown

#: The step of commands that are part of no workflow.
STEP = "operator"


def command_list(connection: Connection, call: Call) -> Commands:
    """Commands, the newest first."""
    page = commands.listing(
        connection,
        call.filters.get("node"),
        call.filters.get("workflow"),
        state=call.one_of("state", CommandState),
        after=call.after,
        limit=call.limit,
    )
    shown = tuple(_command(each, whole=False) for each in page.items)
    return Commands(shown, events.newest(connection), at(call.now), page.next)


def command_send(connection: Connection, call: Call) -> Shown:
    """Send a command to a node; one that destroys waits for its approvers, where there are any."""
    sent = call.sent(CommandSend)
    node = nodes.get(connection, sent.node)
    if node.removed_at is not None:
        raise Rejected("not-found", f"node {node.id} was removed")
    if node.kinds and sent.kind not in node.kinds:
        raise Rejected("unknown-kind", f"{node.id} runs {', '.join(node.kinds)}"[:500])
    batch = None
    if needs_approval(sent.kind, trust(connection)):
        batch = call.new_id()
        about = sent.about or f"{sent.kind} on {node.id}"
        batches.create(connection, Batch(batch, call.now, about))
    new = call.new_id()
    wanted = Issue(
        id=new,
        node=node.id,
        kind=sent.kind,
        payload=sent.payload,
        workflow=new,
        step=STEP,
        life=sent.lifetime_s,
        secret_refs=sent.secret_refs,
        attested=sent.attested,
        batch=batch,
    )
    made = issue(connection, wanted, call.means.worker(), call.now)
    call.changed(connection, "command.sent", new, node.site, node=node.id, kind=sent.kind)
    return _command(made, whole=True)


def command_show(connection: Connection, call: Call) -> Shown:
    """One command, with its payload."""
    return _command(commands.get(connection, call.name), whole=True)


def command_revoke(connection: Connection, call: Call) -> Shown:
    """Take a command back, if it has not begun."""
    commands.revoke(connection, call.name, call.now)
    row = commands.get(connection, call.name)
    site = nodes.get(connection, row.node).site
    call.changed(connection, "command.revoked", row.id, site, node=row.node)
    return _command(row, whole=True)


def batch_list(connection: Connection, call: Call) -> Batches:
    """What waits for approval."""
    if call.filters.get("state", CommandState.WAITING.value) != CommandState.WAITING.value:
        raise Rejected("invalid-message", "state: only 'waiting' narrows it")
    if "state" in call.filters:
        page = counts.waiting_batches(connection, call.after, call.limit)
    else:
        page = batches.listing(connection, call.after, call.limit)
    bundle = trust(connection)
    shown = tuple(_batch(connection, each, bundle, call.now) for each in page.items)
    return Batches(shown, page.next)


def batch_show(connection: Connection, call: Call) -> ShownBatch:
    """What a batch would do, with the digests that approvers sign."""
    found = batches.get(connection, call.name)
    return _batch(connection, found, trust(connection), call.now)


def approve(connection: Connection, call: Call) -> ShownBatch:
    """Hand in an approval; what has its quorum by it is on its way."""
    batch = batches.get(connection, call.name)
    bundle = trust(connection)
    text = call.sent(ApprovalPost).approval
    signed = opened("approval", text, public_keys(bundle.approvers, "Ed25519"))
    said = structured(Approval, signed.claims)
    if said.batch != batch.id:
        raise Rejected("conflict", f"the approval is of batch {said.batch}")
    if said.not_after <= call.now:
        raise Rejected("stale", f"the approval ended at {at(said.not_after)}")
    waiting = [each for each in _of(connection, batch) if each.state is CommandState.WAITING]
    if not {each.digest for each in waiting}.intersection(said.command_digests):
        raise Rejected("conflict", "the approval lists no command of the batch that still waits")
    row = ApprovalRow(batch.id, signed.kid, text, said.not_after, call.now)
    batches.approve(connection, row)
    worker = call.means.worker()
    # What is part of a workflow is sent when its turn comes, by whoever carries that on.
    own = [each for each in waiting if each.workflow == each.id]
    sent = [each.id for each in own if released(connection, each, bundle, worker, call.now)]
    notify(connection, "workflows", batch.id)
    call.changed(connection, "batch.approved", batch.id, None, approver=signed.kid, released=sent)
    return _batch(connection, batch, bundle, call.now)


def _of(connection: Connection, batch: Batch) -> tuple[CommandRow, ...]:
    return commands.listing(connection, batch=batch.id, limit=MOST).items


def _batch(connection: Connection, batch: Batch, bundle: TrustBundle, now: int) -> ShownBatch:
    rows = _of(connection, batch)
    waiting = [each for each in rows if each.state is CommandState.WAITING]
    return ShownBatch(
        batch.id,
        at(batch.created_at),
        batch.about,
        max(1, bundle.quorum),
        all(approved(connection, each, bundle, now) for each in waiting),
        tuple(
            Waiting(
                each.id,
                each.digest,
                each.claims.decode("ascii"),
                each.node,
                each.kind,
                _claims(each).payload,
                each.state,
                at(each.not_after),
            )
            for each in rows
        ),
        tuple(
            ApprovalGiven(each.approver, at(each.given_at), at(each.not_after))
            for each in batches.approvals_of(connection, batch.id)
        ),
    )


def _claims(row: CommandRow) -> Command:
    return structured(Command, parsed(row.claims))


def _command(row: CommandRow, whole: bool) -> Shown:
    return Shown(
        row.id,
        row.node,
        row.kind,
        row.state,
        row.workflow,
        row.step,
        row.digest,
        row.attested,
        row.secret_refs,
        at(row.issued_at),
        at(row.not_after),
        row.batch,
        maybe_at(row.delivered_at),
        maybe_at(row.journalled_at),
        maybe_at(row.finished_at),
        row.progress,
        row.result,
        _claims(row).payload if whole else None,
        row.attestation if whole else None,
    )
