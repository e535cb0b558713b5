"""``rescriptum boot``: what DHCP has to say, the scripts as they are served, a walk of it all."""

import json
from ipaddress import ip_address
from typing import ClassVar, TextIO

from attrs import evolve
from treq.client import HTTPClient
from twisted.internet.interfaces import IReactorTime
from twisted.python.usage import UsageError
from twisted.web.client import Agent, HTTPConnectionPool
from zope.interface import Interface

from .. import __version__
from ..boot import chain
from ..boot.client import PATIENCE, ChainClient
from ..boot.store import BootDirectory
from ..config import Config
from ..errors import NotFound, Refused
from ..media.catalogue import Catalogue
from ..media.disk.store import read_catalogue
from ..net.addresses import derived_host
from ..net.pinned import Pinned
from ..roles import scripts
from ..settings import BY_VARIABLE
from ..snippets.formats import NAMES, Format, resolve
from ..snippets.handoff import Handoff, doubts
from ..values import MAC
from .loaders import LoadersOptions
from .options import Command, Group
from .walk import Endpoints, Walk


def endpoints(config: Config) -> Endpoints:
    """:returns: where machines find this server, and why they may not."""
    host = config.public_host or derived_host()
    try:
        doubted = doubts(ip_address(host), derived=config.public_host is None)
    except ValueError:
        doubted = [
            f"{host} is a name: firmware finds it only where DHCP also names a resolver; "
            "set RESCRIPTUM_PUBLIC_HOST to an address"
        ]
    return Endpoints(host, scripts.media_url(config), scripts.answers_url(config), tuple(doubted))


class SnippetOptions(Command):
    """``boot dhcp-snippet``."""

    synopsis = "Usage: rescriptum boot dhcp-snippet [--format FORMAT] [--one-loader] [--host IP]"
    longdesc = (
        "Prints the lines that a DHCP server of somebody else's needs, on standard output; what is "
        "doubtful about them goes to standard error."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["one-loader", None, "For a fleet that is all BIOS: one file for every machine."],
    ]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["format", "f", "dnsmasq", f"One of {', '.join(NAMES)}."],
        ["host", None, None, "An address in the place of RESCRIPTUM_PUBLIC_HOST: IPv6 for DHCPv6."],
    ]
    format: Format

    def postOptions(self) -> None:
        try:
            self.format = resolve(self["format"])
            if self["host"] is not None:
                BY_VARIABLE["RESCRIPTUM_PUBLIC_HOST"].parse(self["host"])
                ip_address(self["host"])
        except (NotFound, Refused, ValueError) as e:
            raise UsageError(str(e)) from None

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises Refused: where the public host is a name, or the format has no words for it.
        """
        host = self["host"] or config.public_host or derived_host()
        try:
            address = ip_address(host)
        except ValueError:
            raise Refused(
                f"{host} is a name, and firmware has no resolver to rely on: set "
                "RESCRIPTUM_PUBLIC_HOST to an address, or give one with --host"
            ) from None
        handoff = Handoff(
            host=address,
            media_base=scripts.media_url(evolve(config, public_host=str(address))),
            version=__version__,
            one_loader=bool(self["one-loader"]),
            missing=_missing(config),
        )
        snippet = self.format.render(handoff)
        derived = config.public_host is None and self["host"] is None
        for warning in (*doubts(address, derived=derived), *handoff.absent(self.format.bios)):
            err.write(f"warning: {warning}\n")
        if config.boot.directory is None:
            err.write("warning: RESCRIPTUM_BOOT_DIR is not set: no loader is served from here\n")
        out.write(snippet)
        return 0


def _missing(config: Config) -> frozenset[str]:
    """:returns: what machines would be sent for in vain; nothing where there is no directory."""
    if config.boot.directory is None:
        return frozenset()
    loaders = BootDirectory(config.boot.directory, {})
    return frozenset(each.name for each in chain.wanted() if not _has(loaders, each.name))


def _has(loaders: BootDirectory, name: str) -> bool:
    try:
        loaders.find(name.encode("ascii"))
    except Refused:
        return False
    return True


class CheckOptions(Command):
    """``boot check``."""

    synopsis = "Usage: rescriptum boot check [--mac MAC] [--json]"
    longdesc = (
        "Walks the chain as a machine would, against the running server: loaders on the disk, over "
        "TFTP and over HTTP, the scripts, kernels and initrds. Exit code 0: a machine would boot; "
        "1: it would not, and the text says at which link and what to do."
    )
    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["mac", "m", None, "Follow this machine: its script, its kernel, its installer's answer."],
    ]
    mac: MAC | None = None

    def postOptions(self) -> None:
        if self["mac"] is not None:
            try:
                self.mac = MAC.parse(self["mac"])
            except ValueError as e:
                raise UsageError(str(e)) from None

    async def perform_async(
        self, reactor: Interface, config: Config, out: TextIO, err: TextIO
    ) -> int:
        client = ChainClient(HTTPClient(_agent(reactor, config)), IReactorTime(reactor))
        walk = Walk(reactor, config, endpoints(config), client, self.mac)
        findings = await walk.walk()
        if self["json"]:
            json.dump(chain.as_json(findings), out, indent=2)
            out.write("\n")
        else:
            out.write(chain.as_text(findings))
        return 1 if chain.fails(findings) else 0


def _agent(reactor: Interface, config: Config) -> Agent:
    pool = HTTPConnectionPool(reactor, persistent=False)
    if config.tls is None:
        return Agent(reactor, connectTimeout=PATIENCE, pool=pool)
    return Agent(reactor, Pinned(config.tls.certificate), connectTimeout=PATIENCE, pool=pool)


class BootstrapOptions(Command):
    """``boot bootstrap``."""

    synopsis = "Usage: rescriptum boot bootstrap"
    longdesc = "Prints the script that every machine runs first, as it is served."

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        out.write(scripts.bootstrap(config))
        return 0


class MenuOptions(Command):
    """``boot menu``."""

    synopsis = "Usage: rescriptum boot menu"
    longdesc = "Prints the menu of the images that are there now, as it is served."

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        catalogue = Catalogue()
        if config.media.directory is not None:
            catalogue = read_catalogue(config.media.directory)
        logo = config.boot.directory is not None and (
            config.boot.logo is not None
            or _has(BootDirectory(config.boot.directory, {}), scripts.LOGO)
        )
        for problem in catalogue.problems:
            err.write(f"problem: {problem}\n")
        out.write(scripts.menu(config, scripts.choices(config, catalogue), logo))
        return 0


class BootOptions(Group):
    """``boot``."""

    synopsis = "Usage: rescriptum boot COMMAND [options]"
    longdesc = "The way from power-on to an installer."
    subCommands: ClassVar[list[list[object]]] = [
        ["bootstrap", None, BootstrapOptions, "The script that every machine runs first."],
        ["check", None, CheckOptions, "Would a machine boot from here?"],
        ["dhcp-snippet", None, SnippetOptions, "The lines that your DHCP server needs."],
        ["loaders", None, LoadersOptions, "What machines are handed first: install it, list it."],
        ["menu", None, MenuOptions, "What a machine that nothing claims may choose from."],
    ]
