"""Nodes: agents that have joined, and what they last said of themselves."""

from typing import Final

from sqlalchemy import Connection, bindparam, select, update

from ...contract.joining import Role
from ...contract.refusals import Rejected
from ...contract.reports import StatusReport
from ..records import Node, Page
from . import commands, discovered
from .rows import LIMIT, added, bounded, by_name, columns, named, one, there
from .tables import nodes, sessions, sites
from .telling import notify

#: Bytes of JSON: of an inventory, and of all sections of a status.
INVENTORY, SECTIONS = 256 * 1024, 256 * 1024
#: Sections of a status.
MOST_SECTIONS = 32
# Put together once: that takes longer than to execute it.
_FIND: Final = select(nodes).where(nodes.c.id == bindparam("name"))
_BY_JKT: Final = select(nodes).where(nodes.c.jkt == bindparam("key"))


def add(connection: Connection, node: Node) -> None:
    """:raises Rejected: ``conflict`` for a key that has joined; ``in-use`` for no such site."""
    named("node", node.id)
    if node.inventory is not None:
        bounded("inventory", node.inventory, INVENTORY)
    added(connection, nodes, columns(node), f"node {node.id}, or one with its key")


def find(connection: Connection, node: str) -> Node | None:
    """:returns: also one that was removed."""
    return one(connection, Node, _FIND, {"name": node})


def get(connection: Connection, node: str) -> Node:
    """:returns: also one that was removed. :raises Rejected: ``not-found``."""
    return there(find(connection, node), "node", node)


def by_jkt(connection: Connection, jkt: str) -> Node | None:
    """:returns: whose key it is, also when that one was removed."""
    return one(connection, Node, _BY_JKT, {"key": jkt})


def listing(
    connection: Connection,
    site: str | None = None,
    role: Role | None = None,
    machine: str | None = None,
    removed: bool = False,
    after: str = "",
    limit: int = LIMIT,
) -> Page[Node]:
    """
    :param removed: whether those that were removed are listed too.
    :returns: by id.
    """
    statement = select(nodes)
    if not removed:
        statement = statement.where(nodes.c.removed_at.is_(None))
    if site is not None:
        statement = statement.where(nodes.c.site == site)
    if role is not None:
        statement = statement.where(nodes.c.role == role.value)
    if machine is not None:
        statement = statement.where(nodes.c.machine == machine)
    return by_name(connection, Node, statement, nodes.c.id, after, limit)


def remove(connection: Connection, node: str, now: int) -> None:
    """
    Its sessions end, and its key opens no other; the boot lease waits until its fence is closed.

    :raises Rejected: ``not-found``.
    """
    alive = (nodes.c.id == node) & nodes.c.removed_at.is_(None)
    if not connection.execute(update(nodes).where(alive).values(removed_at=now)).rowcount:
        raise Rejected("not-found", f"there is no node {node[:128]!r}")
    site = get(connection, node).site
    over = (sessions.c.node == node) & sessions.c.ended_at.is_(None)
    connection.execute(update(sessions).where(over).values(ended_at=now, reason="unknown-node"))
    wanted = update(sites).where(sites.c.wanted_node == node).values(wanted_node=None)
    connection.execute(wanted)
    notify(connection, "sessions", site)
    notify(connection, "lease", site)


def bump(connection: Connection, node: str) -> int:
    """
    Something that the node is to have has changed.

    :returns: the version of its desired state from now on.
    :raises Rejected: ``not-found``.
    """
    changed = (
        update(nodes)
        .where(nodes.c.id == node)
        .values(desired_version=nodes.c.desired_version + 1)
        .returning(nodes.c.desired_version)
    )
    version = there(connection.execute(changed).scalar_one_or_none(), "node", node)
    notify(connection, "spec", node)
    return int(version)


def report(connection: Connection, node: str, status: StatusReport, now: int) -> None:
    """
    Keep what has changed: sections by their name, the inventory, progress of commands, and what
    was discovered at the site of a site agent.

    :raises Rejected: ``unknown-node``, ``too-large``.
    """
    locked = select(nodes).where((nodes.c.id == node) & nodes.c.removed_at.is_(None))
    before = one(connection, Node, locked.with_for_update())
    if before is None:
        raise Rejected("unknown-node")
    sections = {each.name: each for each in (*before.sections, *status.sections)}
    if len(sections) > MOST_SECTIONS:
        raise Rejected("too-large", f"more than {MOST_SECTIONS} sections")
    values = {"sections": [columns(each) for each in sections.values()], "reported_at": now}
    bounded("sections", values["sections"], SECTIONS)
    if status.inventory is not None:
        bounded("inventory", status.inventory, INVENTORY)
        values["inventory"] = status.inventory
    connection.execute(update(nodes).where(nodes.c.id == node).values(values))
    for each in status.progress:
        commands.progress(connection, each.command_id, node, each.data)
    if status.discovered is not None and before.role is Role.SITE:
        discovered.report(connection, before.site, status.discovered, now)
