"""What all processes of one gateway agree on, by name."""

from sqlalchemy import Connection, select

from .rows import put as _put
from .tables import settings

#: Anything that JSON has.
Value = object


def get(connection: Connection, name: str) -> Value:
    """:returns: None where nothing is."""
    return connection.execute(
        select(settings.c.value).where(settings.c.name == name)
    ).scalar_one_or_none()


def put(connection: Connection, name: str, value: Value) -> None:
    """Keep ``value``, whatever was there."""
    _put(connection, settings, ["name"], {"name": name, "value": value})
