"""The ramdisk agent: one boot of one machine, on behalf of a workflow."""

import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.application.service import IService
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from .. import __version__, logs
from ..agent.bootclock import corrected, said
from ..agent.booted import INSTALLED_CONFIG, INSTALLED_KEY, Booted, installed
from ..agent.character import Character
from ..agent.client import GatewayClient
from ..agent.kinds import AnyKind
from ..agent.resource import StatusTree
from ..agent.service import AgentService
from ..cache.client import HostPolicy, ImageClient, Pull
from ..cache.responses import parsed
from ..contract.joining import Role
from ..contract.refusals import Rejected
from ..interfaces import Sink
from ..net.clocks import boottime
from ..net.connections import Connections
from ..net.pinning import gateway_policy
from ..net.processes import Reactor as ProcessReactor
from ..net.workers import WorkerPool
from ..ramdisk.collecting import CollectInventory
from ..ramdisk.diagnosing import Around as Diagnosing
from ..ramdisk.diagnosing import RunDiagnostics
from ..ramdisk.diagnostics.store import Cores, memory, surface
from ..ramdisk.disks import BlockDevice
from ..ramdisk.hardware.client import Listening
from ..ramdisk.hardware.store import KernelFiles
from ..ramdisk.hardware.survey import Survey
from ..ramdisk.imaging import Surroundings, WriteImage
from ..ramdisk.installed.ext import ExtFiles
from ..ramdisk.installed.fat import FatFiles
from ..ramdisk.installed.files import Files
from ..ramdisk.installed.mounted import MountedFiles
from ..ramdisk.installed.partitions import BTRFS, EXT, FAT, MOUNTED, SUBVOLUMES
from ..ramdisk.installed.store import Beneath, Scratch
from ..ramdisk.kexec import Around as Starting
from ..ramdisk.kexec import StartInstalled
from ..ramdisk.power import Leave
from ..ramdisk.runner import ProcessTools
from ..ramdisk.seeding import Around as Seeding
from ..ramdisk.seeding import WriteSeed
from ..ramdisk.store import BlockDevices, InstalledDisk
from ..ramdisk.tools import Tools
from ..ramdisk.wipe.erasing import Around as Wiping
from ..ramdisk.wiping import WipeDisks
from ..web.local import LocalService
from ..web.site import Site
from .root import Root
from .site import SOCKET, STATUS, Reactor, end

#: Threads for what a disk may take its time with.
DISK_THREADS = 3
#: Seconds that a result may take to reach the gateway before a machine leaves, and between looks.
TELLING, TELLING_PAUSE = 20.0, 0.5
#: Seconds in which every switch has said once what it is.
SPEAKING = 35.0
SYSRQ = Path("/proc/sysrq-trigger")

_log = Logger()


class RamdiskReactor(Reactor, ProcessReactor, IReactorFDSet):
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
        self._booted = booted
        self._reactor = reactor
        self._cache = "" if booted.cache is None else booted.cache.to_text()
        self._disk = WorkerPool(reactor, "disk", DISK_THREADS)
        self._writer = WorkerPool(reactor, "image", 1)
        self.pools = [self._disk, self._writer]
        self._tools = ProcessTools(reactor)
        self._kernel = KernelFiles(root)
        self._devices = BlockDevices(root, self._tools)
        data = booted.agent.data_dir
        self._installed = InstalledDisk(data / "installed", self._devices, self._sleep)
        heard = Listening(reactor, reactor).heard
        self._survey = Survey(self._kernel, self._devices.all, self._tools, self._disk, heard)
        self._scratch = Scratch(data / "scratch")
        self._mount = data / "mnt"
        self._images = ImageClient(reactor, HostPolicy(), self._disk, self._writer)

    def character(self, own: Character, told: Callable[[], Awaitable[bool]]) -> Character:
        """
        :param told: whether the gateway has every result of the agent.
        :returns: what it makes of an agent that does nothing to its machine.
        """
        leaving = Leaving(told, self._sleep, self._tools, self._reactor.seconds)
        kinds = (*own.kinds, *self._kinds(leaving))
        return evolve(own, kinds=kinds, inventory=self._survey.taken)

    def _kinds(self, leaving: "Leaving") -> tuple[AnyKind, ...]:
        devices, tools, workers = self._devices, self._tools, self._disk
        images = Surroundings(
            devices.all,
            devices.open,
            self._pull,
            self._sleep,
            self._every,
            tools,
            workers,
            self._installed.written,
        )
        wiping = Wiping(
            devices.open, tools, workers, lambda: secrets.randbits(32), self._reactor.seconds
        )
        starting = Starting(
            self._installed.find,
            self._files,
            tools,
            lambda: self._kernel.kexec_loaded,
            leaving.run,
            self._kernel.systemd,
            lambda: [each.name for each in self._kernel.nics()],
        )
        joining = {
            INSTALLED_CONFIG: installed(self._booted.agent),
            INSTALLED_KEY: self._booted.jwk,
        }
        return (
            WipeDisks(devices.all, wiping),
            WriteImage(images, self._cache),
            WriteSeed(Seeding(self._installed.find, self._files), joining),
            StartInstalled(starting),
            RunDiagnostics(self._diagnosing()),
            CollectInventory(lambda: self._survey.taken(SPEAKING)),
            Leave("power.off", lambda: leaving.trigger("o")),
            Leave("power.reboot", lambda: leaving.trigger("b")),
        )

    def _diagnosing(self) -> Diagnosing:
        kernel = self._kernel
        return Diagnosing(
            self._devices.all,
            lambda: [str(each["id"]) for each in kernel.gpus()],
            lambda: kernel.read("proc/meminfo"),
            memory,
            Cores(),
            lambda device: surface(Path(device.path)),
            self._tools,
            self._disk,
            boottime,
        )

    def _files(self, place: BlockDevice) -> Files:
        """:raises Rejected: ``not-found`` for a file system that nothing is written to."""
        if place.filesystem in EXT:
            return ExtFiles(place.path, self._tools, self._scratch)
        if place.filesystem == FAT:
            return FatFiles(place.path, self._tools, self._scratch)
        if place.filesystem in MOUNTED:
            self._mount.mkdir(mode=0o700, exist_ok=True)
            beneath = Beneath(self._mount)
            where = str(self._mount)
            trees = SUBVOLUMES if place.filesystem == BTRFS else ()
            return MountedFiles(
                place.path, where, beneath, self._tools, self._scratch, self._disk, trees
            )
        raise Rejected("not-found", f"{place.name}: nothing is written to {place.filesystem}")

    def _pull(self, url: str, sink: Sink) -> Pull:
        return self._images.pull(parsed(url), sink, _room)

    async def _sleep(self, seconds: float) -> None:
        await deferLater(self._reactor, seconds, lambda: None)

    def _every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        looping = LoopingCall(call)
        looping.clock = self._reactor
        looping.start(seconds).addErrback(
            lambda failure: _log.failure("Telling how far it has come", failure)
        )
        return lambda: looping.stop() if looping.running else None


class Leaving:
    """Leaves this system, once the gateway has the result of the command that said so."""

    def __init__(
        self,
        told: Callable[[], Awaitable[bool]],
        sleep: Callable[[float], Awaitable[None]],
        tools: Tools,
        seconds: Callable[[], float],
    ) -> None:
        self._told = told
        self._sleep = sleep
        self._tools = tools
        self._seconds = seconds

    def run(self, steps: Sequence[tuple[str, ...]]) -> None:
        """:param steps: programs: the last one leaves."""
        self._after(self._programs(steps))

    def trigger(self, key: str) -> None:
        """:param key: of the kernel's own console: it needs no program."""
        self._after(self._keys(key))

    def _after(self, leave: Coroutine[Any, Any, None]) -> None:
        async def waiting() -> None:
            until = self._seconds() + TELLING
            await self._sleep(TELLING_PAUSE)  # the result itself has to be there first
            while not await self._told() and self._seconds() < until:
                await self._sleep(TELLING_PAUSE)
            await leave

        leaving = Deferred.fromCoroutine(waiting())
        leaving.addErrback(lambda failure: _log.failure("Leaving", failure))

    async def _programs(self, steps: Sequence[tuple[str, ...]]) -> None:
        for each in steps:
            ran = await self._tools.run(*each)
            if not ran.ok:
                _log.error("{said}", said=ran.said)

    async def _keys(self, key: str) -> None:
        """What is written stays written: the kernel syncs first."""
        for each in ("s", key):
            SYSRQ.write_text(each)
            await self._sleep(1.0)


async def _room() -> None:
    """A disk has the room that it has."""


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
