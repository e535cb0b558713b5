"""Machines: what is at a site, by which addresses it boots, and how its BMC is reached."""

from collections.abc import Sequence

from attrs import evolve
from sqlalchemy import Connection, RowMapping, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ...contract.refusals import Rejected
from ...values import MAC
from ..records import Machine, Page
from . import discovered
from .rows import LIMIT, added, bounded, columns, counted, made, named, paged, removed, there
from .tables import machine_macs, machines, nodes, workflows

#: Addresses of one machine; characters of a BMC's address; bytes of labels as JSON.
MOST_MACS, ADDRESS, LABELS = 32, 255, 16 * 1024


def create(connection: Connection, machine: Machine, now: int) -> Machine:
    """
    Its addresses are discovered no more.

    :returns: as it is kept.
    :raises Rejected: ``conflict`` for a name or an address that is taken; ``in-use`` where there
        is no such site; ``invalid-message``, ``too-large``.
    """
    machine = evolve(_checked(machine), created_at=now, revision=1)
    added(connection, machines, _values(machine), f"machine {machine.name}")
    _address(connection, machine)
    return machine


def get(connection: Connection, name: str) -> Machine:
    """:raises Rejected: ``not-found``."""
    found = connection.execute(select(machines).where(machines.c.name == name)).mappings().all()
    return there(next(iter(_made(connection, found)), None), "machine", name)


def listing(
    connection: Connection, site: str | None = None, after: str = "", limit: int = LIMIT
) -> Page[Machine]:
    """:returns: by name."""
    statement = select(machines)
    if site is not None:
        statement = statement.where(machines.c.site == site)
    rows, following = paged(connection, statement, machines.c.name, after, limit)
    return Page(_made(connection, rows), following)


def change(connection: Connection, machine: Machine) -> Machine:
    """
    :param machine: as it is to be, with the revision that was read.
    :returns: as it is kept.
    :raises Rejected: ``conflict`` where it has changed meanwhile, or an address is taken;
        ``not-found``; ``in-use`` where there is no such site.
    """
    machine = _checked(machine)
    before = get(connection, machine.name)
    after = evolve(machine, created_at=before.created_at, revision=machine.revision + 1)
    same = (machines.c.name == machine.name) & (machines.c.revision == machine.revision)
    try:
        changed = connection.execute(update(machines).where(same).values(_values(after))).rowcount
    except IntegrityError:
        raise Rejected("in-use", f"there is no site {machine.site!r}") from None
    if not changed:
        text = f"machine {machine.name} is at revision {before.revision}"
        raise Rejected("conflict", text)
    connection.execute(delete(machine_macs).where(machine_macs.c.machine == machine.name))
    _address(connection, after)
    return after


def remove(connection: Connection, name: str) -> None:
    """:raises Rejected: ``not-found``; ``in-use`` while a node or a workflow is about it."""
    there(
        connection.execute(
            select(machines.c.name).where(machines.c.name == name).with_for_update()
        ).scalar_one_or_none(),
        "machine",
        name,
    )
    running = (workflows.c.machine == name) & workflows.c.finished_at.is_(None)
    if counted(connection, workflows, running):
        raise Rejected("in-use", f"a workflow is about machine {name}")
    if counted(connection, nodes, nodes.c.machine == name, nodes.c.removed_at.is_(None)):
        raise Rejected("in-use", f"a node runs on machine {name}")
    connection.execute(delete(machine_macs).where(machine_macs.c.machine == name))
    removed(connection, machines, machines.c.name == name, f"machine {name}")


def _checked(machine: Machine) -> Machine:
    """:returns: with its addresses in the spelling that is kept."""
    named("machine", machine.name)
    if not machine.bmc_address.isprintable() or len(machine.bmc_address) > ADDRESS:
        raise Rejected("invalid-message", f"bmc_address: not up to {ADDRESS} characters")
    if len(machine.macs) > MOST_MACS:
        raise Rejected("too-large", f"macs: more than {MOST_MACS}")
    bounded("labels", machine.labels, LABELS)
    return evolve(machine, macs=tuple(dict.fromkeys(_mac(each) for each in machine.macs)))


def _mac(text: str) -> str:
    try:
        return str(MAC.parse(text))
    except ValueError as e:
        raise Rejected("invalid-message", str(e)[:100]) from None


def _values(machine: Machine) -> dict[str, object]:
    values = columns(machine)
    del values["macs"]
    return values


def _made(connection: Connection, rows: Sequence[RowMapping]) -> tuple[Machine, ...]:
    names = [str(row["name"]) for row in rows]
    statement = (
        select(machine_macs.c.machine, machine_macs.c.mac)
        .where(machine_macs.c.machine.in_(names))
        .order_by(machine_macs.c.position)
    )
    macs: dict[str, list[str]] = {name: [] for name in names}
    for name, mac in connection.execute(statement):
        macs[name].append(mac)
    return tuple(made(Machine, {**row, "macs": macs[str(row["name"])]}) for row in rows)


def _address(connection: Connection, machine: Machine) -> None:
    taken = select(machine_macs.c.mac, machine_macs.c.machine)
    for mac, other in connection.execute(taken.where(machine_macs.c.mac.in_(machine.macs))):
        raise Rejected("conflict", f"{mac} is an address of machine {other}")
    for position, mac in enumerate(machine.macs):
        row = {"mac": mac, "machine": machine.name, "position": position}
        try:
            connection.execute(insert(machine_macs).values(row))
        except IntegrityError:  # taken between the question and now
            raise Rejected("conflict", f"{mac} is an address of another machine") from None
        discovered.forget(connection, machine.site, mac)
