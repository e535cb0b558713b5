"""The machine that a ramdisk's agent runs on, and what may be done to it."""

import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from attrs import evolve
from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from ..agent.booted import INSTALLED_CONFIG, INSTALLED_KEY, Booted, installed
from ..agent.character import Character
from ..agent.kinds import AnyKind
from ..cache.client import HostPolicy, ImageClient, Pull
from ..contract.refusals import Rejected
from ..contract.sources import image_url
from ..interfaces import Sink
from ..net.clocks import boottime
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
from ..ramdisk.wipe.erasing import Around as Wiping
from ..ramdisk.wiping import WipeDisks
from .leaving import Leaving
from .site import Reactor

#: Threads for what a disk may take its time with.
DISK_THREADS = 3
#: Seconds in which every switch has said once what it is.
SPEAKING = 35.0

_log = Logger()


class RamdiskReactor(Reactor, ProcessReactor, IReactorFDSet):
    """What a ramdisk's agent asks of a reactor."""


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
        self._root = root
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
        console = self._root / "proc/sysrq-trigger"
        leaving = Leaving(told, self._sleep, self._tools, self._reactor.seconds, console)
        kinds = (*own.kinds, *self._kinds(leaving))
        return evolve(own, kinds=kinds, inventory=self._survey.taken)

    def _kinds(self, leaving: Leaving) -> tuple[AnyKind, ...]:
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
            lambda: leaving.trigger("b"),
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
        return self._images.pull(image_url(url), sink, _room)

    async def _sleep(self, seconds: float) -> None:
        await deferLater(self._reactor, seconds, lambda: None)

    def _every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        looping = LoopingCall(call)
        looping.clock = self._reactor
        looping.start(seconds).addErrback(
            lambda failure: _log.failure("Telling how far it has come", failure)
        )
        return lambda: looping.stop() if looping.running else None


async def _room() -> None:
    """A disk has the room that it has."""
