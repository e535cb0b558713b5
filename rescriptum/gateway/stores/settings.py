"""What all processes of one gateway agree on, by name."""

from sqlalchemy import Connection, delete, select

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


def agree(connection: Connection, name: str, value: Value) -> Value:
    """:returns: what is there: ``value`` where nothing was, for every process that asks."""
    _put(connection, settings, ["name"], {"name": name, "value": value}, kept=["value"])
    return get(connection, name)


def remove(connection: Connection, name: str) -> None:
    """Whether it is there or not."""
    connection.execute(delete(settings).where(settings.c.name == name))
