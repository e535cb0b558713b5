"""
Workflows: what is done to a machine, step by step, and which step comes next.

Everything here is a decision: who carries it out asks again whenever something has changed, and
after a restart, and is told the same. A step that acts is one command; a step that waits looks
for something that others do.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from attrs import frozen

from ..contract.structure import JSON
from .records import Machine, StepState, WorkflowState

#: Seconds that a step may take, where it does not say: from its start to its end.
STEP_SECONDS: Final = 900
#: How long an operator may think about a step that waits for approval.
APPROVAL_SECONDS: Final = 86_400


class WorkflowKind(Enum):
    """What can be done."""

    DEPLOY = "deploy"
    INSPECT = "inspect"
    WIPE = "wipe"
    POWER = "power"
    FIRMWARE = "firmware"


@frozen
class Facts:
    """
    What is known when a decision is made.

    :ivar workflow: its id, which names its boot entry and its join token.
    :ivar epoch: of the site's boot lease, and ``boot_node`` who holds it; 0 and empty: nobody.
    :ivar agents: all site agents of the site, those that are there first.
    :ivar ramdisk: the node that this workflow's ramdisk has joined as; empty: not yet.
    :ivar installed: whether the installed operating system has been seen.
    """

    workflow: str
    subject: Machine
    parameters: JSON
    now: int
    epoch: int = 0
    boot_node: str = ""
    agents: tuple["SiteAgent", ...] = ()
    ramdisk: str = ""
    installed: bool = False


@frozen
class SiteAgent:
    """
    A site agent.

    :ivar there: whether it has a session, and was heard of late.
    :ivar drivers: manifests of those that it hosts, as its last Hello had them.
    """

    node: str
    there: bool = True
    drivers: tuple[JSON, ...] = ()

    def asks(self, driver: str, concern: str) -> bool:
        """:returns: whether it can ask BMCs of ``driver`` for ``concern``."""
        if driver in ("", "redfish"):
            return True
        return any(
            each.get("id") == driver and concern in _list(each.get("concerns"))
            for each in self.drivers
        )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


@frozen
class Order:
    """
    A command to send.

    :ivar secret_refs: what its agent may ask for while it runs.
    :ivar epoch: of the boot lease that its payload names; 0 where it names none.
    """

    node: str
    kind: str
    payload: JSON
    secret_refs: tuple[str, ...] = ()
    epoch: int = 0
    seconds: int = STEP_SECONDS


@frozen
class Step:
    """
    One step of a workflow.

    :ivar order: makes its command; None while whom it is for is not there.
    :ivar refuses: why it cannot be done at all; empty: it can, now or later.
    :ivar until: of a step that waits: whether that has happened.
    :ivar wanted: whether it is done at all, for this machine and these parameters.
    :ivar destructive: whether approvers have to agree, where the trust bundle has any.
    :ivar waits_for: what people read while nothing can be sent.
    :ivar needs_bmc: whether it is for machines with a BMC alone.
    :ivar undo: of a step that leaves something behind: makes of its command the one that takes it
        back, once the workflow is over.
    """

    name: str
    wanted: Callable[[Facts], bool] = lambda facts: True
    order: Callable[[Facts], Order | None] | None = None
    refuses: Callable[[Facts], str] = lambda facts: ""
    until: Callable[[Facts], bool] | None = None
    destructive: bool = False
    waits_for: str = ""
    needs_bmc: bool = False
    seconds: int = STEP_SECONDS
    undo: Callable[[Order], Order] | None = None


@frozen
class Standing:
    """
    A step as it is recorded.

    :ivar reason: why it failed. :ivar started_at: Unix time; None: not begun.
    :ivar epoch: that its command named.
    :ivar command: how that stands: None where none was sent, else whether it ended well.
    """

    state: StepState
    reason: str = ""
    started_at: int | None = None
    command_sent: bool = False
    epoch: int = 0
    command_ok: bool | None = None
    command_code: str = ""
    command_detail: str = ""
    awaits_approval: bool = False


# What to do.


@frozen
class Send:
    """The step's command; it takes the place of an earlier one of the same step."""

    number: int
    order: Order
    destructive: bool


@frozen
class Wait:
    """
    Nothing can be done yet.

    :ivar reason: for people; empty where a command is under way. :ivar until: look again then.
    """

    number: int
    reason: str
    until: int


@frozen
class Conclude:
    """A step is over. :ivar reason: why, where it was not simply done."""

    number: int
    state: StepState
    reason: str = ""


@frozen
class Finish:
    """All of it is over."""

    state: WorkflowState
    reason: str = ""


Decision = Send | Wait | Conclude | Finish


def decide(steps: Sequence[Step], standings: Sequence[Standing], facts: Facts) -> Decision:
    """
    :param standings: of each of ``steps``, in their order.
    :returns: the one thing to do next; asked again once it is done.
    """
    for number, (step, standing) in enumerate(zip(steps, standings, strict=True)):
        if standing.state in (StepState.DONE, StepState.SKIPPED):
            continue
        if standing.state is StepState.FAILED:
            return Finish(WorkflowState.FAILED, f"{step.name}: {standing.reason}")
        again = _boots_again(steps, standings, number, facts)
        if again is not None:
            return again
        return _next(number, step, standing, facts)
    return Finish(WorkflowState.DONE)


def finishing(steps: Sequence[Step], left: Sequence[Order | None], epoch: int) -> tuple[Order, ...]:
    """
    What takes back what a workflow has left behind, however it ended.

    :param left: of each of ``steps`` the command that did it, or may have; None: there is none.
    :param epoch: of the site's boot lease: what was left under another one is dead already.
    """
    return tuple(
        step.undo(order)
        for step, order in zip(steps, left, strict=True)
        if step.undo is not None and order is not None and order.epoch in (0, epoch)
    )


def _next(number: int, step: Step, standing: Standing, facts: Facts) -> Decision:
    started = facts.now if standing.started_at is None else standing.started_at
    allowed = APPROVAL_SECONDS if standing.awaits_approval else step.seconds
    if standing.started_at is None and not step.wanted(facts):
        return Conclude(number, StepState.SKIPPED)
    if standing.command_ok is not None:
        if standing.command_ok:
            return Conclude(number, StepState.DONE)
        reason = f"{standing.command_code}: {standing.command_detail}".rstrip(": ")
        return Conclude(number, StepState.FAILED, reason)
    if step.until is not None and step.until(facts):
        return Conclude(number, StepState.DONE)
    if facts.now >= started + allowed:
        what = step.waits_for
        if standing.awaits_approval:
            what = "nobody approved it"
        elif standing.command_sent:  # it may have died, or its machine started anew
            what = f"{what} never said how it ended"
        return Conclude(number, StepState.FAILED, f"timeout: {what}")
    if standing.command_sent:
        reason = "waits for approval" if standing.awaits_approval else ""
        return Wait(number, reason, started + allowed)
    refused = step.refuses(facts)
    if refused:
        return Conclude(number, StepState.FAILED, refused)
    order = step.order(facts) if step.order is not None else None
    if order is None:
        return Wait(number, f"waits for {step.waits_for}", started + allowed)
    return Send(number, order, step.destructive)


def _boots_again(
    steps: Sequence[Step], standings: Sequence[Standing], number: int, facts: Facts
) -> Send | None:
    """
    The boot lease has moved before the machine's ramdisk joined: its boot entry is bound to the
    epoch under which it was sent, so whoever holds the lease now gets it anew.
    """
    if facts.ramdisk or not facts.epoch:
        return None
    for earlier in range(number):
        step, standing = steps[earlier], standings[earlier]
        if standing.state is StepState.DONE and 0 < standing.epoch < facts.epoch:
            order = step.order(facts) if step.order is not None else None
            return Send(earlier, order, step.destructive) if order is not None else None
    return None
