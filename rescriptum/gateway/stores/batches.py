"""Batches: destructive commands that are approved together, and who has approved."""

from sqlalchemy import Connection, select

from ...contract.bounds import SENTENCE, SIGNED
from ...contract.refusals import Rejected
from ..records import ApprovalRow, Batch, Page
from .rows import LIMIT, added, columns, counted, every, named, newest, one, put, there
from .tables import approvals, batches

#: Approvers of one batch.
MOST = 64


def create(connection: Connection, batch: Batch) -> None:
    """:raises Rejected: ``conflict``, ``invalid-message``."""
    named("batch", batch.id)
    if len(batch.about) > SENTENCE:
        raise Rejected("too-large", f"about: more than {SENTENCE} characters")
    added(connection, batches, columns(batch), f"batch {batch.id}")


def get(connection: Connection, batch: str) -> Batch:
    """:raises Rejected: ``not-found``."""
    return there(
        one(connection, Batch, select(batches).where(batches.c.id == batch)), "batch", batch
    )


def listing(connection: Connection, after: str = "", limit: int = LIMIT) -> Page[Batch]:
    """:returns: the newest first."""
    at, key = batches.c.created_at, batches.c.id
    return newest(connection, Batch, select(batches), at, key, after, limit)


def approve(connection: Connection, approval: ApprovalRow) -> None:
    """
    The last approval of each approver counts.

    :raises Rejected: ``not-found``, ``too-large``.
    """
    if len(approval.signed) > SIGNED:
        raise Rejected("too-large", f"signed: more than {SIGNED} characters")
    locked = select(batches.c.id).where(batches.c.id == approval.batch).with_for_update()
    there(connection.execute(locked).scalar_one_or_none(), "batch", approval.batch)
    others = (approvals.c.batch == approval.batch) & (approvals.c.approver != approval.approver)
    if counted(connection, approvals, others) >= MOST:
        raise Rejected("too-large", f"more than {MOST} approvers")
    put(connection, approvals, ["batch", "approver"], columns(approval))


def approvals_of(connection: Connection, batch: str) -> list[ApprovalRow]:
    """:returns: one an approver, in the order in which they came."""
    statement = select(approvals).where(approvals.c.batch == batch)
    order = statement.order_by(approvals.c.given_at, approvals.c.approver).limit(MOST)
    return every(connection, ApprovalRow, order)
