"""``rescriptum gateway init``: keys, database and first operator, before anything runs."""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO, TypeVar

from ...errors import ConfigError, Refused
from ...values import Listen, Problem
from ..options import Command
from .reach import Reach, client_file, written
from .screen import Screen

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ...gateway.api.shapes.gateway import Pins
    from ...gateway.config import Config

_T = TypeVar("_T")


class InitOptions(Command):
    """``init``."""

    synopsis = "Usage: rescriptum gateway init [--config FILE] [--data-dir DIR] [--operator NAME]"
    longdesc = (
        "Makes what a gateway needs before it starts: its data directory, its keys, its database, "
        "and an operator with a token of scope admin. Prints what agents have to pin. How these "
        "commands reach the gateway is written to a file of mode 0600, token included. What is "
        "there already stays: done twice, it only prints again. Run it as the user that the "
        "gateway runs as."
    )
    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", None, "The gateway's TOML file."],
        ["data-dir", "d", None, "Where keys and database are, over what the file says."],
        ["operator", "o", "admin", "Whom to give a token of scope admin."],
    ]

    async def perform_apart(
        self, reactor: object, environ: Mapping[str, str], out: TextIO, err: TextIO
    ) -> int:
        """
        :returns: the exit code.
        :raises ConfigError: for what an operator has to mend.
        """
        try:
            from ...gateway.config import read
            from ...gateway.store import pins, prepared
            from ...roles.gateway import own_names
        except ImportError as e:
            text = f"{e.name} is missing: pip install 'rescriptum[gateway]'"
            raise ConfigError([Problem("gateway", text)]) from None
        named, data_dir = self["config"], self["data-dir"]
        reading = read(
            None if named is None else Path(named), None if data_dir is None else Path(data_dir)
        )
        for warning in reading.warnings:
            err.write(f"warning: {warning}\n")
        config = reading.config
        keyring, _ = prepared(config, datetime.now(UTC))
        names = config.server_names or own_names()
        told = pins(config, keyring, names[0])
        token = await _first_operator(config, self["operator"])
        path = client_file(environ)
        if token is not None:
            reach = Reach(_url(config.listen), token, _given(told), told.server_name)
            _write(path, written(reach))
        self._tell(Screen(out, err, bool(self["json"])), config, told, token, path)
        return 0

    def _tell(
        self, screen: Screen, config: "Config", told: "Pins", token: str | None, path: Path
    ) -> None:
        stanza = _stanza(config, told)
        if screen.as_json:
            screen.told(
                {
                    "data_dir": str(config.data_dir),
                    "operator": self["operator"],
                    "created": token is not None,
                    "client_file": str(path),
                    "server_name": told.server_name,
                    "serving_ca_spki_pin": told.serving_ca_spki_pin,
                    "join_signing_key_pin": told.join_signing_key_pin,
                    "join_encryption_key_pin": told.join_encryption_key_pin,
                }
            )
            return
        screen.said(f"# {config.data_dir} has the gateway's keys and its database.")
        if token is not None:
            screen.said(f"# {path} has the token of operator {self['operator']}.")
        else:
            screen.said(f"# Operator {self['operator']} has a token already; --operator names")
            screen.said("# another one, should it be lost.")
        screen.said("# For site.toml:")
        for line in stanza:
            screen.said(line)


async def _first_operator(config: "Config", name: str) -> str | None:
    """:returns: a new token of scope admin; None where ``name`` has one."""
    from ...gateway.api.door import PREFIX, digest
    from ...gateway.records import Operator, Scope
    from ...gateway.stores import events, operators
    from ...gateway.stores.database import Database

    token = PREFIX + os.urandom(32).hex()
    now = int(time.time())

    def work(connection: "Connection") -> str | None:
        page = operators.listing(connection, removed=True, limit=1000)
        known = {each.name: each for each in page.items}
        if name in known:
            if known[name].removed_at is not None:
                raise Refused(f"operator {name} was removed; choose another name")
            return None
        operators.create(connection, Operator(name, digest(token), Scope.ADMIN, now))
        data: dict[str, object] = {"operator": "init", "scope": "admin"}
        events.append(connection, "operator.created", None, name, data, now)
        return token

    database = Database(config.database_url, _Inline())
    database.open()
    try:
        return await database.run(work)
    finally:
        await database.close()


class _Inline:
    """Satisfies :class:`rescriptum.interfaces.Workers`: nothing else runs meanwhile."""

    async def run(self, work: Callable[[], _T]) -> _T:
        return work()


def _url(listen: Listen) -> str:
    """:returns: of a gateway on this host."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return f"https://{Listen(everywhere.get(listen.host, listen.host), listen.port)}"


def _given(told: "Pins") -> tuple[str, ...]:
    return (told.serving_ca_spki_pin,) if told.serving_ca_spki_pin else ()


def _stanza(config: "Config", told: "Pins") -> list[str]:
    name = told.server_name
    host = f"[{name}]" if ":" in name else name
    lines = [
        f'gateway_url = "https://{host}:{config.listen.port}"',
        'site = "NAME"  # as in: rescriptum gateway site create NAME',
    ]
    for key in ("serving_ca_spki_pin", "join_signing_key_pin", "join_encryption_key_pin"):
        value = getattr(told, key)
        if value:
            lines.append(f'{key} = "{value}"')
    return lines


def _write(path: Path, text: str) -> None:
    """Whole or not at all, and for one user alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".client-")  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as e:
        raise ConfigError([Problem(str(path), f"cannot be written: {e.strerror}")]) from None
