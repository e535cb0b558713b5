"""The block devices of this machine."""

import os
from contextlib import suppress
from pathlib import Path

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
