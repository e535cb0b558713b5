"""Tells at the start what the server cannot read or write, as the user that it has become."""

import os
import pwd
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen
from twisted.application.service import Service
from twisted.logger import Logger

from ..config import Config
from ..values import StoreKind

_READ, _WRITE = os.R_OK | os.X_OK, os.W_OK


@frozen
class Need:
    """
    Something that has to be allowed.

    :ivar name: what the directory or file is to the server.
    :ivar mode: as ``os.access`` has it.
    :ivar otherwise: what comes of it where it is not.
    """

    name: str
    path: Path
    mode: int
    otherwise: str


def needs(config: Config) -> Iterator[Need]:
    """:returns: what the settings want; the answer set is read anyway, and tells of itself."""
    for name, path in (("media", config.media.directory), ("boot", config.boot.directory)):
        if path is not None:
            missing = "machines are told that what is in there does not exist"
            yield Need(name, path, _READ, missing)
    changes = []
    if config.answers.installed is not None:
        changes.append("installed machines stay armed")
    if config.admin is not None:
        changes.append("changes over HTTP are refused")
    if changes:
        for path in _kept(config):
            yield Need("answers", path, _WRITE, " and ".join(changes))
    if config.answers.capture is not None:
        yield Need("captures", config.answers.capture, _WRITE, "no request is kept")


def _kept(config: Config) -> tuple[Path, ...]:
    """:returns: what is written when a document is."""
    if config.answers.store is StoreKind.FILES:
        return (config.answers.directory,)
    return config.answers.database.parent, config.answers.database


class AccessService(Service):
    """
    Without it a loader behind a wrong mode is "not found", and that is looked for elsewhere; and
    that no machine can be disarmed shows when the first has installed itself twice.
    """

    name = "access"
    _log = Logger()

    def __init__(self, needs: Iterable[Need]) -> None:
        self._needs = tuple(needs)

    def startService(self) -> None:
        super().startService()
        for need in self._needs:
            if os.access(need.path, need.mode) or (need.mode == _WRITE and _absent(need.path)):
                continue  # what is written is made where it is missing
            self._log.warn(
                "{directory}: {path}: user {user} cannot {verb} it; {otherwise}",
                directory=need.name,
                path=str(need.path),
                user=_user(os.geteuid()),
                verb="write" if need.mode == _WRITE else "read",
                otherwise=need.otherwise,
            )


def _absent(path: Path) -> bool:
    try:
        path.stat()
    except OSError as e:
        return isinstance(e, FileNotFoundError)
    return False


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
