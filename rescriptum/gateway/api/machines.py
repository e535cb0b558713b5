"""Machines that somebody wrote down, those that were seen, and images for them."""

from typing import Final

from attrs import asdict, evolve
from sqlalchemy import Connection, select

from ...contract.pins import Pin
from ...contract.refusals import Rejected
from ...values import MAC
from ..records import DiscoveredMachine, Machine
from ..records import Image as ImageRow
from ..stores import discovered, events, images, machines, sites
from ..stores.rows import one
from ..stores.tables import discovered as table
from .call import Call, at
from .shapes.machines import (
    Adoption,
    Discoveries,
    Image,
    ImageCreate,
    Images,
    MachineChange,
    MachineCreate,
    Machines,
)
from .shapes.machines import DiscoveredMachine as Seen
from .shapes.machines import Machine as Shown

#: What stands empty in the store and is left out of replies.
_MAYBE: Final = (
    "uuid",
    "bmc_address",
    "bmc_driver",
    "bmc_pin",
    "bmc_username",
    "credential_ref",
)


def machine_list(connection: Connection, call: Call) -> Machines:
    """Machines."""
    page = machines.listing(connection, call.filters.get("site"), call.after, call.limit)
    shown = tuple(_machine(each) for each in page.items)
    return Machines(shown, events.newest(connection), at(call.now), page.next)


def machine_add(connection: Connection, call: Call) -> Shown:
    """Write down a machine."""
    sent = call.sent(MachineCreate)
    sites.get(connection, sent.site)
    return _added(connection, call, Machine(**asdict(sent, recurse=False)))


def machine_show(connection: Connection, call: Call) -> Shown:
    """One machine."""
    return _machine(machines.get(connection, call.name))


def machine_set(connection: Connection, call: Call) -> Shown:
    """Change a machine."""
    sent = asdict(call.sent(MachineChange), recurse=False)
    before = machines.get(connection, call.name)
    call.met(before.revision)
    given = {name: value for name, value in sent.items() if value is not None}
    wanted = evolve(before, **given)
    sites.get(connection, wanted.site)
    after = machines.change(connection, _sound(wanted))
    call.changed(connection, "machine.changed", after.name, after.site, fields=sorted(given))
    return _machine(after)


def machine_remove(connection: Connection, call: Call) -> None:
    """Forget a machine."""
    before = machines.get(connection, call.name)
    machines.remove(connection, call.name)
    call.changed(connection, "machine.removed", before.name, before.site)


def discovered_list(connection: Connection, call: Call) -> Discoveries:
    """Machines that boot at a site, and that nobody wrote down."""
    sites.get(connection, call.name)
    page = discovered.listing(connection, call.name, call.now, call.after, call.limit)
    shown = tuple(_seen(each) for each in page.items)
    return Discoveries(shown, events.newest(connection), at(call.now), page.next)


def adopt(connection: Connection, call: Call) -> Shown:
    """Write down a discovered machine."""
    site, text = call.captures
    sent = call.sent(Adoption)
    try:
        mac = str(MAC.parse(text))
    except ValueError as e:
        raise Rejected("invalid-message", str(e)[:100]) from None
    sites.get(connection, site)
    mine = (table.c.site == site) & (table.c.mac == mac)
    found = one(connection, DiscoveredMachine, select(table).where(mine))
    if found is None or found.seen_at < call.now - discovered.KEPT:
        raise Rejected("not-found", f"no machine with {mac} was seen at {site} within a day")
    given = asdict(sent, recurse=False)
    given["macs"] = (mac, *sent.macs)
    return _added(connection, call, Machine(**given, site=site, uuid=found.uuid))


def image_list(connection: Connection, call: Call) -> Images:
    """Images."""
    page = images.listing(connection, after=call.after, limit=call.limit)
    shown = tuple(_image(each) for each in page.items)
    return Images(shown, events.newest(connection), at(call.now), page.next)


def image_add(connection: Connection, call: Call) -> Image:
    """Write down an image."""
    sent = call.sent(ImageCreate)
    for site in sent.sites:
        sites.get(connection, site)
    made = images.create(connection, ImageRow(**asdict(sent, recurse=False)), call.now)
    call.changed(connection, "image.added", made.name, None, sites=list(made.sites))
    return _image(made)


def image_show(connection: Connection, call: Call) -> Image:
    """One image."""
    return _image(images.get(connection, call.name))


def image_remove(connection: Connection, call: Call) -> None:
    """Forget an image."""
    images.remove(connection, call.name)
    call.changed(connection, "image.removed", call.name, None)


def image_assign(connection: Connection, call: Call) -> Image:
    """Have a site cache an image."""
    name, site = call.captures
    images.get(connection, name)
    sites.get(connection, site)
    images.assign(connection, name, site)
    call.changed(connection, "image.assigned", name, site)
    return image_show(connection, call)


def image_unassign(connection: Connection, call: Call) -> Image:
    """Let a site drop an image."""
    name, site = call.captures
    images.get(connection, name)
    images.unassign(connection, name, site)
    call.changed(connection, "image.unassigned", name, site)
    return image_show(connection, call)


def _added(connection: Connection, call: Call, machine: Machine) -> Shown:
    made = machines.create(connection, _sound(machine), call.now)
    call.changed(connection, "machine.added", made.name, made.site)
    return _machine(made)


def _sound(machine: Machine) -> Machine:
    """:raises Rejected: for a pin that is none."""
    if machine.bmc_pin:
        try:
            Pin.parse(machine.bmc_pin)
        except ValueError as e:
            raise Rejected("invalid-message", f"bmc_pin: {e}") from None
    return machine


def _machine(row: Machine) -> Shown:
    maybe = {name: getattr(row, name) or None for name in _MAYBE}
    created = at(row.created_at)
    return Shown(
        row.name,
        row.site,
        row.macs,
        created,
        row.revision,
        labels=row.labels,
        addresses=row.addresses,
        **maybe,
    )


def _seen(row: DiscoveredMachine) -> Seen:
    first, last = at(row.first_seen_at), at(row.seen_at)
    return Seen(row.site, row.mac, first, last, row.uuid or None, row.arch or None, row.ip or None)


def _image(row: ImageRow) -> Image:
    created = at(row.created_at)
    return Image(row.name, row.sha256, row.url, row.format, created, row.revision, row.sites)
