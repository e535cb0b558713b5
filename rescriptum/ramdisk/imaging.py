"""``image.write``: from the site's cache, or else from its source, to the root disk."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from attrs import frozen

from ..contract.ramdisk import ImageFormat, ImageWrite
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from ..errors import RescriptumError
from ..interfaces import Sink, Workers
from .command import REPORTS, MachineKind, Running
from .disks import BlockDevice, chosen
from .image.compression import Compression
from .image.store import Disk, DiskTrouble
from .image.writing import StageFailed, Writing
from .receiving import PAUSE, Attempts, Receiving, Source
from .tools import Tools, ToolTrouble

#: Seconds that the kernel and udev may take to see what is on a disk now.
_SETTLING: Final = 60.0
_REREADS: Final = 5
#: What begins the second sector of a disk with a GUID partition table (UEFI 2.10 section 5.3.2).
_GPT: Final = b"EFI PART"
_PACKINGS: Final = {
    ImageFormat.RAW: Compression.NONE,
    ImageFormat.GZIP: Compression.GZIP,
    ImageFormat.ZSTD: Compression.ZSTD,
    ImageFormat.XZ: Compression.XZ,
}


@frozen
class Surroundings:
    """
    What writing an image asks of the world.

    :ivar devices: lists what there is. :ivar open: blocks. :ivar pull: of a URL; it raises
        Malformed for what is none, and asks nothing before it is told to.
    :ivar sleep: for so many seconds. :ivar every: calls something each so many seconds, and
        returns what ends that.
    :ivar workers: for what a disk may take its time with.
    :ivar written: told of the disk that has an image now.
    """

    devices: Callable[[], Awaitable[Sequence[BlockDevice]]]
    open: Callable[[BlockDevice], Disk]
    pull: Callable[[str, Sink], Attempts]
    sleep: Callable[[float], Awaitable[None]]
    every: Callable[[float, Callable[[], None]], Callable[[], None]]
    tools: Tools
    workers: Workers
    written: Callable[[BlockDevice], None]


class WriteImage(MachineKind):
    """
    Unless all of the image was written and is what it should be, nothing on its disk boots.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    name = "image.write"
    payload = ImageWrite
    timeout_s = 2 * 3600.0

    def __init__(self, around: Surroundings, cache: str) -> None:
        """:param cache: URL of the site's images, with the grant; empty: there is none."""
        self._around = around
        self._cache = cache

    async def run(self, context: Running, payload: ImageWrite) -> JSON:
        """
        :returns: which disk it is on, and where it came from.
        :raises Rejected: ``not-found`` when there is no such disk; ``revoked`` in the middle.
        :raises StageFailed: saying which stage did.
        """
        packing = _PACKINGS.get(payload.format)
        if packing is None:
            raise Rejected("invalid-payload", f"format: {payload.format.value} cannot be written")
        around, began = self._around, context.seconds()
        device = chosen(await around.devices(), payload.root_disk)
        disk = await around.workers.run(partial(around.open, device))
        writing = Writing(disk, packing)
        try:
            source = await self._written(context, payload, device, writing)
            table = await around.workers.run(partial(self._noted, disk, device))
        except BaseException as e:
            await self._abandoned(writing, e)
            raise
        finally:
            await around.workers.run(disk.close)
        # Only now: the kernel reads no table anew while somebody has the disk for himself.
        warnings = await self._settled(device, table.startswith(_GPT))
        return {
            "disk": device.name,
            "serial": device.serial,
            "bytes": writing.written,
            "received": writing.have,
            "source": source.name,
            "seconds": round(context.seconds() - began, 1),
            "warnings": warnings,
        }

    async def _written(
        self, context: Running, payload: ImageWrite, device: BlockDevice, writing: Writing
    ) -> Source:
        around, began, before = self._around, context.seconds(), 0
        digest = payload.sha256.lower()
        receiving = Receiving(digest, writing, around.pull, around.sleep)
        cached = [Source("cache", f"{self._cache}/{digest}")] if self._cache else []

        def told() -> None:
            nonlocal began, before
            if context.cancelled:
                receiving.stop()
            have, length, now = writing.have, writing.length, context.seconds()
            if have < before:
                began = now  # all of it again, from another place
            before = have
            seconds = max(now - began, 0.001)
            left = (length - have) * seconds / have if have and length is not None else 0.0
            context.progress(
                {
                    "stage": "write",
                    "disk": device.name,
                    "done": have,
                    "total": length,
                    "written": writing.written,
                    "bytes_per_s": int(writing.written / seconds),
                    "seconds_left": round(left),
                }
            )

        quiet = around.every(REPORTS, told)
        try:
            source = await receiving.run([*cached, Source("source", payload.url)])
            if context.cancelled:
                raise Rejected("revoked")
            await around.workers.run(partial(writing.finish, digest))
        finally:
            quiet()
        return source

    def _noted(self, disk: Disk, device: BlockDevice) -> bytes:
        """
        :returns: where a disk has its table.
        :raises StageFailed: when a later command could not go on from here.
        """
        try:
            table = disk.read(disk.sector, disk.sector)
            self._around.written(device)
        except DiskTrouble as e:
            raise StageFailed("verify", e) from None
        except OSError as e:
            trouble = RescriptumError(f"cannot keep which disk has it: {e.strerror}")
            raise StageFailed("verify", trouble) from None
        return table

    async def _abandoned(self, writing: Writing, why: BaseException) -> None:
        """:raises StageFailed: as ``why`` says, when the disk may boot nevertheless."""
        try:
            await self._around.workers.run(writing.abandon)
        except DiskTrouble as e:
            stage = why.stage if isinstance(why, StageFailed) else "write"
            before = str(why).removeprefix(f"{stage}: ") or "it was given up"
            trouble = DiskTrouble(f"{before}; and its ends cannot be emptied: {e}")
            raise StageFailed(stage, trouble) from None

    async def _settled(self, device: BlockDevice, guid: bool) -> list[str]:
        """
        Let the kernel see the partitions, and put a table's copy where the disk ends (W290).

        :returns: what went wrong of it: the image is there nevertheless.
        """
        said = []
        if guid:
            said.append(await self._tried("sgdisk", "--move-second-header", device.path))
        for _ in range(_REREADS):
            read = await self._tried("blockdev", "--rereadpt", device.path)
            if not read:
                break
            await self._around.sleep(PAUSE)  # udev looks at it
        said += [read, await self._tried("udevadm", "settle")]
        return [each for each in said if each]

    async def _tried(self, *argv: str) -> str:
        """:returns: what went wrong of it, even that it could not be run; empty: nothing."""
        try:
            ran = await self._around.tools.run(*argv, seconds=_SETTLING)
        except ToolTrouble as e:
            return str(e)
        return "" if ran.ok else ran.said
