"""One disk, emptied by the best that it can do, and looked at afterwards."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from attrs import define, evolve, field, frozen

from ...contract.ramdisk import WipeMode
from ...contract.structure import JSON
from ...errors import RescriptumError
from ...interfaces import Workers
from ..disks import BlockDevice
from ..image.store import BUFFER, Disk
from ..tools import Ran, Tools
from .certificate import DiskCertificate, Sampled, Try
from .drives import AtaAbilities, NvmeAbilities
from .places import SAMPLE, Place, ends, marker, samples, zeroed

#: Samples of one disk, beside its ends.
SAMPLES: Final = 64
#: Seconds that an erase of an NVMe drive, or a secure discard, may take.
_ERASING: Final = 3 * 3600.0
_ASKING: Final = 30.0
#: The password that a SATA drive has for as long as it erases itself: one that stands on every
#: drive whose erase was cut off, so that the next try gets in (W267).
PASSWORD: Final = "rescriptum"
_OLD_PASSWORDS: Final = (PASSWORD, "NULL", "")

Erase = Callable[[], Awaitable[str]]


@frozen
class Around:
    """
    What emptying a disk asks of the world.

    :ivar open: blocks; raises when something of the disk is in use.
    :ivar seed: of the samples of the next disk.
    """

    open: Callable[[BlockDevice], Disk]
    tools: Tools
    workers: Workers
    seed: Callable[[], int]
    seconds: Callable[[], float]


#: Hears how many bytes of how many are done.
Told = Callable[[int, int], None]


@define
class Erasing:
    """
    One disk.

    :ivar siblings: whether an erase of all namespaces would reach what is not to be wiped (W262).
    """

    device: BlockDevice
    mode: WipeMode
    around: Around
    told: Told
    siblings: bool = False
    _tries: list[Try] = field(factory=list)
    _abilities: JSON = field(factory=dict)

    async def run(self) -> DiskCertificate:
        """:returns: what became of it, whatever that is."""
        began = self.around.seconds()
        device = self.device
        made = DiskCertificate(
            device.name, device.model, device.serial, device.wwn, device.size, self.mode
        )
        try:
            made = await self._emptied(made)
        except RescriptumError as e:
            self._tries.append(Try("open", str(e)))
        return evolve(
            made,
            tries=tuple(self._tries),
            abilities=self._abilities,
            seconds=round(self.around.seconds() - began, 1),
        )

    async def _emptied(self, made: DiskCertificate) -> DiskCertificate:
        places = ends(self.device)
        if self.mode is WipeMode.QUICK:
            await self._zero(places)
            self._tries.append(Try("quick", "done"))
            wrong = await self._not_zero(places)
            return evolve(
                made,
                method="quick",
                verified=not wrong,
                sampled=Sampled(0, len(places), wrong),
            )
        seed = self.around.seed()
        where = samples(self.device.size, seed, SAMPLES)
        for method, erase in await self._methods():
            await self._mark(seed, where)
            try:
                outcome = await erase()
            except RescriptumError as e:
                outcome = str(e)
            wrong = 0
            if not outcome:
                wrong = await self._still_there(seed, where, method == "overwrite")
                outcome = f"{wrong} of {len(where)} samples hold what they held" if wrong else ""
            self._tries.append(Try(method, outcome or "done"))
            if not outcome:
                await self._zero(places)  # W264: no old table is left in anybody's cache
                return evolve(
                    made, method=method, verified=True, sampled=Sampled(seed, len(where), 0)
                )
        return made

    # What a drive can do, the best of it first; never what erases nothing.

    async def _methods(self) -> list[tuple[str, Erase]]:
        found: list[tuple[str, Erase]] = []
        if self.device.transport == "nvme" or self.device.name.startswith("nvme"):
            found += await self._nvme()
        elif self.device.transport in ("sata", "ata"):
            found += await self._ata()
        found.append(("blkdiscard-secure", self._secure_discard))
        return [*found, ("overwrite", self._overwrite)]

    async def _nvme(self) -> list[tuple[str, Erase]]:
        path = self.device.path
        ran = await self._ask("nvme", "id-ctrl", path, "--output-format=json")
        able = NvmeAbilities.of(ran.stdout) if ran.ok else None
        if able is None:
            self._tries.append(Try("nvme-erase", f"it does not say what it can do: {ran.said}"))
            return []
        self._abilities |= {"oacs": able.oacs, "fna": able.fna}
        if not able.formats:
            self._tries.append(Try("nvme-erase", "the controller has no such command (W261)"))
            return []
        if able.all_namespaces and self.siblings:
            why = "it would reach another namespace, which is not to be wiped (W262)"
            self._tries.append(Try("nvme-erase", why))
            return []
        found: list[tuple[str, Erase]] = []
        if self.mode is WipeMode.CRYPTO:
            if able.crypto:
                found.append(("nvme-crypto-erase", partial(self._format, "2")))
            else:
                self._tries.append(Try("nvme-crypto-erase", "it cannot (W261)"))
        return [*found, ("nvme-erase", partial(self._format, "1"))]

    async def _format(self, how: str) -> str:
        argv = ("nvme", "format", self.device.path, f"--ses={how}", "--force")
        return _why(await self._tool(*argv, seconds=_ERASING))

    async def _ata(self) -> list[tuple[str, Erase]]:
        ran = await self._ask("hdparm", "-I", self.device.path)
        able = AtaAbilities.of(ran.stdout)
        if able is None or not able.supported:
            self._tries.append(Try("ata-erase", "it has no security feature set (W270)"))
            return []
        self._abilities |= {"ata_security": {"frozen": able.frozen, "minutes": able.minutes}}
        if able.frozen:
            why = "frozen by the firmware until the next power cycle (W266)"
            self._tries.append(Try("ata-erase", why))
            return []
        if able.locked and not await self._unlocked():
            self._tries.append(Try("ata-erase", "locked, by a password that is not ours (W267)"))
            return []
        found: list[tuple[str, Erase]] = []
        if able.enhanced:
            found.append(("ata-enhanced-erase", partial(self._security_erase, able, True)))
        return [*found, ("ata-erase", partial(self._security_erase, able, False))]

    async def _unlocked(self) -> bool:
        for each in _OLD_PASSWORDS:
            argv = ("--user-master", "u", "--security-unlock", each, self.device.path)
            await self._tool("hdparm", *argv, seconds=_ASKING)
            ran = await self._ask("hdparm", "-I", self.device.path)
            able = AtaAbilities.of(ran.stdout)
            if able is not None and not able.locked:
                return True
        return False

    async def _security_erase(self, able: AtaAbilities, enhanced: bool) -> str:
        user = ("hdparm", "--user-master", "u")
        path = self.device.path
        ran = await self._tool(*user, "--security-set-pass", PASSWORD, path, seconds=_ASKING)
        if not ran.ok:
            return ran.said
        option = "--security-erase-enhanced" if enhanced else "--security-erase"
        ran = await self._tool(*user, option, PASSWORD, path, seconds=able.seconds)
        # An erase takes the password away. One that was refused leaves it, and the drive would be
        # locked at its next power cycle.
        await self._tool(*user, "--security-disable", PASSWORD, path, seconds=_ASKING)
        return _why(ran)

    async def _secure_discard(self) -> str:
        argv = ("blkdiscard", "--secure", "--force", self.device.path)
        return _why(await self._tool(*argv, seconds=_ERASING))

    async def _overwrite(self) -> str:
        await self._zero((Place(0, self.device.size),))
        return ""

    # Reading and writing, in a thread.

    async def _zero(self, places: tuple[Place, ...]) -> None:
        total, done = sum(each.size for each in places), 0
        disk = await self._open()
        try:
            for each in places:
                at, stop = each.at, each.at + each.size
                while at < stop:
                    count = min(BUFFER, stop - at)
                    await self.around.workers.run(partial(disk.zero, at, count))
                    at, done = at + count, done + count
                    self.told(done, total)
            await self.around.workers.run(disk.sync)
        finally:
            await self.around.workers.run(disk.close)

    async def _not_zero(self, places: tuple[Place, ...]) -> int:
        """:returns: how many places hold something, on the disk itself."""

        def look(disk: Disk) -> int:
            wrong = 0
            for each in places:
                pieces = range(each.at, each.at + each.size, BUFFER)
                read = (disk.read(min(BUFFER, each.at + each.size - at), at) for at in pieces)
                wrong += not all(zeroed([piece]) for piece in read)
            return wrong

        return await self._with_disk(look)

    async def _mark(self, seed: int, where: tuple[int, ...]) -> None:
        """Write what is to be gone afterwards: some drives say yes, and erase nothing (W260)."""

        def write(disk: Disk) -> int:
            for at in where:
                disk.put(marker(seed, at), at)
            disk.sync()
            return 0

        await self._with_disk(write)

    async def _still_there(self, seed: int, where: tuple[int, ...], zeros: bool) -> int:
        """:param zeros: whether zeros alone are right: a drive may have a pattern (W268)."""

        def look(disk: Disk) -> int:
            wrong = 0
            for at in where:
                found = disk.read(SAMPLE, at)
                wrong += found == marker(seed, at) or (zeros and not zeroed([found]))
            return wrong

        return await self._with_disk(look)

    async def _with_disk(self, work: Callable[[Disk], int]) -> int:
        def whole() -> int:
            disk = self.around.open(self.device)
            try:
                return work(disk)
            finally:
                disk.close()

        return await self.around.workers.run(whole)

    async def _open(self) -> Disk:
        return await self.around.workers.run(partial(self.around.open, self.device))

    async def _ask(self, *argv: str) -> Ran:
        try:
            return await self.around.tools.run(*argv, seconds=_ASKING)
        except RescriptumError as e:
            return Ran(argv, 127, stderr=str(e))

    async def _tool(self, *argv: str, seconds: float) -> Ran:
        return await self.around.tools.run(*argv, seconds=seconds)


def _why(ran: Ran) -> str:
    return "" if ran.ok else ran.said
