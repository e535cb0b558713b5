"""
What must not be done to a machine now, whoever wants it: its power is not taken away while its
disks are being erased. A drive that loses power within an erase may lock itself for good (W230).
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, func, null, select

from ..contract.bmc import LONGEST_SECONDS, PowerAction
from ..contract.kinds import KINDS
from ..contract.places import place
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from .records import CommandRow, CommandState
from .signing import Draft
from .stores import commands, tables

#: Seconds after which a wipe of which nothing was heard is over: its workflow waits no longer.
WIPE_SECONDS: Final = 6 * 3600
#: Seconds after which a BMC is asked no more for what a site agent was sent: it may wait for its
#: image, and for the others that ask the same BMC.
POWER_SECONDS: Final = 3 * LONGEST_SECONDS

_WIPES: Final = KINDS["disk.wipe"].name
_POWERS: Final = (KINDS["bmc.power"].name, KINDS["bmc.firmware"].name)
#: Of what may be under way without a result: also what the gateway has given up by itself.
_OPEN: Final = sorted(
    each.value
    for each in (
        CommandState.DELIVERED,
        CommandState.JOURNALLED,
        CommandState.REVOKED,
        CommandState.EXPIRED,
    )
)


def check(connection: Connection, node: str, kind: str, payload: JSON, now: int) -> None:
    """
    :param node: that is to run a command of ``kind`` with ``payload``.
    :raises Rejected: ``conflict`` when it takes the power of a machine away that wipes its disks.
    """
    if not _takes_power(kind, payload):
        return
    machine = _wiping(connection, node, payload, now)
    if machine is not None:
        raise Rejected(
            "conflict",
            f"the disks of {machine} are being wiped, and a drive that loses its power meanwhile"
            " may lock itself; if that ramdisk is gone, remove its node",
        )


def held(connection: Connection, rows: Sequence[CommandRow], now: int) -> set[str]:
    """
    :param rows: about to be sent. They may have been issued when nothing stood against them.
    :returns: ids of those that must not be yet: what takes the power of a machine that wipes its
        disks, and a wipe while a BMC may still be asked to take the power of its machine. What
        their agents may have already is none of them; what is let pass counts as sent at once.
    """
    asked = [
        (row, Draft.stored(row.claims).command.payload)
        for row in rows
        if row.state is CommandState.QUEUED and row.kind in (_WIPES, *_POWERS)
    ]
    asked = [
        (row, told) for row, told in asked if row.kind == _WIPES or _takes_power(row.kind, told)
    ]
    if not asked:
        return set()
    _lock(connection, sorted({row.node for row, _ in asked}))
    found = set()
    for row, told in sorted(asked, key=lambda each: (each[0].issued_at, each[0].id)):
        if row.kind == _WIPES:
            against = _powering(connection, row, now)
        else:
            against = _wiping(connection, row.node, told, now) is not None
        if against:
            found.add(row.id)
        else:
            commands.delivered(connection, [row.id], now)
    return found


def _lock(connection: Connection, nodes: Sequence[str]) -> None:
    """Of two processes that send to one site, one sees what the other has sent."""
    mine = select(tables.nodes.c.site).where(tables.nodes.c.id.in_(nodes))
    row = select(tables.sites.c.name).where(tables.sites.c.name.in_(mine))
    connection.execute(row.order_by(tables.sites.c.name).with_for_update(key_share=True)).all()


def _takes_power(kind: str, payload: JSON) -> bool:
    """:returns: also of what takes it as a part of something else: new firmware restarts."""
    operation, args = payload.get("operation"), payload.get("args")
    if kind == "bmc.firmware":
        return operation == "firmware.update"
    action = args.get("action") if isinstance(args, dict) else None
    return kind == "bmc.power" and (
        operation == "power.setPower" and action != PowerAction.ON.value
    )


def _under_way(site: Select[tuple[str]], seconds: int, now: int) -> ColumnElement[bool]:
    """:returns: of commands that nodes of a site were sent, and may be running."""
    sent, nodes = tables.commands, tables.nodes
    since = func.coalesce(sent.c.journalled_at, sent.c.delivered_at)
    return (
        (nodes.c.site == site.scalar_subquery())
        & nodes.c.removed_at.is_(None)
        & sent.c.state.in_(_OPEN)
        & sent.c.result.is_(null())
        & (since > now - seconds)
    )


def _wiping(connection: Connection, node: str, payload: JSON, now: int) -> str | None:
    """:returns: a machine with its BMC there, at the site of ``node``, that wipes its disks."""
    asked = place(str(payload.get("address", "")))
    sent, machines, nodes, workflows = (
        tables.commands,
        tables.machines,
        tables.nodes,
        tables.workflows,
    )
    site = select(nodes.c.site).where(nodes.c.id == node)
    ran = (
        sent.join(nodes, nodes.c.id == sent.c.node)
        .outerjoin(workflows, workflows.c.id == sent.c.workflow)
        .join(
            machines,
            (machines.c.name == workflows.c.machine) | (machines.c.name == nodes.c.machine),
        )
    )
    statement = (
        select(machines.c.name, machines.c.bmc_address)
        .select_from(ran)
        .where(
            (machines.c.site == site.scalar_subquery())
            & (sent.c.kind == _WIPES)
            & _under_way(site, WIPE_SECONDS, now)
        )
    )
    found = connection.execute(statement).all()
    return next((name for name, address in found if address and place(address) == asked), None)


def _powering(connection: Connection, wipe: CommandRow, now: int) -> bool:
    """:returns: whether an agent of its site may be about to take the power of its machine."""
    sent, machines, nodes, workflows = (
        tables.commands,
        tables.machines,
        tables.nodes,
        tables.workflows,
    )
    mine = select(workflows.c.machine).where(workflows.c.id == wipe.workflow)
    own = select(nodes.c.machine).where(nodes.c.id == wipe.node)
    named = machines.c.name.in_(mine) | machines.c.name.in_(own)
    addresses = connection.execute(select(machines.c.bmc_address).where(named)).scalars()
    places = {place(each) for each in addresses if each}
    if not places:
        return False
    site = select(nodes.c.site).where(nodes.c.id == wipe.node)
    statement = (
        select(sent.c.kind, sent.c.claims)
        .select_from(sent.join(nodes, nodes.c.id == sent.c.node))
        .where(sent.c.kind.in_(_POWERS) & _under_way(site, POWER_SECONDS, now))
    )
    for kind, claims in connection.execute(statement):
        told = Draft.stored(claims).command.payload
        if _takes_power(kind, told) and place(str(told.get("address", ""))) in places:
            return True
    return False
