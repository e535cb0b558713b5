"""The block devices of this machine, and which of them has the system that was installed."""

import os
from contextlib import suppress
from pathlib import Path

from ..contract.refusals import Rejected
from ..errors import RescriptumError
from .disks import COLUMNS, BlockDevice, listed
from .image.store import Disk
from .tools import Tools


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

    def __init__(self, path: Path, devices: BlockDevices) -> None:
        """:param path: of the file that remembers it."""
        self._path = path
        self._devices = devices

    def written(self, device: BlockDevice) -> None:
        """:raises OSError: when it cannot be kept."""
        draft = self._path.with_suffix(".new")
        draft.write_text(device.identity)
        draft.replace(self._path)

    async def find(self) -> BlockDevice:
        """
        :returns: as it is now, with its partitions.
        :raises Rejected: ``not-found`` when none was written, or it is gone.
        """
        try:
            identity = self._path.read_text()
        except OSError:
            raise Rejected("not-found", "no image was written in this boot") from None
        for each in await self._devices.all():
            if each.kind == "disk" and each.identity == identity:
                return each
        raise Rejected("not-found", f"the disk that was written, {identity[:80]}, is gone")
