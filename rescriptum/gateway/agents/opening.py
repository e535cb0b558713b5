"""Sessions and their streams, as the database has them."""

from attrs import frozen
from sqlalchemy import Connection

from ...contract.keys import public_key
from ...contract.sessions import Hello
from ...contract.structure import JSON
from ..hello import Known
from ..records import Node, SessionRow
from ..stores import events, nodes, sessions, sites


@frozen
class Attached:
    """
    A session whose stream is here. :ivar ttl_ms: of its site's next epoch.
    """

    session: SessionRow
    node: Node
    ttl_ms: int


def known(node: Node) -> Known:
    """:returns: what its Hello is compared with."""
    return Known(node.id, node.site, node.role, public_key(node.jwk, "Ed25519"))


def begin(
    connection: Connection, row: SessionRow, hello: Hello, now: int
) -> tuple[int, tuple[str, ...]]:
    """
    :returns: the ttl of the site's next epoch, and the sessions that are over by this one.
    :raises Rejected: ``replayed``; ``unknown-node``.
    """
    over = sessions.open_session(connection, row, hello, now)
    ttl = sites.get(connection, row.site).ttl_ms
    data: JSON = {"session": row.id, "version": hello.version, "boot_id": hello.boot_id}
    events.append(connection, "session.opened", row.site, row.node, data, now)
    return ttl, over


def attach(
    connection: Connection, session: str, token_digest: str, process: str, now: int
) -> Attached:
    """
    :param process: which has its stream from now on.
    :raises Rejected: ``unknown-session``, ``superseded`` or ``unknown-node``.
    """
    row = sessions.by_token(connection, session, token_digest)
    sessions.attach(connection, session, process, now)
    ttl = sites.get(connection, row.site).ttl_ms
    return Attached(row, nodes.get(connection, row.node), ttl)
