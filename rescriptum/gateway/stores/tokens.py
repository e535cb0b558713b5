"""Join tokens: kept as digests, each used once."""

from collections.abc import Callable

from sqlalchemy import Connection, delete, select, update

from ...contract.joining import Role
from ...contract.jose import digest as digested
from ...contract.refusals import Rejected
from ..records import JoinTokenRow, Page
from .rows import LIMIT, added, columns, newest, one
from .tables import join_tokens

#: Seconds for which a token is good; and for which one that was not used is remembered.
LIFETIME, LONGEST_LIFETIME, KEPT = 3600, 30 * 86_400, 30 * 86_400


def create(
    connection: Connection,
    site: str,
    role: Role,
    now: int,
    new_token: Callable[[], str],
    lifetime: int = LIFETIME,
    machine: str | None = None,
    workflow: str | None = None,
) -> tuple[str, str]:
    """
    :param new_token: makes an unguessable text.
    :param machine: and ``workflow``: of a token that a site agent hands to a machine.
    :returns: the token, which nobody can read again, and its digest.
    :raises Rejected: ``in-use`` where there is no such site; ``invalid-message``.
    """
    if not 0 < lifetime <= LONGEST_LIFETIME:
        raise Rejected("invalid-message", f"lifetime: not 1 to {LONGEST_LIFETIME} seconds")
    token = new_token()
    expires = now + lifetime
    row = JoinTokenRow(
        digested(token.encode()), site, role, now, expires, machine=machine, workflow=workflow
    )
    added(connection, join_tokens, columns(row), f"token of site {site[:128]}")
    return token, row.digest


def use(
    connection: Connection, digest: str, site: str, role: Role, node: str, now: int
) -> JoinTokenRow:
    """
    :param node: whom it makes, in this same transaction.
    :returns: the token as it was made.
    :raises Rejected: ``unknown-token``, ``wrong-site``, ``wrong-role``, ``token-used``,
        ``token-expired``: then it is not used.
    """
    row = get(connection, digest)
    if row is None:
        raise Rejected("unknown-token")
    if row.site != site:
        raise Rejected("wrong-site", "the token is for another site")
    if row.role is not role:
        raise Rejected("wrong-role", f"the token is for the role {row.role.value}")
    if row.used_at is None and row.expires_at <= now:
        raise Rejected("token-expired", f"{now - row.expires_at} seconds ago")
    unused = (join_tokens.c.digest == digest) & join_tokens.c.used_at.is_(None)
    taken = update(join_tokens).where(unused).values(used_at=now, node=node)
    if not connection.execute(taken).rowcount:
        raise Rejected("token-used")
    return row


def get(connection: Connection, digest: str) -> JoinTokenRow | None:
    """:returns: None for one that never was, or was forgotten."""
    return one(connection, JoinTokenRow, select(join_tokens).where(join_tokens.c.digest == digest))


def listing(
    connection: Connection, site: str | None = None, after: str = "", limit: int = LIMIT
) -> Page[JoinTokenRow]:
    """:returns: the newest first."""
    statement = select(join_tokens)
    if site is not None:
        statement = statement.where(join_tokens.c.site == site)
    at, key = join_tokens.c.created_at, join_tokens.c.digest
    return newest(connection, JoinTokenRow, statement, at, key, after, limit)


def remove(connection: Connection, digest: str) -> None:
    """:raises Rejected: ``unknown-token``; ``token-used``: what it made is a node by now."""
    unused = (join_tokens.c.digest == digest) & join_tokens.c.used_at.is_(None)
    if not connection.execute(delete(join_tokens).where(unused)).rowcount:
        raise Rejected("unknown-token" if get(connection, digest) is None else "token-used")


def prune(connection: Connection, now: int) -> int:
    """:returns: how many tokens that nobody used were forgotten."""
    old = join_tokens.c.used_at.is_(None) & (join_tokens.c.expires_at < now - KEPT)
    return connection.execute(delete(join_tokens).where(old)).rowcount
