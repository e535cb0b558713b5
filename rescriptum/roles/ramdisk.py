"""The ramdisk agent: one boot of one machine, on behalf of a workflow."""

import time
from collections.abc import Callable
from pathlib import Path

from attrs import evolve
from twisted.application.service import IService
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from .. import __version__, logs
from ..agent.bootclock import corrected, said
from ..agent.booted import Booted
from ..agent.character import Character
from ..agent.client import GatewayClient
from ..agent.kinds import AnyKind
from ..agent.resource import StatusTree
from ..agent.service import AgentService
from ..cache.client import HostPolicy, ImageClient, Pull
from ..cache.responses import parsed
from ..contract.joining import Role
from ..interfaces import Sink
from ..net.clocks import boottime
from ..net.connections import Connections
from ..net.pinning import gateway_policy
from ..net.processes import Reactor as ProcessReactor
from ..net.workers import WorkerPool
from ..ramdisk.imaging import Surroundings, WriteImage
from ..ramdisk.runner import ProcessTools
from ..ramdisk.store import BlockDevices
from ..web.local import LocalService
from ..web.site import Site
from .root import Root
from .site import SOCKET, STATUS, Reactor, end

#: Threads for what a disk may take its time with.
DISK_THREADS = 3

_log = Logger()


class RamdiskReactor(Reactor, ProcessReactor):
    """What a ramdisk's agent asks of a reactor."""


def character(booted: Booted) -> Character:
    """:returns: what makes an agent a ramdisk's, as far as it does nothing to its machine."""
    return Character(Role.RAMDISK, (), lambda lease: [], attestation=booted.assertion)


class Machine:
    """
    The machine that the agent runs on, and what may be done to it.

    :ivar pools: threads that it uses.
    """

    def __init__(self, booted: Booted, reactor: RamdiskReactor, root: Path) -> None:
        """:param root: below which ``/proc``, ``/sys`` and ``/dev`` are."""
        self._reactor = reactor
        self._cache = "" if booted.cache is None else booted.cache.to_text()
        self._disk = WorkerPool(reactor, "disk", DISK_THREADS)
        self._writer = WorkerPool(reactor, "image", 1)
        self.pools = [self._disk, self._writer]
        self._tools = ProcessTools(reactor)
        self._devices = BlockDevices(root, self._tools)
        self._images = ImageClient(reactor, HostPolicy(), self._disk, self._writer)

    def character(self, own: Character) -> Character:
        """:returns: what it makes of an agent that does nothing to its machine."""
        return evolve(own, kinds=(*own.kinds, *self._kinds()))

    def _kinds(self) -> tuple[AnyKind, ...]:
        around = Surroundings(
            self._devices.all,
            self._devices.open,
            self._pull,
            self._sleep,
            self._every,
            self._tools,
            self._disk,
        )
        return (WriteImage(around, self._cache),)

    def _pull(self, url: str, sink: Sink) -> Pull:
        return self._images.pull(parsed(url), sink, _room)

    async def _sleep(self, seconds: float) -> None:
        await deferLater(self._reactor, seconds, lambda: None)

    def _every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        looping = LoopingCall(call)
        looping.clock = self._reactor
        looping.start(seconds)
        return looping.stop


def _set_clock(booted: Booted) -> None:
    now = corrected(time.time(), said(booted.assertion), boottime())
    if now is None:
        return
    _log.warn("The clock shows {wall:.0f}: it is set to {now}", wall=time.time(), now=now)
    try:
        time.clock_settime(time.CLOCK_REALTIME, now)
    except OSError as e:
        _log.error("The clock cannot be set: {reason}", reason=e.strerror)


async def _room() -> None:
    """A disk has the room that it has."""


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

    own = machine.character(own)
    service = AgentService(reactor, agent, own, client, workers, booted.token, fails)
    service.setServiceParent(root)
    site = Site(StatusTree(service.status), reactor=reactor, limits=STATUS, workers=statuses)
    LocalService(reactor, "status", Path(agent.data_dir) / SOCKET, site).setServiceParent(root)
    return root
