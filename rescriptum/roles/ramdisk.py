"""The ramdisk agent: one boot of one machine, on behalf of a workflow."""

import time
from pathlib import Path

from twisted.application.service import IService
from twisted.logger import Logger

from .. import __version__, logs
from ..agent.bootclock import corrected, said
from ..agent.booted import Booted
from ..agent.character import Character
from ..agent.client import GatewayClient
from ..agent.resource import StatusTree
from ..agent.service import AgentService
from ..contract.joining import Role
from ..net.clocks import boottime
from ..net.connections import Connections
from ..net.pinning import gateway_policy
from ..net.workers import WorkerPool
from ..web.local import LocalService
from ..web.site import Site
from .machine import Machine, RamdiskReactor
from .root import Root
from .site import SOCKET, STATUS, end

_log = Logger()


def character(booted: Booted) -> Character:
    """:returns: what makes an agent a ramdisk's, as far as it does nothing to its machine."""
    return Character(Role.RAMDISK, (), lambda lease: [], attestation=booted.assertion)


def _set_clock(booted: Booted) -> None:
    now = corrected(time.time(), said(booted.assertion), boottime())
    if now is None:
        return
    _log.warn("The clock shows {wall:.0f}: it is set to {now}", wall=time.time(), now=now)
    try:
        time.clock_settime(time.CLOCK_REALTIME, now)
    except OSError as e:
        _log.error("The clock cannot be set: {reason}", reason=e.strerror)


def make_ramdisk(
    booted: Booted,
    reactor: RamdiskReactor,
    own: Character,
    root_directory: Path,
    owns_machine: bool,
    fake_hardware: bool = False,
    daemon: bool = False,
) -> IService:
    """
    :param own: the agent's character, before its machine.
    :param root_directory: below which ``/proc``, ``/sys`` and ``/dev`` are.
    :param owns_machine: whether it was this machine's own kernel that was told: its clock is set
        where it cannot be right.
    :param fake_hardware: the gateway may be reached without TLS.
    :returns: the whole agent; nothing is opened or asked yet.
    """
    agent = booted.agent
    if owns_machine:
        _set_clock(booted)
    workers = WorkerPool(reactor, "journal", 1)
    statuses = WorkerPool(reactor, "status", 1)
    machine = Machine(booted, reactor, root_directory)
    root = Root(
        reactor,
        logs.json(),
        [workers, statuses, *machine.pools],
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

    async def told() -> bool:
        return await service.told()

    own = machine.character(own, told)
    service = AgentService(reactor, agent, own, client, workers, booted.token, fails)
    service.setServiceParent(root)
    site = Site(StatusTree(service.status), reactor=reactor, limits=STATUS, workers=statuses)
    LocalService(reactor, "status", Path(agent.data_dir) / SOCKET, site).setServiceParent(root)
    return root
