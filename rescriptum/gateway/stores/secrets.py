"""Secrets: sealed before they come here, so that the database alone tells none."""

from sqlalchemy import Connection, select

from ...contract.refusals import Rejected
from ..records import Page, SecretRow
from .rows import LIMIT, by_name, counted, named, removed, there
from .rows import put as _put
from .tables import machines, secrets

#: Bytes of a sealed secret.
LONGEST = 128 * 1024


def put(connection: Connection, name: str, sealed: bytes, now: int) -> None:
    """Give it a value, whatever it had. :raises Rejected: ``invalid-message``, ``too-large``."""
    if len(sealed) > LONGEST:
        raise Rejected("too-large", f"a secret of more than {LONGEST} bytes")
    row = {"name": named("secret", name), "sealed": sealed, "created_at": now, "changed_at": now}
    _put(connection, secrets, ["name"], row, kept=["created_at"])


def get(connection: Connection, name: str) -> bytes:
    """:returns: sealed. :raises Rejected: ``not-found``."""
    statement = select(secrets.c.sealed).where(secrets.c.name == name)
    sealed: bytes | None = connection.execute(statement).scalar_one_or_none()
    return there(sealed, "secret", name)


def listing(connection: Connection, after: str = "", limit: int = LIMIT) -> Page[SecretRow]:
    """:returns: by name."""
    statement = select(secrets.c.name, secrets.c.created_at, secrets.c.changed_at)
    return by_name(connection, SecretRow, statement, secrets.c.name, after, limit)


def remove(connection: Connection, name: str) -> None:
    """:raises Rejected: ``not-found``; ``in-use`` while a machine's BMC needs it."""
    if counted(connection, machines, machines.c.credential_ref == name):
        raise Rejected("in-use", f"a machine names secret {name[:128]}")
    removed(connection, secrets, secrets.c.name == name, f"secret {name[:128]}")
