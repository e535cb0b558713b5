"""Who may join, and who has."""

from collections.abc import Sequence

from sqlalchemy import Connection

from ...contract.joining import Role
from ...contract.refusals import Rejected
from ..records import JoinTokenRow, Node, SessionRow
from ..stores import events, nodes, sites, tokens
from . import counts
from .call import Call, at, maybe_at
from .shapes.sites import JoinToken, Nodes, Session, TokenCreate, TokenMade, Tokens
from .shapes.sites import Node as Shown


def token_list(connection: Connection, call: Call) -> Tokens:
    """Join tokens, without what they are."""
    page = tokens.listing(connection, call.filters.get("site"), call.after, call.limit)
    return Tokens(tuple(_token(each) for each in page.items), page.next)


def token_create(connection: Connection, call: Call) -> TokenMade:
    """Make a join token."""
    sent = call.sent(TokenCreate)
    sites.get(connection, sent.site)
    token, digest = tokens.create(
        connection, sent.site, sent.role, call.now, call.new_token, sent.lifetime_s
    )
    role = sent.role
    call.changed(connection, "token.created", digest, sent.site, role=role.value)
    return TokenMade(token, digest, sent.site, role, at(call.now + sent.lifetime_s))


def token_remove(connection: Connection, call: Call) -> None:
    """Take a join token back."""
    row = tokens.get(connection, call.name)
    tokens.remove(connection, call.name)
    call.changed(connection, "token.removed", call.name, row.site if row is not None else None)


def node_list(connection: Connection, call: Call) -> Nodes:
    """Agents that have joined."""
    site, role = call.filters.get("site"), call.one_of("role", Role)
    page = nodes.listing(connection, site, role, after=call.after, limit=call.limit)
    shown = _nodes(connection, page.items, inventory=False)
    return Nodes(shown, events.newest(connection), at(call.now), page.next)


def node_show(connection: Connection, call: Call) -> Shown:
    """One agent, with its inventory."""
    found = nodes.get(connection, call.name)
    if found.removed_at is not None:
        raise Rejected("not-found", f"node {found.id} was removed at {at(found.removed_at)}")
    return _nodes(connection, [found], inventory=True)[0]


def node_remove(connection: Connection, call: Call) -> None:
    """Have an agent's identity end."""
    nodes.remove(connection, call.name, call.now)
    site = nodes.get(connection, call.name).site
    call.changed(connection, "node.removed", call.name, site)


def _token(row: JoinTokenRow) -> JoinToken:
    return JoinToken(
        row.digest,
        row.site,
        row.role,
        at(row.created_at),
        at(row.expires_at),
        maybe_at(row.used_at),
        row.node,
        row.machine,
        row.workflow,
    )


def _nodes(connection: Connection, found: Sequence[Node], inventory: bool) -> tuple[Shown, ...]:
    live = counts.sessions_of(connection, [each.id for each in found])
    return tuple(_node(each, live.get(each.id), inventory) for each in found)


def _node(row: Node, session: SessionRow | None, inventory: bool) -> Shown:
    return Shown(
        row.id,
        row.site,
        row.role,
        row.jkt,
        at(row.joined_at),
        row.version,
        row.boot_id,
        row.kinds,
        row.drivers,
        row.labels,
        row.desired_version,
        row.sections,
        row.machine,
        None if session is None else _session(session),
        maybe_at(row.reported_at),
        row.inventory if inventory else None,
    )


def _session(row: SessionRow) -> Session:
    return Session(row.id, at(row.opened_at), at(row.heard_at), row.boots)
