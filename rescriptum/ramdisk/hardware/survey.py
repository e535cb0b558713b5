"""Finding out what a machine is made of: a part that does not tell is a warning, no failure."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from attrs import evolve

from ...contract.structure import JSON
from ...errors import RescriptumError
from ...interfaces import Workers
from ..disks import BlockDevice
from ..tools import Tools
from .inventory import Nic, inventory, permanent
from .lldp import Neighbour
from .store import KernelFiles

#: Seconds that a tool may take: a BMC is slow to tell its address.
_ASKING: Final = 20.0


class Survey:
    """Looks at one machine, as often as it is asked to."""

    def __init__(
        self,
        kernel: KernelFiles,
        devices: Callable[[], Awaitable[Sequence[BlockDevice]]],
        tools: Tools,
        workers: Workers,
        neighbours: Callable[
            [Sequence[str], float], Awaitable[tuple[dict[str, Neighbour], list[str]]]
        ],
    ) -> None:
        """
        :param neighbours: listens on interfaces for so many seconds, at the most; see
            :class:`rescriptum.ramdisk.hardware.client.Listening`.
        """
        self._kernel = kernel
        self._devices = devices
        self._tools = tools
        self._workers = workers
        self._neighbours = neighbours

    async def taken(self, listening: float = 0.0) -> JSON:
        """
        :param listening: seconds in which neighbours may speak; 0: nobody waits for them.
        :returns: what the machine is made of, and what could not be found out.
        """
        kernel, warnings = self._kernel, list[str]()
        devices: Sequence[BlockDevice] = ()
        try:
            devices = await self._devices()
        except RescriptumError as e:
            warnings.append(str(e))
        lan = b""
        if kernel.has_bmc:
            lan = await self._said(warnings, "ipmitool", "lan", "print")
        nics: Sequence[Nic] = await self._workers.run(kernel.nics)
        if nics:
            nics = permanent(await self._said(warnings, "ip", "-json", "link", "show"), nics)
        if listening:
            linked = [each.name for each in nics if each.carrier]
            heard, complaints = await self._neighbours(linked, listening)
            nics = [evolve(each, neighbour=heard.get(each.name)) for each in nics]
            warnings += complaints

        def read() -> JSON:
            cpuinfo, meminfo = kernel.read("proc/cpuinfo"), kernel.read("proc/meminfo")
            return inventory(
                kernel.dmi(), cpuinfo, meminfo, nics, devices, kernel.gpus(), lan, warnings
            )

        return await self._workers.run(read)

    async def _said(self, warnings: list[str], *argv: str) -> bytes:
        try:
            ran = await self._tools.run(*argv, seconds=_ASKING)
        except RescriptumError as e:
            warnings.append(str(e))
            return b""
        if not ran.ok:
            warnings.append(ran.said)
        return ran.stdout
