"""``seed.write``: what an installed system is told at its first start, and what it joins by."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from attrs import frozen

from ..contract.ramdisk import SeedKind, SeedWrite
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from .command import MachineKind, Running
from .disks import BlockDevice
from .installed.files import Files
from .installed.partitions import FAT, labelled, root_of

#: Where cloud-init looks without any configuration, in a root file system.
NOCLOUD: Final = "/var/lib/cloud/seed/nocloud"
#: Where an agent of the installed system finds what it joins by.
JOINING: Final = "/etc/rescriptum"
_PRIVATE, _USUAL = 0o600, 0o640
#: Bytes of user data.
LONGEST: Final = 1 << 20


@frozen
class Around:
    """
    What writing a seed asks of the world.

    :ivar installed: the disk that an image was written to in this boot.
    :ivar files: of a partition.
    """

    installed: Callable[[], Awaitable[BlockDevice]]
    files: Callable[[BlockDevice], Files]


class WriteSeed(MachineKind):
    """
    Puts user data, and the files by which an agent joins, into the system that was installed.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    name = "seed.write"
    payload = SeedWrite
    timeout_s = 600.0

    def __init__(self, around: Around, joining: Mapping[str, bytes]) -> None:
        """:param joining: files by their names; nothing in them is a secret."""
        self._around = around
        self._joining = joining

    async def run(self, context: Running, payload: SeedWrite) -> JSON:
        """
        :returns: where everything is.
        :raises Rejected: ``not-found`` when nothing of the image can take it.
        :raises FilesTrouble: when it cannot be written.
        """
        data = b""
        if payload.user_data_ref:
            data = (await context.secret(payload.user_data_ref)).reveal().encode()
            if len(data) > LONGEST:
                raise Rejected("too-large", f"user data of more than {LONGEST} bytes")
        disk = await self._around.installed()
        root = root_of(disk)
        place, seeds = _seeds(disk, root, payload, data, context.command.workflow)
        joins = {f"{JOINING}/{name}": each for name, each in self._joining.items()}
        written = await self._write(place, seeds, _PRIVATE)
        written += await self._write(root, joins, _USUAL)
        return {"disk": disk.name, "files": written}

    async def _write(self, place: BlockDevice, files: Mapping[str, bytes], mode: int) -> list[str]:
        if not files:
            return []
        into = self._around.files(place)
        try:
            for path, data in files.items():
                await into.write(path, data, mode)
        finally:
            await into.done()
        return [f"{place.name}:{path}" for path in files]


def _seeds(
    disk: BlockDevice, root: BlockDevice, payload: SeedWrite, data: bytes, workflow: str
) -> tuple[BlockDevice, dict[str, bytes]]:
    """:returns: the partition that is looked at first, and the files in it."""
    if payload.kind is SeedKind.IGNITION:
        return _ignition(disk, data)
    # YAML takes a text as JSON writes it, whatever is in it.
    lines = [f"instance-id: {json.dumps(payload.instance_id or workflow)}"]
    if payload.hostname:
        lines.append(f"local-hostname: {json.dumps(payload.hostname)}")
    files = {"meta-data": "".join(f"{line}\n" for line in lines).encode(), "user-data": data}
    own = labelled(disk, "cidata")
    if own is not None and own.filesystem == FAT:
        return own, {f"/{name}": each for name, each in files.items()}
    return root, {f"{NOCLOUD}/{name}": each for name, each in files.items()}


def _ignition(disk: BlockDevice, data: bytes) -> tuple[BlockDevice, dict[str, bytes]]:
    """Fedora CoreOS reads it from its boot partition, Flatcar from the one of its vendor."""
    for label, path in (("boot", "/ignition/config.ign"), ("oem", "/config.ign")):
        place = labelled(disk, label)
        if place is not None:
            return place, {path: data}
    raise Rejected("not-found", f"{disk.name}: no partition labelled boot or OEM for Ignition")
