"""
What must not be done to a machine now, whoever wants it: its power is not taken away while its
disks are being erased. A drive that loses power within an erase may lock itself for good (W230).
"""

from typing import Final

from sqlalchemy import Connection, func, select

from ..contract.bmc import PowerAction
from ..contract.kinds import KINDS
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from .stores import tables

#: Seconds after which a wipe of which nothing was heard is over: its workflow waits no longer.
WIPE_SECONDS: Final = 6 * 3600

_WIPES: Final = KINDS["disk.wipe"].name


def check(connection: Connection, node: str, kind: str, payload: JSON, now: int) -> None:
    """
    :param node: that is to run a command of ``kind`` with ``payload``.
    :raises Rejected: ``conflict`` when it takes the power of a machine away that wipes its disks.
    """
    if not _takes_power(kind, payload):
        return
    machine = _wiping(connection, node, str(payload.get("address", "")), now)
    if machine is not None:
        raise Rejected(
            "conflict",
            f"the disks of {machine} are being wiped, and a drive that loses its power meanwhile"
            " may lock itself; if that ramdisk is gone, remove its node",
        )


def _takes_power(kind: str, payload: JSON) -> bool:
    """:returns: also of what takes it as a part of something else: new firmware restarts."""
    operation, args = payload.get("operation"), payload.get("args")
    if kind == "bmc.firmware":
        return operation == "firmware.update"
    action = args.get("action") if isinstance(args, dict) else None
    return kind == "bmc.power" and (
        operation == "power.setPower" and action != PowerAction.ON.value
    )


def _wiping(connection: Connection, node: str, address: str, now: int) -> str | None:
    """:returns: a machine with its BMC there, at the site of ``node``, that wipes its disks."""
    commands, machines, nodes, workflows = (
        tables.commands,
        tables.machines,
        tables.nodes,
        tables.workflows,
    )
    site = select(nodes.c.site).where(nodes.c.id == node).scalar_subquery()
    ran = (
        commands.join(nodes, nodes.c.id == commands.c.node)
        .outerjoin(workflows, workflows.c.id == commands.c.workflow)
        .join(
            machines,
            (machines.c.name == workflows.c.machine) | (machines.c.name == nodes.c.machine),
        )
    )
    statement = (
        select(machines.c.name)
        .select_from(ran)
        .where(
            (machines.c.site == site)
            & (func.lower(machines.c.bmc_address) == address.lower())
            & (commands.c.kind == _WIPES)
            & (commands.c.delivered_at.is_not(None) | commands.c.journalled_at.is_not(None))
            & (commands.c.finished_at.is_(None))
            & (commands.c.issued_at > now - WIPE_SECONDS)
            & nodes.c.removed_at.is_(None)
        )
        .limit(1)
    )
    return connection.execute(statement).scalar_one_or_none()
