"""Sites: where machines are, each with one boot lease."""

from typing import Final

from sqlalchemy import Connection, bindparam, delete, exists, insert, select, update

from ...boot.lease import LONGEST_TTL_MS, SHORTEST_TTL_MS, TTL_MS
from ...contract.refusals import Rejected
from ...contract.structure import JSON
from ..lease import LEAP, QUARANTINE
from ..records import Page, Site
from . import settings
from .rows import LIMIT, added, bounded, by_name, columns, counted, named, one, there
from .tables import (
    commands,
    discovered,
    image_sites,
    join_tokens,
    lease,
    lease_history,
    machines,
    nodes,
    sessions,
    sites,
    workflows,
)
from .telling import notify

#: Bytes of a site's labels.
LABELS = 16 * 1024

# Put together once: that takes longer than to execute it.
_GET: Final = select(sites).where(sites.c.name == bindparam("of"))


def create(
    connection: Connection, name: str, now: int, ttl_ms: int = TTL_MS, labels: JSON | None = None
) -> Site:
    """
    :returns: a site that nobody boots machines at yet.
    :raises Rejected: ``conflict``, where there is one of that name.
    """
    site = Site(named("site", name), now, _ttl(ttl_ms), None, labels or {})
    bounded("labels", site.labels, LABELS)
    added(connection, sites, columns(site), f"site {name}")
    # Whoever booted machines at a site of this name may not have noticed that it is gone: this
    # one begins with an epoch of nobody, which is taken over once their fence is closed for sure.
    before = settings.get(connection, _tombstone(name))
    row: dict[str, object] = {"site": name, "ttl_ms": ttl_ms, "epoch": 0, "beat": 0}
    if isinstance(before, dict):
        row |= {"epoch": before["epoch"] + LEAP, "beat": 1, "holder": QUARANTINE}
        row["ttl_ms"] = LONGEST_TTL_MS
    connection.execute(insert(lease).values(row))
    notify(connection, "lease", name)
    return site


def get(connection: Connection, name: str) -> Site:
    """:raises Rejected: ``not-found``."""
    return there(one(connection, Site, _GET, {"of": name}), "site", name)


def all_sites(connection: Connection, after: str = "", limit: int = LIMIT) -> Page[Site]:
    """:returns: by name."""
    return by_name(connection, Site, select(sites), sites.c.name, after, limit)


def want(connection: Connection, name: str, node: str | None) -> None:
    """
    :param node: who is to hold the boot lease; None: whoever is there.
    :raises Rejected: ``not-found``; ``unknown-node`` for one that is not of this site.
    """
    if node is not None:
        of_site = (nodes.c.id == node) & (nodes.c.site == name) & nodes.c.removed_at.is_(None)
        if not connection.execute(select(exists().where(of_site))).scalar_one():
            raise Rejected("unknown-node", f"{name} has no node {node[:128]!r}")
    _changed(connection, name, {"wanted_node": node})


def set_ttl(connection: Connection, name: str, ttl_ms: int) -> None:
    """The present epoch keeps its own. :raises Rejected: ``not-found``, ``invalid-message``."""
    _changed(connection, name, {"ttl_ms": _ttl(ttl_ms)})


def set_labels(connection: Connection, name: str, labels: JSON) -> None:
    """:raises Rejected: ``not-found``, ``too-large``."""
    bounded("labels", labels, LABELS)
    _changed(connection, name, {"labels": labels})


def remove(connection: Connection, name: str) -> None:
    """
    Forget a site, its removed nodes, and their commands.

    :raises Rejected: ``not-found``; ``in-use`` while it has nodes, machines or running workflows.
    """
    connection.execute(select(sites.c.name).where(sites.c.name == name).with_for_update())
    get(connection, name)
    _unused(connection, name)
    [epoch] = connection.execute(select(lease.c.epoch).where(lease.c.site == name)).one()
    settings.put(connection, _tombstone(name), {"epoch": epoch})
    former = select(nodes.c.id).where(nodes.c.site == name)
    connection.execute(delete(sessions).where(sessions.c.node.in_(former)))
    connection.execute(delete(commands).where(commands.c.node.in_(former)))
    for table in (lease_history, lease, join_tokens, discovered, image_sites, nodes):
        connection.execute(delete(table).where(table.c.site == name))
    connection.execute(delete(sites).where(sites.c.name == name))
    notify(connection, "lease", name)


def _unused(connection: Connection, name: str) -> None:
    running = (workflows.c.site == name) & workflows.c.finished_at.is_(None)
    for what, found in (
        ("nodes", counted(connection, nodes, nodes.c.site == name, nodes.c.removed_at.is_(None))),
        ("machines", counted(connection, machines, machines.c.site == name)),
        ("running workflows", counted(connection, workflows, running)),
    ):
        if found:
            raise Rejected("in-use", f"site {name} has {found} {what}")


def _ttl(ttl_ms: int) -> int:
    if not SHORTEST_TTL_MS <= ttl_ms <= LONGEST_TTL_MS:
        raise Rejected("invalid-message", f"ttl_ms: not {SHORTEST_TTL_MS} to {LONGEST_TTL_MS}")
    return ttl_ms


def _changed(connection: Connection, name: str, values: dict[str, object]) -> None:
    if not connection.execute(update(sites).where(sites.c.name == name).values(values)).rowcount:
        raise Rejected("not-found", f"there is no site {name[:128]!r}")
    notify(connection, "lease", name)


def _tombstone(name: str) -> str:
    return f"removed-site:{name}"
