"""Tells at the start which directories the server cannot read, as the user that it has become."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from twisted.application.service import Service
from twisted.logger import Logger


class ReadableService(Service):
    """
    Without it a loader behind a wrong mode is "not found", and that is looked for elsewhere.

    :param directories: by what they are called; None: not configured.
    """

    name = "readable"
    _log = Logger()

    def __init__(self, directories: Mapping[str, Path | None]) -> None:
        self._directories = directories

    def startService(self) -> None:
        super().startService()
        for name, path in self._directories.items():
            if path is not None and not os.access(path, os.R_OK | os.X_OK):
                self._log.warn(
                    "{directory}: {path}: user {user} cannot read it; machines are told that what "
                    "is in there does not exist",
                    directory=name,
                    path=str(path),
                    user=_user(os.geteuid()),
                )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
