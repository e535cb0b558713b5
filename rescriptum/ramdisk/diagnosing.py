"""``diagnostics.run``: whether memory, disks, processors and GPUs do what they should."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Protocol, TypeVar

from attrs import frozen

from ..contract.commands import Result
from ..contract.ramdisk import Diagnose, DiagnosticTest
from ..contract.refusals import Incomplete
from ..contract.structure import JSON
from ..errors import RescriptumError
from ..interfaces import Anew, Workers
from .command import MachineKind, Running
from .diagnostics import graphics, health, memory, processor, surface
from .diagnostics.deadline import Deadline
from .diagnostics.health import Health
from .diagnostics.outcome import Outcome, Verdict, document, failed
from .disks import BlockDevice, disks
from .tools import Ran, Tools, ToolTrouble

_T = TypeVar("_T")
#: Seconds that a drive may take to say how it is, and a vendor's tests of its GPUs.
_ASKING: Final = 60.0
_VENDOR: Final = 600.0


class Cores(Protocol):
    """See :class:`rescriptum.ramdisk.diagnostics.store.Cores`."""

    @property
    def all(self) -> tuple[int, ...]: ...
    def bound(self) -> AbstractContextManager[None]: ...
    def on(self, core: int) -> None: ...


class Surface(Protocol):
    """See :class:`rescriptum.ramdisk.diagnostics.store.Surface`."""

    def read(self, count: int, at: int) -> bytes: ...


@frozen
class Around:
    """
    What testing a machine asks of the world.

    :ivar devices: lists what there is. :ivar gpus: displays, ``vendor:device`` of each.
    :ivar meminfo: ``/proc/meminfo``. :ivar memory: so many bytes of it.
    :ivar open: a disk, for reading. :ivar seconds: of a clock that only goes forward, in threads
        as well.
    """

    devices: Callable[[], Awaitable[Sequence[BlockDevice]]]
    gpus: Callable[[], Sequence[str]]
    meminfo: Callable[[], bytes]
    memory: Callable[[int], AbstractContextManager[memory.Area]]
    cores: Cores
    open: Callable[[BlockDevice], AbstractContextManager[Surface]]
    tools: Tools
    workers: Workers
    seconds: Callable[[], float]


class RunDiagnostics(MachineKind):
    """
    Writes nothing to any disk. When a part fails, the command does, and says of each part how it is
    nevertheless.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    name = "diagnostics.run"
    payload = Diagnose
    timeout_s = 5 * 3600.0

    def __init__(self, around: Around) -> None:
        self._around = around

    async def run(self, context: Running, payload: Diagnose) -> JSON:
        """
        :returns: of each part that was tested, how it is.
        :raises Incomplete: ``diagnostics-failed``, with the same.
        """
        tests: dict[DiagnosticTest, Callable[[float], Awaitable[Sequence[Outcome]]]] = {
            DiagnosticTest.MEMORY: self._memory,
            DiagnosticTest.CPU: self._cpu,
            DiagnosticTest.DISK: self._disks,
            DiagnosticTest.GPU: self._gpus,
        }
        wanted = [each for each in tests if each in payload.tests or not payload.tests]
        outcomes: list[Outcome] = []
        for number, each in enumerate(wanted):
            context.progress(
                {
                    "stage": "diagnose",
                    "test": each.value,
                    "number": number + 1,
                    "tests": len(wanted),
                }
            )
            try:
                outcomes += await tests[each](float(payload.seconds))
            except RescriptumError as e:
                outcomes.append(Outcome(each, "", Verdict.SKIPPED, str(e)))
        wrong = failed(outcomes)
        if wrong:
            raise Incomplete("diagnostics-failed", wrong[:500], document(outcomes))
        return document(outcomes)

    def resume(self, boot_id_then: str, boot_id_now: str) -> Result | Anew | None:
        """Not again by itself: it may have been the test that ended the agent."""
        return None

    async def _within(self, seconds: float, work: Callable[[Deadline], _T]) -> _T:
        """In a thread; it ends also when nobody waits for it any more."""
        deadline = Deadline(self._around.seconds, seconds)
        try:
            return await self._around.workers.run(partial(work, deadline))
        finally:
            deadline.stop()

    async def _memory(self, seconds: float) -> Sequence[Outcome]:
        around = self._around
        size = memory.amount(around.meminfo())
        if not size:
            return [_skipped(DiagnosticTest.MEMORY, "there is none to spare")]

        def work(deadline: Deadline) -> memory.Tried:
            with around.memory(size) as area:
                return memory.tried(area, deadline)

        found = await self._within(seconds, work)
        raw = f"area {size}\npasses {found.passes}\nverified {found.verified}\n"
        raw += "".join(f"wrong at {each}\n" for each in found.wrong)
        if found.wrong:
            verdict, detail = Verdict.FAILED, f"{len(found.wrong)} blocks do not keep what they get"
        elif not found.verified:
            verdict, detail = Verdict.SKIPPED, "the time was over before anything was read back"
        else:
            verdict = Verdict.PASSED
            detail = f"{found.passes} passes over {size} bytes, {found.verified} bytes read back"
        return [Outcome(DiagnosticTest.MEMORY, "", verdict, detail, raw)]

    async def _cpu(self, seconds: float) -> Sequence[Outcome]:
        around = self._around

        def work(deadline: Deadline) -> tuple[processor.Computed, ...]:
            cores = around.cores
            with cores.bound():
                share = partial(Deadline, around.seconds)
                return processor.tried(cores.all, cores.on, deadline, share)

        found = await self._within(seconds, work)
        raw = "".join(f"cpu{each.core} {each.times} times, {each.wrong} wrong\n" for each in found)
        wrong = [f"cpu{each.core}" for each in found if each.wrong]
        if wrong:
            detail = f"computed wrongly: {', '.join(wrong)}"
            return [Outcome(DiagnosticTest.CPU, "", Verdict.FAILED, detail, raw)]
        detail = f"{len(found)} threads, all right"
        return [Outcome(DiagnosticTest.CPU, "", Verdict.PASSED, detail, raw)]

    async def _disks(self, seconds: float) -> Sequence[Outcome]:
        found = disks(each for each in await self._around.devices() if not each.left_alone)
        outcomes: list[Outcome] = []
        for each in found:
            outcomes += [await self._told(each), await self._read(each, seconds / len(found))]
        return outcomes or [_skipped(DiagnosticTest.DISK, "there is no disk")]

    async def _told(self, device: BlockDevice) -> Outcome:
        if device.name.startswith("nvme"):
            argv = ("nvme", "smart-log", "--output-format=json", device.path)
            return await self._asked(DiagnosticTest.DISK, device.name, argv, health.nvme, _ASKING)
        argv = ("smartctl", "--json", "--all", device.path)
        return await self._asked(DiagnosticTest.DISK, device.name, argv, health.smartctl, _ASKING)

    async def _asked(
        self,
        test: DiagnosticTest,
        subject: str,
        argv: tuple[str, ...],
        judged: Callable[[Ran], Health],
        seconds: float,
    ) -> Outcome:
        """A tool that is not there says nothing of its part; one that does not end, does."""
        try:
            ran = await self._around.tools.run(*argv, seconds=seconds)
        except ToolTrouble as e:
            verdict = Verdict.FAILED if e.code == "timeout" else Verdict.SKIPPED
            return Outcome(test, subject, verdict, str(e))
        said, raw = judged(ran), ran.stdout.decode("utf-8", "replace") + ran.stderr
        return Outcome(test, subject, said.verdict, said.detail, raw)

    async def _read(self, device: BlockDevice, seconds: float) -> Outcome:
        around = self._around

        def work(deadline: Deadline) -> surface.Read:
            with around.open(device) as disk:
                return surface.read(device.size, disk.read, deadline)

        try:
            found = await self._within(seconds, work)
        except RescriptumError as e:
            return Outcome(DiagnosticTest.DISK, device.name, Verdict.FAILED, str(e))
        detail = f"{found.blocks} of {found.of} blocks of {surface.BLOCK} bytes read"
        raw = "".join(f"{each}\n" for each in found.wrong)
        if found.wrong:
            detail = f"{len(found.wrong)} of {found.blocks} blocks could not be read"
            return Outcome(DiagnosticTest.DISK, device.name, Verdict.FAILED, detail, raw)
        verdict = Verdict.PASSED if found.blocks else Verdict.SKIPPED
        return Outcome(DiagnosticTest.DISK, device.name, verdict, detail, raw)

    async def _gpus(self, seconds: float) -> Sequence[Outcome]:
        able, others = graphics.vendors(list(self._around.gpus()))
        outcomes = []
        if others:
            detail = f"no test for {others} of them"
            outcomes.append(_skipped(DiagnosticTest.GPU, detail))
        if not able:
            return outcomes or [_skipped(DiagnosticTest.GPU, "there is nothing to test")]
        looks: tuple[tuple[tuple[str, ...], Callable[[Ran], Health]], ...] = (
            (graphics.QUERY, lambda ran: graphics.listed(ran, able)),
            (graphics.DIAGNOSE, graphics.diagnosed),
        )
        for argv, judged in looks:
            most = max(seconds, _VENDOR)
            outcomes.append(await self._asked(DiagnosticTest.GPU, argv[0], argv, judged, most))
        return outcomes


def _skipped(test: DiagnosticTest, why: str) -> Outcome:
    return Outcome(test, "", Verdict.SKIPPED, why)
