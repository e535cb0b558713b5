"""The ramdisk agent: one boot of one machine, on behalf of a workflow."""

from pathlib import Path

from twisted.application.service import IService
from twisted.logger import Logger

from .. import __version__, logs
from ..agent.booted import Booted
from ..agent.character import Character
from ..agent.client import GatewayClient
from ..agent.kinds import AnyKind
from ..agent.resource import StatusTree
from ..agent.service import AgentService
from ..contract.joining import Role
from ..net.connections import Connections
from ..net.pinning import gateway_policy
from ..net.workers import WorkerPool
from ..web.local import LocalService
from ..web.site import Site
from .root import Root
from .site import SOCKET, STATUS, Reactor, end

#: The kinds that a ramdisk runs.
KINDS: tuple[AnyKind, ...] = ()

_log = Logger()


def character(booted: Booted) -> Character:
    """:returns: what makes an agent a ramdisk's."""
    return Character(Role.RAMDISK, KINDS, lambda lease: [], attestation=booted.assertion)


def make_ramdisk(
    booted: Booted,
    reactor: Reactor,
    own: Character,
    fake_hardware: bool = False,
    daemon: bool = False,
) -> IService:
    """
    :param own: the agent's character.
    :param fake_hardware: the gateway may be reached without TLS.
    :returns: the whole agent; nothing is opened or asked yet.
    """
    agent = booted.agent
    workers = WorkerPool(reactor, "journal", 1)
    statuses = WorkerPool(reactor, "status", 1)
    root = Root(
        reactor,
        logs.json(),
        [workers, statuses],
        None,
        None,
        f"rescriptum {__version__}: ramdisk of {booted.mac or 'a machine'} at {agent.site},"
        f" gateway {agent.gateway_url.to_text()}",
        daemon,
    )
    policy = gateway_policy(
        [str(each) for each in agent.serving_ca_pins], agent.gateway_server_name
    )
    client = GatewayClient(agent.gateway_url, Connections(reactor, policy, fake_hardware), reactor)

    def fails(reason: str) -> None:
        _log.error("The agent cannot go on: {reason}", reason=reason)
        end(reactor, 1)

    service = AgentService(reactor, agent, own, client, workers, booted.token, fails)
    service.setServiceParent(root)
    site = Site(StatusTree(service.status), reactor=reactor, limits=STATUS, workers=statuses)
    LocalService(reactor, "status", Path(agent.data_dir) / SOCKET, site).setServiceParent(root)
    return root
