"""One disk, emptied by the best that it can do, and looked at afterwards."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar

from attrs import define, evolve, field, frozen

from ...contract.ramdisk import WipeMode
from ...errors import RescriptumError
from ...interfaces import Workers
from ..disks import BlockDevice
from ..image.store import Disk, DiskTrouble
from ..tools import Tools
from .certificate import DONE, DiskCertificate, Sampled, Try
from .evidence import marked, not_zero, pieces, unchanged
from .methods import Method, Methods
from .places import Place, ends, samples

#: Samples of one disk, beside its ends.
SAMPLES: Final = 64

_T = TypeVar("_T")


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


class Told(Protocol):
    """Hears how far a disk has come."""

    def __call__(self, method: str, done: int, total: int, seconds: float = 0.0) -> None:
        """
        :param done: of ``total`` bytes.
        :param seconds: that it will take, where that is known and nothing is heard meanwhile.
        """


class Stopped(RescriptumError):
    """It was taken back, or its time is over."""

    code = "stopped"


@define
class Erasing:
    """
    One disk.

    :ivar stop: why nothing more is to be begun; empty: go on.
    :ivar left: seconds until all has to be over.
    :ivar paths: other names that it has.
    :ivar wiped: how many namespaces of its controller are to be wiped.
    :ivar siblings: whether it has others (W262).
    :ivar stands: what stood on it and could not be emptied itself; empty: nothing.
    """

    device: BlockDevice
    mode: WipeMode
    around: Around
    told: Told
    stop: Callable[[], str]
    left: Callable[[], float]
    paths: tuple[str, ...] = ()
    wiped: int = 1
    siblings: bool = False
    stands: str = ""
    _tries: list[Try] = field(factory=list)
    _at: str = ""

    async def run(self) -> DiskCertificate:
        """:returns: what became of it, whatever that is."""
        began = self.around.seconds()
        device = self.device
        methods = Methods(
            device, self.mode, self.around.tools, self.left, self.wiped, self.siblings, self._tries
        )
        made = DiskCertificate(
            device.name, device.model, device.serial, device.wwn, device.size, self.paths
        )
        try:
            self._go_on()
            if self.mode is WipeMode.QUICK:
                made = await self._quick(made)
            else:
                made = await self._erased(made, methods)
        except RescriptumError as e:
            self._tries.append(Try(self._at, str(e)))
        return evolve(
            made,
            tries=tuple(self._tries),
            abilities=methods.abilities,
            seconds=round(self.around.seconds() - began, 1),
        )

    async def _quick(self, made: DiskCertificate) -> DiskCertificate:
        # What stood on it would be found again in a set of the same shape.
        outcome = await self._outcome("quick", self._ends) or self.stands
        self._tries.append(Try("quick", outcome or DONE))
        if outcome:
            return made
        return evolve(made, method="quick", verified=True, zeroed=ends(self.device))

    async def _erased(self, made: DiskCertificate, methods: Methods) -> DiskCertificate:
        seed = self.around.seed()
        where = samples(self.device.size, seed, SAMPLES)
        for method in (*await methods.find(), Method("overwrite", self._overwrite)):
            self._at = method.name
            self._go_on()
            held = await self._with_disk(partial(marked, seed, where))
            self.told(method.name, 0, self.device.size, method.seconds)
            outcome = await self._outcome(method.name, method.erase)
            if not outcome:
                outcome = await self._looked(held, len(where), method.name == "overwrite")
            if not outcome:
                # No old table is left in anybody's cache (W264), nor of a pattern (W268).
                outcome = await self._outcome("ends", self._ends)
            self._tries.append(Try(method.name, outcome or DONE))
            if not outcome:
                sampled = Sampled(seed, SAMPLES, len(where), len(where) - len(held), 0)
                return evolve(
                    made,
                    method=method.name,
                    verified=True,
                    sampled=sampled,
                    zeroed=ends(self.device),
                )
        return made

    async def _outcome(self, name: str, work: Callable[[], Awaitable[str]]) -> str:
        """:returns: why it did not work; empty: it says that it did."""
        self._at = name
        try:
            return await work()
        except Stopped:
            raise
        except RescriptumError as e:
            return str(e)

    def _go_on(self, half: str = "") -> None:
        """:raises Stopped: when it is not to go on."""
        why = self.stop()
        if why:
            raise Stopped(f"{why}{half}")

    # Reading and writing, in a thread.

    async def _ends(self) -> str:
        """:returns: why it is not that zeros are read where they were written."""
        places = ends(self.device)
        await self._zero("ends" if self.mode is not WipeMode.QUICK else "quick", places)
        wrong = await self._with_disk(partial(not_zero, places))
        return f"{wrong} of {len(places)} places hold something still" if wrong else ""

    async def _overwrite(self) -> str:
        await self._zero("overwrite", (Place(0, self.device.size),))
        return ""

    async def _zero(self, method: str, places: Sequence[Place]) -> None:
        total, done = sum(each.size for each in places), 0
        disk = await self.around.workers.run(self._open)
        try:
            for each in pieces(places):
                self._go_on(f": {done} of {total} bytes are zeros")
                await self.around.workers.run(partial(disk.zero, each.at, each.size))
                done += each.size
                self.told(method, done, total)
            await self.around.workers.run(disk.sync)
        finally:
            await self.around.workers.run(disk.close)

    async def _looked(self, held: Mapping[int, bytes], places: int, zeros: bool) -> str:
        """:returns: why it is not gone; empty: it is, as far as was looked."""
        if len(held) * 2 < places:
            return f"nobody can tell: {len(held)} of {places} samples say anything"
        try:
            wrong = await self._with_disk(partial(unchanged, held, zeros))
        except DiskTrouble as e:
            return str(e)
        return f"{wrong} of {len(held)} samples hold what they held" if wrong else ""

    async def _with_disk(self, work: Callable[[Disk], _T]) -> _T:
        def whole() -> _T:
            disk = self._open()
            try:
                return work(disk)
            finally:
                disk.close()

        return await self.around.workers.run(whole)

    def _open(self) -> Disk:
        """
        Blocks.

        :raises DiskTrouble: also when it is not as large as the one that was listed: what is
            beyond would stay, and what has another size now may be another disk.
        """
        disk = self.around.open(self.device)
        if disk.size != self.device.size:
            disk.close()
            raise DiskTrouble(
                f"{disk.path}: {disk.size} bytes, and {self.device.size} when it was listed"
            )
        return disk
