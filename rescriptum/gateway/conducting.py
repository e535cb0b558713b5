"""Workflows are carried on here, each decision journalled with what it does."""

from typing import Final

from attrs import evolve
from sqlalchemy import Connection

from ..contract.commands import LONGEST_LIFE
from ..contract.joining import Role
from ..contract.kinds import destructive
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from .ending import over
from .issuing import Issue, issue, needs_approval, released
from .means import Means
from .plans import ENTRY_SECONDS, WORKFLOWS, token_ref
from .records import Batch, CommandRow, CommandState, StepState, Workflow, WorkflowState
from .records import WorkflowStep as StepRow
from .standings import facts, standings
from .stores import batches, commands, events, secrets, tokens, workflows
from .trust import trust
from .workflows import (
    Conclude,
    Facts,
    Finish,
    Order,
    Send,
    Step,
    Wait,
    WorkflowKind,
    decide,
)

#: Decisions of one workflow in one transaction.
_AT_ONCE: Final = 32


def carry_on(connection: Connection, means: Means, workflow: str, now: int) -> None:
    """
    Do what is to be done for ``workflow``, until it has to wait or is over: in one transaction
    with the record of it, so that whoever comes after sees all of a decision or nothing.
    """
    for _ in range(_AT_ONCE):
        row = workflows.get(connection, workflow)
        if row.state is not WorkflowState.RUNNING or row.process != means.process:
            return
        if not _Carrier(connection, means, row, now).step():
            return


class _Carrier:
    """One decision about one workflow."""

    def __init__(self, connection: Connection, means: Means, row: Workflow, now: int) -> None:
        self._connection = connection
        self._means = means
        self._row = row
        self._now = now
        self._rows = workflows.steps(connection, row.id)
        self._steps = WORKFLOWS[WorkflowKind(row.kind)]

    def step(self) -> bool:
        """:returns: whether there may be more to do."""
        try:
            known = facts(self._connection, self._row, self._now)
        except Rejected as e:
            self._finish(Finish(WorkflowState.FAILED, str(e)))
            return False
        self._release()
        standing = standings(self._connection, self._rows)
        decision = decide(self._steps, standing, known)
        if isinstance(decision, Finish):
            self._finish(decision)
            return False
        if isinstance(decision, Conclude):
            return self._conclude(decision)
        if isinstance(decision, Send):
            return self._send(decision, known)
        self._wait(decision)
        return False

    def _release(self) -> None:
        """Approvals may have come for the step that is under way."""
        name = self._rows[self._row.step].command if self._row.step < len(self._rows) else None
        if name is None:
            return
        row = commands.get(self._connection, name)
        if row.state is CommandState.WAITING:
            bundle = trust(self._connection)
            released(self._connection, row, bundle, self._means.worker(), self._now)

    def _finish(self, decision: Finish) -> None:
        row = self._row
        at = row.step
        if workflows.finish(
            self._connection,
            row.id,
            self._means.process,
            at,
            decision.state,
            decision.reason,
            self._now,
        ):
            over(self._connection, self._means, row, self._now)
            data: JSON = {"kind": row.kind, "machine": row.machine, "reason": decision.reason}
            self._say(f"workflow.{decision.state.value}", row.id, data)

    def _conclude(self, decision: Conclude) -> bool:
        row = evolve(
            self._begun(decision.number),
            state=decision.state,
            reason=decision.reason,
            finished_at=self._now,
        )
        if not workflows.update_step(self._connection, self._means.process, row):
            return False
        self._tell(row)
        if decision.state is StepState.FAILED:
            return True
        return workflows.advance(
            self._connection, self._row.id, self._means.process, decision.number
        )

    def _send(self, decision: Send, known: Facts) -> bool:
        number, order = decision.number, decision.order
        if order.kind == "boot.prepareRamdisk":
            self._token()
        try:
            command = self._issued(number, order, known)
        except Rejected as e:
            return self._conclude(Conclude(number, StepState.FAILED, str(e)))
        row = evolve(
            self._begun(number),
            state=StepState.RUNNING,
            command=command.id,
            detail={"epoch": order.epoch} if order.epoch else {},
            reason="waits for approval" if command.state is CommandState.WAITING else "",
            finished_at=None,
        )
        if number < self._row.step:
            # The step was done, and is done again for another holder of the lease.
            row = evolve(row, state=StepState.DONE, finished_at=self._now)
        if not workflows.revise_step(self._connection, self._means.process, row):
            return False
        self._tell(row)
        return True

    def _issued(self, number: int, order: Order, known: Facts) -> CommandRow:
        drafted = self._drafted(self._steps[number].name)
        if drafted is not None:
            return drafted
        batch = None
        if needs_approval(order.kind, trust(self._connection)):
            batch = self._batch()
            for later in self._steps[number + 1 :]:
                self._draft(later, known, batch)
        return self._issue(order, self._steps[number].name, batch)

    def _draft(self, step: Step, known: Facts, batch: str) -> None:
        """Whoever approves approves all of a workflow at once, so later steps are drafted too."""
        if step.order is None or not step.wanted(known):
            return
        order = step.order(known)
        if order is not None and destructive(order.kind):
            self._issue(order, step.name, batch)

    def _issue(self, order: Order, step: str, batch: str | None) -> CommandRow:
        wanted = Issue(
            id=self._means.new_id(),
            node=order.node,
            kind=order.kind,
            payload=order.payload,
            workflow=self._row.id,
            step=step,
            life=order.seconds if batch is None else LONGEST_LIFE,
            secret_refs=order.secret_refs,
            batch=batch,
        )
        return issue(self._connection, wanted, self._means.worker(), self._now)

    def _drafted(self, step: str) -> CommandRow | None:
        """:returns: the step's command, where it was drafted with an earlier one."""
        known = commands.listing(self._connection, workflow=self._row.id, batch=self._row.id)
        return next((each for each in known.items if each.step == step), None)

    def _batch(self) -> str:
        """:returns: the workflow's: it goes by the same name."""
        about = f"{self._row.kind} {self._row.machine}, asked for by {self._row.operator}"
        batches.create(self._connection, Batch(self._row.id, self._now, about))
        return self._row.id

    def _token(self) -> None:
        """The ramdisk joins by a token that the site agent fetches for it; one a workflow."""
        name = token_ref(self._row.id)
        try:
            secrets.get(self._connection, name)
            return
        except Rejected:
            pass
        token, _ = tokens.create(
            self._connection,
            self._row.site,
            Role.RAMDISK,
            self._now,
            self._means.new_token,
            ENTRY_SECONDS,
            self._row.machine,
            self._row.id,
        )
        secrets.put(self._connection, name, self._means.seal(name, token.encode()), self._now)

    def _wait(self, decision: Wait) -> None:
        row = self._begun(decision.number)
        waiting = evolve(row, state=StepState.RUNNING, reason=decision.reason)
        if waiting != self._rows[decision.number]:
            workflows.update_step(self._connection, self._means.process, waiting)
            self._tell(waiting)

    def _begun(self, number: int) -> StepRow:
        row = self._rows[number]
        return row if row.started_at is not None else evolve(row, started_at=self._now)

    def _tell(self, row: StepRow) -> None:
        data: JSON = {
            "number": row.number,
            "step": row.name,
            "state": row.state.value,
            "reason": row.reason,
            "command": row.command,
            "machine": self._row.machine,
        }
        self._say("workflow.step", row.workflow, data)

    def _say(self, kind: str, subject: str, data: JSON) -> None:
        events.append(self._connection, kind, self._row.site, subject, data, self._now)
