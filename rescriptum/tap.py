"""``twistd rescriptum``: the options of each role, and the service it becomes."""

import os
import sys
from pathlib import Path
from typing import ClassVar, NoReturn, cast

from twisted.application.service import IService
from twisted.python.usage import Options as UsageOptions

from . import __version__
from .config import Config, read
from .errors import ConfigError
from .logs import STREAMS


class RoleOptions(UsageOptions):
    """
    What every role shares.

    :ivar config: there once the options are parsed.
    """

    longdesc = ""  # else usage.py borrows the docstring of whatever is __main__
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", None, "A TOML file with settings (or RESCRIPTUM_CONFIG)."],
    ]

    config: Config

    def opt_version(self) -> None:
        """Print the version of rescriptum, not of Twisted."""
        print(f"rescriptum {__version__}")  # noqa: T201
        raise SystemExit(0)

    def postOptions(self) -> None:
        """A configuration that cannot start ends here, with all its problems, by exit code 2."""
        named = self["config"]
        reading = read(os.environ, Path(named) if named is not None else None)
        for warning in reading.warnings:
            sys.stderr.write(f"warning: {warning}\n")
        try:
            self.config = reading.config()
        except ConfigError as e:
            _refuse(e)


def _refuse(error: ConfigError) -> NoReturn:
    for problem in error.problems:
        sys.stderr.write(f"error: {problem}\n")
    raise SystemExit(2)


class ServeOptions(RoleOptions):
    """The boot server."""

    synopsis = "[--config FILE]"
    longdesc = (
        "The boot server: answers for unattended installers, boot media out of images, loaders by"
        " TFTP, iPXE scripts. Its settings are RESCRIPTUM_* variables, a TOML file and an"
        " environment file; 'rescriptum config' shows them all."
    )


class Options(ServeOptions):
    """``twistd rescriptum [ROLE]``; without a role, the boot server."""

    synopsis = "[serve] [--config FILE]"
    subCommands: ClassVar[list[list[object]]] = [
        ["serve", None, ServeOptions, "The boot server (also without a role)."],
    ]

    def postOptions(self) -> None:
        if self.subCommand is None:
            super().postOptions()


def makeService(options: Options) -> IService:
    """:returns: the role's service; nothing is opened or bound before it starts."""
    from twisted.internet import reactor

    from .roles.answering import Reactor
    from .roles.serve import make_server

    chosen = options if options.subCommand is None else options.subOptions
    try:
        twistd = options.parent
        daemon = twistd is not None and not twistd["nodaemon"]
        if daemon and chosen.config.log.show != "off" and chosen.config.log.file in STREAMS:
            sys.stderr.write("warning: in the background nobody reads the log; name a file by ")
            sys.stderr.write("RESCRIPTUM_LOG_FILE, or start by twistd -n\n")
        logger = twistd is not None and twistd["logger"] is not None
        return make_server(chosen.config, cast(Reactor, reactor), daemon, logger)
    except ConfigError as e:
        _refuse(e)
