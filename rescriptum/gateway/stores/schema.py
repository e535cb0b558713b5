"""The tables of a database, brought to what this release knows, all at once or not at all."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select

from ...errors import ConfigError
from ...values import Problem
from .tables import metadata

_SCRIPTS: Final = Path(__file__).parent.parent / "migrations"
#: Of the advisory lock that lets one process migrate, and of no other program: ``resc``.
_LOCK: Final = 0x72657363


def configured(connection: Connection) -> Config:
    """:returns: what Alembic needs to know; no file of an operator takes part in it."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(connection: Connection, name: str) -> None:
    """
    :param connection: within a transaction; others that come to migrate wait for it.
    :param name: of the database, for people.
    :raises ConfigError: for a database of another program, or of a newer release.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    config = configured(connection)
    found = MigrationContext.configure(connection).get_current_heads()
    known = ScriptDirectory.from_config(config)
    if not found:
        foreign = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
        if foreign:
            text = f"has a table '{foreign[0]}' that is not ours: the database of another program"
            raise ConfigError([Problem(name, text)])
    elif found == tuple(known.get_heads()):
        return
    newest = known.get_current_head()
    ours = {each.revision for each in known.walk_revisions()}
    strange = [each for each in found if each not in ours]
    if strange:
        text = (
            f"was made by a newer release (schema {strange[0]}, this one knows up to {newest}): "
            "run that release, or restore a backup from before it"
        )
        raise ConfigError([Problem(name, text)])
    command.upgrade(config, "head")
