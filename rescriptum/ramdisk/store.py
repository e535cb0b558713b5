"""The block devices of this machine, and which of them has the system that was installed."""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..contract.refusals import Rejected
from ..errors import RescriptumError
from .disks import COLUMNS, BlockDevice, listed
from .image.store import Disk
from .installed.partitions import parts
from .tools import Tools

#: Looks for partitions that are not there yet, and seconds between two.
LOOKS: Final = 10
PAUSE: Final = 1.0


class BlockDevices:
    """What ``lsblk`` lists, and the slots that udev has links for."""

    def __init__(self, root: Path, tools: Tools) -> None:
        """:param root: below which ``/dev`` is."""
        self._root = root
        self._tools = tools

    async def all(self) -> tuple[BlockDevice, ...]:
        """:raises RescriptumError: when they cannot be listed."""
        ran = await self._tools.run("lsblk", "--json", "--bytes", "--output", COLUMNS)
        if not ran.ok:
            raise RescriptumError(ran.said)
        return listed(ran.stdout, self._slots())

    def _slots(self) -> dict[str, str]:
        found: dict[str, str] = {}
        links = self._root / "dev/disk/by-path"
        with suppress(OSError):  # no udev, or no disk that has a slot
            for name in sorted(os.listdir(links)):
                with suppress(OSError):
                    found.setdefault(Path(os.readlink(links / name)).name, name)
        return found

    def open(self, device: BlockDevice) -> Disk:
        """Blocks. :raises DiskTrouble: when it cannot be written, or something of it is in use."""
        return Disk.open(Path(device.path))


class InstalledDisk:
    """
    The disk that an image was written to in this boot, by what it says of itself: an agent that is
    begun anew finds it, whatever the kernel calls it then (W280).
    """

    def __init__(
        self, path: Path, devices: BlockDevices, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        """:param path: of the file that remembers it. :param sleep: for so many seconds."""
        self._path = path
        self._devices = devices
        self._sleep = sleep

    def written(self, device: BlockDevice) -> None:
        """:raises OSError: when it cannot be kept."""
        draft = self._path.with_suffix(".new")
        draft.write_text(device.identity)
        draft.replace(self._path)

    async def find(self) -> BlockDevice:
        """
        :returns: as it is now, with its partitions: they may come late, whatever udev says (W291).
        :raises Rejected: ``not-found`` when none was written, or it is gone.
        """
        try:
            identity = self._path.read_text()
        except OSError:
            raise Rejected("not-found", "no image was written in this boot") from None
        found = await self._of(identity)
        for _ in range(LOOKS):
            if any(each.filesystem for each in parts(found)):
                break
            await self._sleep(PAUSE)
            found = await self._of(identity)
        return found

    async def _of(self, identity: str) -> BlockDevice:
        for each in await self._devices.all():
            if each.kind == "disk" and each.identity == identity:
                return each
        raise Rejected("not-found", f"the disk that was written, {identity[:80]}, is gone")
