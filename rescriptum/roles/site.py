"""The site agent: one session with a gateway, on behalf of the machines of one site."""

import atexit
import os
import sys
from pathlib import Path

from twisted.application.service import IService
from twisted.internet.interfaces import IReactorCore, IReactorUNIX
from twisted.logger import ILogObserver, Logger

from .. import __version__, logs
from ..agent.character import Character
from ..agent.client import GatewayClient
from ..agent.config import SiteConfig
from ..agent.desired import SiteSection
from ..agent.kinds import AnyKind
from ..agent.resource import StatusTree
from ..agent.service import AgentService
from ..contract.joining import Role
from ..net.connections import Connections
from ..net.pinning import gateway_policy
from ..net.processes import Reactor as BmcReactor
from ..net.workers import WorkerPool
from ..web.local import LocalService
from ..web.site import Limits, Site
from .bmc import BmcService
from .booting import Booting
from .booting import Reactor as BootReactor
from .proxying import proxying
from .root import Root

#: The socket of an agent, in its data directory.
SOCKET = "agent.sock"
#: What its listener takes: a person, a script, and some more of them.
STATUS = Limits(connections=16, transfers=16, header_seconds=5, total_seconds=10, body_bytes=0)

#: The kinds that a site agent runs.
KINDS: tuple[AnyKind, ...] = ()

_log = Logger()


def character(config: SiteConfig) -> Character:
    """:returns: what makes an agent a site agent."""
    labels = {}
    if config.bmc_networks:
        labels["site.bmc-networks"] = ",".join(map(str, config.bmc_networks))
    return Character(Role.SITE, KINDS, lambda lease: [SiteSection(lease)], labels=labels)


class Reactor(BootReactor, IReactorUNIX, BmcReactor):
    """What an agent asks of a reactor."""


def observer(log_format: str) -> ILogObserver:
    """:returns: lines on stderr: for people, or for machines."""
    return logs.json() if log_format == "json" else logs.observer("all", "stderr")


def make_site(
    config: SiteConfig,
    reactor: Reactor,
    own: Character,
    token: str | None,
    fake_hardware: bool = False,
    daemon: bool = False,
) -> IService:
    """
    :param own: the agent's character.
    :param token: for joining, where there is no identity yet.
    :param fake_hardware: the gateway may be reached without TLS.
    :returns: the whole site agent; nothing is opened or asked yet.
    """
    agent = config.agent
    workers = WorkerPool(reactor, "journal", 1)
    statuses = WorkerPool(reactor, "status", 1)
    pools = [workers, statuses]
    root = Root(
        reactor,
        observer(agent.log_format),
        pools,
        None,
        None,
        _greeting(config),
        daemon,
    )
    booting = None
    if config.boot is not None:
        booting = Booting(config, config.boot, reactor, workers)
        own = booting.character(own)
        pools += booting.pools
    bmcs = BmcService(config, reactor, workers, lambda: None if booting is None else booting.offers)
    bmcs.setServiceParent(root)
    own = proxying(bmcs.character(own), config, reactor, bmcs.known)
    policy = gateway_policy(
        [str(each) for each in agent.serving_ca_pins], agent.gateway_server_name
    )
    client = GatewayClient(agent.gateway_url, Connections(reactor, policy, fake_hardware), reactor)

    def fails(reason: str) -> None:
        _log.error("The agent cannot go on: {reason}", reason=reason)
        end(reactor, 1)

    service = AgentService(reactor, agent, own, client, workers, token, fails)
    service.setServiceParent(root)
    if booting is not None:
        booting.attach(service, client, root)
    site = Site(StatusTree(service.status), reactor=reactor, limits=STATUS, workers=statuses)
    path = Path(agent.data_dir) / SOCKET
    LocalService(reactor, "status", path, site).setServiceParent(root)
    return root


def end(reactor: IReactorCore, code: int) -> None:
    """Stop in good order, and exit by ``code``: twistd itself knows no other one than 0."""

    def last() -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)

    atexit.register(last)
    reactor.callWhenRunning(reactor.stop)


def _greeting(config: SiteConfig) -> str:
    agent = config.agent
    boots = (
        f"it serves PXE machines on {config.boot.listen}"
        if config.boot is not None
        else "without [boot] listen it serves no PXE machines"
    )
    return (
        f"rescriptum {__version__}: site agent of {agent.site}, gateway"
        f" {agent.gateway_url.to_text()}; {boots}"
    )
