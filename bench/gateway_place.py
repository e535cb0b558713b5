"""Gateways to measure: keys and database as operators make them, and the processes that serve."""

import json
import shutil
import sys
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from attrs import frozen
from sqlalchemy import Connection
from twisted.internet.defer import Deferred

from rescriptum.contract.joining import Role
from rescriptum.contract.jose import digest
from rescriptum.gateway.config import read
from rescriptum.gateway.keyring import SERVED
from rescriptum.gateway.records import Operator, Scope
from rescriptum.gateway.store import prepared
from rescriptum.gateway.stores import operators, sites, tokens
from rescriptum.gateway.stores.database import Database
from rescriptum.testing import MemoryWorkers

from .benchlib import FIRST, HERE, Server
from .gateway_agents import NAME, site

#: Whose token it is, who sends commands.
OPERATOR = "rsop_bench"
_TWISTD = "from twisted.scripts.twistd import run; run()"

_T = TypeVar("_T")


@frozen
class Place:
    """
    :ivar servers: not started yet.
    :ivar pin: of the CA. :ivar tokens: to join with, one a site.
    """

    servers: tuple[Server, ...]
    pin: str
    tokens: tuple[str, ...]


def gateway(root: Path, name: str, ports: Sequence[int], agents: int, url: str | None) -> Place:
    """
    :param ports: of its processes. :param url: of a database; None: SQLite.
    :returns: a gateway with a site for each agent, and an operator who may do everything.
    """
    first, *others = [_configured(root / f"{name}-{port}", port, url) for port in ports]
    now = datetime.now(UTC)
    config = read(first).config
    keyring, files = prepared(config, now)
    keyring.served(files, [NAME], now)
    for each in others:  # all processes of a gateway have the same keys
        (each.parent / "data").mkdir(mode=0o700)
        shutil.copytree(config.keys_dir, each.parent / "data" / "keys")
    database = Database(config.database_url, MemoryWorkers())
    database.open()
    work = partial(_filled, agents=agents, now=int(now.timestamp()))
    made = _now(database.run(work))
    _now(database.close())
    servers = [
        _server(name, each, port) for each, port in zip((first, *others), ports, strict=True)
    ]
    return Place(tuple(servers), keyring.authority.pin, made)


def bare(root: Path, name: str, port: int) -> Place:
    """:returns: the peer, with keys and certificate as ours has them."""
    config = read(_configured(root / name, port, None)).config
    now = datetime.now(UTC)
    keyring, files = prepared(config, now)
    keyring.served(files, [NAME], now)
    argv = [sys.executable, "-m", "bench.gateway_bare", str(port), str(config.keys_dir / SERVED)]
    environ = {"PYTHONPATH": str(HERE.parent)}
    server = Server(name, argv, "tcp", port, environ, root / name / "log", FIRST)
    return Place((server,), keyring.authority.pin, ())


def _configured(here: Path, port: int, url: str | None) -> Path:
    here.mkdir(parents=True)
    lines: dict[str, object] = {
        "data_dir": str(here / "data"),
        "listen": f"{NAME}:{port}",
        "server_names": [NAME],
        "log": "problems",
    }
    if url is not None:
        lines["database_url"] = url
    file = here / "gateway.toml"
    # A JSON value of these kinds is a TOML value too.
    file.write_text("".join(f"{key} = {json.dumps(each)}\n" for key, each in lines.items()))
    file.chmod(0o600)
    return file


def _server(name: str, config: Path, port: int) -> Server:
    argv = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "rescriptum", "gateway"]
    environ = {"PYTHONPATH": str(HERE.parent)}
    log = config.parent / "log"
    return Server(name, [*argv, "--config", str(config)], "tcp", port, environ, log, FIRST)


def _filled(connection: Connection, agents: int, now: int) -> tuple[str, ...]:
    admin = Operator("bench", digest(OPERATOR.encode("ascii")), Scope.ADMIN, now)
    operators.create(connection, admin)
    made = []
    for number in range(agents):
        sites.create(connection, site(number), now)
        new = partial("rsjt_{}".format, number)
        made.append(tokens.create(connection, site(number), Role.SITE, now, new)[0])
    return tuple(made)


def _now(doing: Awaitable[_T]) -> _T:
    """:returns: what is there already: nothing here waits for a reactor."""

    async def run() -> _T:
        return await doing

    results: list[_T] = []
    Deferred.fromCoroutine(run()).addCallbacks(results.append, lambda f: f.raiseException())
    [result] = results
    return result
