"""``twistd rescriptum``: the options of each role, and the service it becomes."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn, cast

from attrs import evolve
from twisted.application.service import IService
from twisted.python.usage import Options as UsageOptions
from twisted.python.usage import UsageError

from . import __version__
from .config import Config, read
from .errors import ConfigError
from .logs import STREAMS
from .values import Problem

if TYPE_CHECKING:
    from .agent.booted import Booted
    from .agent.config import SiteConfig
    from .gateway.config import Config as GatewayConfig

#: Where a site agent finds a join token, if no file is named.
JOIN_TOKEN = "RESCRIPTUM_JOIN_TOKEN"
#: What this machine's own kernel was told.
OWN_CMDLINE = "/proc/cmdline"
#: Characters of a join token.
_TOKEN = 128


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


class AgentOptions(RoleOptions):
    """What agents share: they are not configured as the boot server is, and take no arguments."""

    role: ClassVar[str]

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """What is not an option of this role ends here, by exit code 2."""
        try:
            super().parseOptions(options)
        except UsageError as e:
            _refuse(ConfigError([Problem(f"twistd rescriptum {self.role}", str(e))]))

    def parseArgs(self, *extra: str) -> None:
        """:raises UsageError: for any: files are named by options."""
        if extra:
            raise UsageError(f"takes no argument, and got {extra[0]!r}")


class SiteOptions(AgentOptions):
    """
    The site agent.

    :ivar site: its configuration; there once the options are parsed.
    :ivar token: for joining; None: none was given.
    """

    role = "site"
    synopsis = "[--config FILE]"
    longdesc = (
        "The site agent: one session with a gateway, for the machines of one site. It joins with a"
        " token at its first start (--token-file, or RESCRIPTUM_JOIN_TOKEN), and keeps its identity"
        " in data_dir."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", "/etc/rescriptum/site.toml", "The agent's TOML file."],
        ["token-file", "t", None, "A file with a join token (or RESCRIPTUM_JOIN_TOKEN)."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["fake-hardware", None, "For tests: the gateway may be reached by http://."],
    ]

    site: "SiteConfig"
    token: str | None

    def postOptions(self) -> None:
        """A configuration that cannot start ends here, with all its problems, by exit code 2."""
        _need("site", "joserfc", "cattrs")
        from .agent.config import read as read_site

        try:
            self.site = read_site(Path(self["config"]), bool(self["fake-hardware"]))
            self.token = _token(self["token-file"])
        except ConfigError as e:
            _refuse(e)


class RamdiskOptions(AgentOptions):
    """
    The ramdisk agent.

    :ivar booted: what its kernel was told; there once the options are parsed.
    """

    role = "ramdisk"
    synopsis = "[--cmdline FILE] [--data-dir DIR]"
    longdesc = (
        "The ramdisk agent: joins from the kernel's command line, which a site agent has written,"
        " and does to this machine what a workflow says: wipe, write an image, boot it."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["cmdline", None, OWN_CMDLINE, "Where the kernel's command line is read."],
        ["data-dir", "d", "/run/rescriptum", "Where identity and journal are, for this boot."],
        ["root", None, "/", "For tests: where /proc, /sys and /dev are."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["fake-hardware", None, "For tests: the gateway may be reached by http://."],
    ]

    booted: "Booted"

    def postOptions(self) -> None:
        """What cannot start ends here: by 2 for what is missing or wrong, by 1 for a wrong key."""
        _need("ramdisk", "joserfc", "cattrs", "isal")
        from .agent.booted import LONGEST, booted, sealing_pin
        from .contract.refusals import Rejected

        file, fake = self["cmdline"], bool(self["fake-hardware"])
        try:
            with open(file, encoding="ascii", errors="replace") as opened:
                line = opened.read(LONGEST)
            self.booted = booted(line, file, Path(self["data-dir"]), fake)
        except OSError as e:
            _refuse(ConfigError([Problem(file, f"cannot be read: {e.strerror}")]))
        except ConfigError as e:
            _refuse(e)
        agent = self.booted.agent
        try:
            pinned = sealing_pin(self.booted.jwk, agent.join_encryption_pin)
        except Rejected as e:
            sys.stderr.write(f"error: {file}: bc.jwk: {e}. {e.refusal.advice}\n")
            raise SystemExit(1) from None
        self.booted = evolve(self.booted, agent=evolve(agent, join_encryption_pin=pinned))


def _need(role: str, *packages: str) -> None:
    """What a role alone needs is there, or else it ends here."""
    for each in packages:
        try:
            import_module(each)
        except ModuleNotFoundError as e:
            _lacks(role, e)


def _lacks(role: str, error: ModuleNotFoundError) -> NoReturn:
    text = f"needs {error.name}: install rescriptum[{role}]"
    _refuse(ConfigError([Problem(f"twistd rescriptum {role}", text)]))


def _token(file: str | None) -> str | None:
    """:raises ConfigError: for a file that cannot be read, or holds no token."""
    if file is None:
        return os.environ.get(JOIN_TOKEN, "").strip() or None
    try:
        with open(file, encoding="ascii") as opened:
            token = opened.read(_TOKEN + 1).strip()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else "not a text"
        raise ConfigError([Problem(file, f"cannot be read: {reason}")]) from e
    if not 0 < len(token) <= _TOKEN:
        raise ConfigError([Problem(file, f"want one join token of up to {_TOKEN} characters")])
    return token


class GatewayOptions(RoleOptions):
    """
    The gateway.

    :ivar gateway: its configuration; there once the options are parsed.
    """

    synopsis = "[--config FILE] [--data-dir DIR]"
    longdesc = (
        "The gateway: the control plane that site agents and ramdisks join. It needs no"
        " configuration: keys and database are made in --data-dir at the first start."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", None, "A TOML file with settings."],
        ["data-dir", "d", None, "Where keys and database are, over what the file says."],
    ]

    gateway: "GatewayConfig"

    def postOptions(self) -> None:
        """A configuration that cannot start ends here, with all its problems, by exit code 2."""
        from .gateway.config import read as read_gateway

        file, data_dir = self["config"], self["data-dir"]
        try:
            reading = read_gateway(
                None if file is None else Path(file), None if data_dir is None else Path(data_dir)
            )
        except ConfigError as e:
            _refuse(e)
        for warning in reading.warnings:
            sys.stderr.write(f"warning: {warning}\n")
        self.gateway = reading.config


class Options(ServeOptions):
    """``twistd rescriptum [ROLE]``; without a role, the boot server."""

    synopsis = "[serve | site | ramdisk | gateway] [--config FILE]"
    subCommands: ClassVar[list[list[object]]] = [
        ["serve", None, ServeOptions, "The boot server (also without a role)."],
        ["site", None, SiteOptions, "The site agent of a gateway."],
        ["ramdisk", None, RamdiskOptions, "The agent in a machine's ramdisk."],
        ["gateway", None, GatewayOptions, "The gateway: the control plane of agents."],
    ]

    def postOptions(self) -> None:
        if self.subCommand is None:
            super().postOptions()


def makeService(options: Options) -> IService:
    """:returns: the role's service; nothing is opened or bound before it starts."""
    from twisted.internet import reactor

    role = options.subOptions if options.subCommand else None
    if isinstance(role, SiteOptions):
        return _site(options, reactor)
    if isinstance(role, RamdiskOptions):
        return _ramdisk(options, reactor)
    if isinstance(role, GatewayOptions):
        return _gateway(options, reactor)

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


def _site(options: Options, reactor: object) -> IService:
    from .roles.site import Reactor, character, make_site

    chosen, twistd = options.subOptions, options.parent
    daemon = twistd is not None and not twistd["nodaemon"]
    return make_site(
        chosen.site,
        cast(Reactor, reactor),
        character(chosen.site),
        chosen.token,
        bool(chosen["fake-hardware"]),
        daemon,
    )


def _ramdisk(options: Options, reactor: object) -> IService:
    from .roles.machine import RamdiskReactor
    from .roles.ramdisk import character, make_ramdisk

    chosen, twistd = options.subOptions, options.parent
    return make_ramdisk(
        chosen.booted,
        cast(RamdiskReactor, reactor),
        character(chosen.booted),
        Path(chosen["root"]),
        chosen["cmdline"] == OWN_CMDLINE,
        bool(chosen["fake-hardware"]),
        twistd is not None and not twistd["nodaemon"],
    )


def _gateway(options: Options, reactor: object) -> IService:
    try:
        from .gateway.service import Reactor
        from .roles.gateway import make_gateway
    except ModuleNotFoundError as e:
        _lacks("gateway", e)

    twistd = options.parent
    daemon = twistd is not None and not twistd["nodaemon"]
    try:
        return make_gateway(options.subOptions.gateway, cast(Reactor, reactor), daemon)
    except ConfigError as e:
        _refuse(e)
