"""Sites, and who boots machines at each."""

from collections.abc import Sequence

from sqlalchemy import Connection

from ...contract.joining import Role
from ...contract.refusals import Rejected
from ..lease import QUARANTINE, LeaseRow
from ..records import Site
from ..stores import events, leases, nodes, sites
from . import counts
from .call import Call, at
from .shapes.sites import (
    Grant,
    Lease,
    LeaseMove,
    LeaseState,
    SiteChange,
    SiteCreate,
    Sites,
)
from .shapes.sites import Site as Shown

#: Grants of the past that one lease is shown with.
HISTORY = 20


def listed(connection: Connection, call: Call) -> Sites:
    """All sites."""
    page = sites.all_sites(connection, call.after, call.limit)
    shown = _shown(connection, page.items)
    return Sites(shown, events.newest(connection), at(call.now), page.next)


def create(connection: Connection, call: Call) -> Shown:
    """Make a site."""
    sent = call.sent(SiteCreate)
    made = sites.create(connection, sent.name, call.now, sent.ttl_ms, sent.labels)
    call.changed(connection, "site.created", made.name, made.name)
    return _shown(connection, [made])[0]


def show(connection: Connection, call: Call) -> Shown:
    """One site."""
    return _shown(connection, [sites.get(connection, call.name)])[0]


def change(connection: Connection, call: Call) -> Shown:
    """Change a site."""
    sent = call.sent(SiteChange)
    if sent.ttl_ms is not None:
        sites.set_ttl(connection, call.name, sent.ttl_ms)
    if sent.labels is not None:
        sites.set_labels(connection, call.name, sent.labels)
    call.changed(connection, "site.changed", call.name, call.name)
    return show(connection, call)


def remove(connection: Connection, call: Call) -> None:
    """Remove a site that has nothing."""
    sites.remove(connection, call.name)
    call.changed(connection, "site.removed", call.name, call.name)


def lease(connection: Connection, call: Call) -> Lease:
    """Who boots machines at a site, and who did."""
    site = sites.get(connection, call.name)
    history = tuple(
        Grant(epoch, node, at(granted))
        for epoch, node, granted in leases.history(connection, site.name, limit=HISTORY)
    )
    return _lease(site, leases.read(connection, site.name), history)


def move(connection: Connection, call: Call) -> Lease:
    """Say who is to hold the boot lease."""
    sent = call.sent(LeaseMove)
    sites.get(connection, call.name)
    if sent.node is not None:
        node = nodes.get(connection, sent.node)
        if node.role is not Role.SITE:
            raise Rejected("wrong-role", f"{node.id} is a {node.role.value} agent")
    sites.want(connection, call.name, sent.node)
    call.changed(connection, "lease.wanted", call.name, call.name, node=sent.node)
    return lease(connection, call)


def quarantine(connection: Connection, call: Call) -> Lease:
    """Stop all proofs of the boot lease."""
    sites.get(connection, call.name)
    leases.quarantine(connection, call.name)
    call.changed(connection, "lease.quarantined", call.name, call.name)
    return lease(connection, call)


def _shown(connection: Connection, found: Sequence[Site]) -> tuple[Shown, ...]:
    names = [each.name for each in found]
    joined = counts.nodes_of(connection, names)
    live = counts.live_of(connection, names)
    rows = leases.rows(connection, names)
    return tuple(
        Shown(
            each.name,
            at(each.created_at),
            each.ttl_ms,
            each.labels,
            joined.get(each.name, 0),
            live.get(each.name, 0),
            _lease(each, rows[each.name]),
        )
        for each in found
    )


def _lease(site: Site, row: LeaseRow, history: tuple[Grant, ...] = ()) -> Lease:
    if row.holder is None:
        state = LeaseState.FREE
    elif row.holder == QUARANTINE:
        state = LeaseState.QUARANTINED
    else:
        state = LeaseState.HELD if row.beat else LeaseState.GRANTED
    return Lease(
        site.name,
        state,
        row.epoch,
        row.beat,
        row.ttl_ms,
        row.holder_node,
        row.holder if row.holder_node is not None else None,
        site.wanted_node,
        history,
    )
