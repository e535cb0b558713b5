"""Machines: what is at a site, by which addresses it boots, and how its BMC is reached."""

from collections.abc import Collection, Sequence

from attrs import evolve
from sqlalchemy import Column, Connection, RowMapping, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ...contract.bounds import is_name
from ...contract.refusals import Rejected
from ...contract.specs import ProxyTarget
from ...values import MAC
from ..records import Machine, Page
from . import discovered
from .rows import LIMIT, added, bounded, columns, counted, made, named, paged, removed, there
from .tables import machine_addresses, machine_macs, machines, nodes, workflows
from .telling import notify

#: Addresses of one machine; characters of a BMC's address; bytes of labels as JSON.
MOST_MACS, ADDRESS, LABELS = 32, 255, 16 * 1024
#: What requests may be made to: hosts of one machine, and of a whole site.
MOST_HOSTS, MOST_OF_SITE = 16, 512


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
    _reach(connection, machine)
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


def targets(connection: Connection, sites: Collection[str]) -> dict[str, tuple[ProxyTarget, ...]]:
    """
    :param sites: by name.
    :returns: what requests may be made to at each, by name; in one query.
    """
    statement = (
        select(machines.c.site, machines.c.name, machine_addresses.c.address)
        .join(machine_addresses, machine_addresses.c.machine == machines.c.name)
        .where(machines.c.site.in_(sorted(sites)))
        .order_by(machines.c.name, machine_addresses.c.position)
    )
    found: dict[str, dict[str, list[str]]] = {site: {} for site in sites}
    for site, name, address in connection.execute(statement):
        found[site].setdefault(name, []).append(address)
    return {
        site: tuple(ProxyTarget(name, tuple(hosts)) for name, hosts in theirs.items())
        for site, theirs in found.items()
    }


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
    if (after.addresses, after.site) != (before.addresses, before.site):
        _unreach(connection, before)
        _reach(connection, after)
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
    _unreach(connection, get(connection, name))
    removed(connection, machines, machines.c.name == name, f"machine {name}")


def _checked(machine: Machine) -> Machine:
    """:returns: with its addresses in the spelling that is kept."""
    named("machine", machine.name)
    if not machine.bmc_address.isprintable() or len(machine.bmc_address) > ADDRESS:
        raise Rejected("invalid-message", f"bmc_address: not up to {ADDRESS} characters")
    if len(machine.macs) > MOST_MACS:
        raise Rejected("too-large", f"macs: more than {MOST_MACS}")
    if len(machine.addresses) > MOST_HOSTS:
        raise Rejected("too-large", f"addresses: more than {MOST_HOSTS}")
    for each in machine.addresses:
        if not is_name(each):
            raise Rejected("invalid-message", "addresses: each a host name, or an IP address")
    bounded("labels", machine.labels, LABELS)
    return evolve(
        machine,
        macs=tuple(dict.fromkeys(_mac(each) for each in machine.macs)),
        addresses=tuple(dict.fromkeys(machine.addresses)),
    )


def _mac(text: str) -> str:
    try:
        return str(MAC.parse(text))
    except ValueError as e:
        raise Rejected("invalid-message", str(e)[:100]) from None


def _values(machine: Machine) -> dict[str, object]:
    values = columns(machine)
    del values["macs"], values["addresses"]
    return values


def _made(connection: Connection, rows: Sequence[RowMapping]) -> tuple[Machine, ...]:
    names = [str(row["name"]) for row in rows]
    macs = _by_machine(connection, machine_macs.c.mac, names)
    addresses = _by_machine(connection, machine_addresses.c.address, names)
    return tuple(
        made(Machine, {**row, "macs": macs[name], "addresses": addresses[name]})
        for name, row in zip(names, rows, strict=True)
    )


def _by_machine(
    connection: Connection, column: Column[str], names: Sequence[str]
) -> dict[str, list[str]]:
    table = column.table
    statement = (
        select(table.c.machine, column).where(table.c.machine.in_(names)).order_by(table.c.position)
    )
    found: dict[str, list[str]] = {name: [] for name in names}
    for name, value in connection.execute(statement):
        found[name].append(value)
    return found


def _reach(connection: Connection, machine: Machine) -> None:
    for position, address in enumerate(machine.addresses):
        row = {"machine": machine.name, "position": position, "address": address}
        connection.execute(insert(machine_addresses).values(row))
    if not machine.addresses:
        return
    theirs = machine_addresses.c.machine == machines.c.name
    if counted(connection, machine_addresses, theirs, machines.c.site == machine.site) > (
        MOST_OF_SITE
    ):
        raise Rejected("too-large", f"addresses: more than {MOST_OF_SITE} at site {machine.site}")
    notify(connection, "spec", machine.site)


def _unreach(connection: Connection, machine: Machine) -> None:
    if machine.addresses:
        mine = machine_addresses.c.machine == machine.name
        connection.execute(delete(machine_addresses).where(mine))
        notify(connection, "spec", machine.site)


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
