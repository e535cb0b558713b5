"""What is left to do when a workflow is over, however it came to that."""

from contextlib import suppress

from sqlalchemy import Connection

from ..contract.refusals import Rejected
from ..contract.structure import JSON
from .issuing import Issue, issue
from .means import Means
from .plans import WORKFLOWS, token_ref
from .records import Workflow
from .standings import left
from .stores import commands, events, leases, secrets, workflows
from .workflows import WorkflowKind, finishing


def cancel(means: Means, connection: Connection, workflow: str, reason: str, now: int) -> bool:
    """
    End it, and take back what its agents have not begun.

    :returns: whether it ended by this. :raises Rejected: ``not-found``.
    """
    ended = workflows.cancel(connection, workflow, reason, now)
    if ended:
        over(connection, means, workflows.get(connection, workflow), now)
    return ended


def over(connection: Connection, means: Means, row: Workflow, now: int) -> None:
    """
    A workflow is over: nothing more of it is run, nobody joins by its token, and what it has left
    behind at its site is taken back.
    """
    for command in commands.listing(connection, workflow=row.id).items:
        if not command.state.finished:
            commands.revoke(connection, command.id, now)
    with suppress(Rejected):  # not every workflow has one
        secrets.remove(connection, token_ref(row.id))
    steps = WORKFLOWS[WorkflowKind(row.kind)]
    behind = left(connection, workflows.steps(connection, row.id))
    for order in finishing(steps, behind, leases.read(connection, row.site).epoch):
        wanted = Issue(
            id=means.new_id(),
            node=order.node,
            kind=order.kind,
            payload=order.payload,
            workflow=row.id,
            step=order.kind,
            life=order.seconds,
        )
        try:
            issue(connection, wanted, means.worker(), now)
        except Rejected as e:
            # It lapses by itself; until then the machine would boot what is over.
            data: JSON = {"machine": row.machine, "kind": order.kind, "reason": str(e)}
            events.append(connection, "workflow.left", row.site, row.id, data, now)
