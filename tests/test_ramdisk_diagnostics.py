"""Tests for what is found out of a machine's memory, processors, disks and GPUs."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.ramdisk import Diagnose, DiagnosticTest
from rescriptum.contract.refusals import Incomplete
from rescriptum.contract.structure import JSON
from rescriptum.ramdisk.diagnosing import Around, RunDiagnostics
from rescriptum.ramdisk.diagnostics import graphics, health, memory, processor, store, surface
from rescriptum.ramdisk.diagnostics.deadline import Deadline
from rescriptum.ramdisk.diagnostics.memory import BLOCK, MOST_WRONG, Tried, amount
from rescriptum.ramdisk.diagnostics.outcome import (
    DETAIL,
    MOST,
    SUBJECT,
    Outcome,
    Verdict,
    document,
    failed,
)
from rescriptum.ramdisk.diagnostics.processor import RIGHT, Computed, computed
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.tools import Ran, ToolTrouble
from tests.ramdiskcases import MemoryRunning, MemoryTools
from tests.webclient import InlineWorkers

DISK = BlockDevice("sda", "/dev/sda", "disk", 3 * surface.BLOCK + 512, serial="S1")
FREE = b"MemTotal: 1 kB\nMemAvailable:  1048576 kB\n"


class Ticking:
    """A clock that goes on by itself: a second each time that it is looked at."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class DeadlineTests(SynchronousTestCase):
    def test_over(self) -> None:
        clock = Clock()
        deadline = Deadline(clock.seconds, 5)
        clock.advance(4)
        self.assertEqual((deadline.over, deadline.left), (False, 1))
        clock.advance(1)
        self.assertEqual((deadline.over, deadline.left), (True, 0))

    def test_stopped(self) -> None:
        deadline = Deadline(Clock().seconds, 5)
        deadline.stop()
        self.assertEqual((deadline.over, deadline.left), (True, 0))


class StuckBit(bytearray):
    """Memory with one bit that is always set."""

    place = 0

    def __getitem__(self, place: slice) -> bytearray:  # type: ignore[override]
        data = bytearray(super().__getitem__(place))
        if place.start <= self.place < place.stop:
            data[self.place - place.start] |= 0x10
        return data


class Aliased(bytearray):
    """Memory of which one block is another one."""

    def __setitem__(self, place: slice, data: bytes) -> None:  # type: ignore[override]
        super().__setitem__(place, data)
        if place.start == 2 * BLOCK:
            super().__setitem__(slice(0, BLOCK), data)


class MemoryTests(SynchronousTestCase):
    def tried(self, area: memory.Area, looks: int = 1000) -> Tried:
        return memory.tried(area, Deadline(Ticking(), looks))

    def test_well(self) -> None:
        """Over and over until the time is over; all of it is read twice in each pass."""
        found = self.tried(bytearray(3 * BLOCK), 3 * 3 * 2)
        self.assertEqual((found.passes, found.wrong), (1, ()))
        self.assertGreaterEqual(found.verified, 6 * BLOCK)

    def test_a_stuck_bit(self) -> None:
        """Where a pattern has it set, its opposite has not."""
        area = StuckBit(3 * BLOCK)
        area.place = BLOCK + 77
        self.assertEqual(self.tried(area).wrong, (BLOCK,))

    def test_two_that_are_one(self) -> None:
        self.assertEqual(self.tried(Aliased(4 * BLOCK)).wrong, (0,))

    def test_all_of_it_is_wrong(self) -> None:
        """It is not listed without end."""

        class Lost(bytearray):
            def __setitem__(self, place: slice, data: bytes) -> None:  # type: ignore[override]
                pass

        self.assertEqual(len(self.tried(Lost(2 * MOST_WRONG * BLOCK)).wrong), MOST_WRONG)

    def test_no_time(self) -> None:
        self.assertEqual(self.tried(bytearray(3 * BLOCK), 2), Tried(0, 0))
        self.assertEqual(self.tried(bytearray()), Tried(0, 0))

    def test_patterns(self) -> None:
        """Each block has its own; the second turn is the opposite of the first."""
        first = memory.pattern(0, 0)
        self.assertEqual(len(first), BLOCK)
        self.assertNotEqual(first, memory.pattern(1, 0))
        both = bytes(a ^ b for a, b in zip(first[:64], memory.pattern(0, 1)[:64], strict=True))
        self.assertEqual(both, b"\xff" * 64)

    def test_how_much(self) -> None:
        """The rest of the system keeps a quarter, and never less than it needs."""
        self.assertEqual(amount(FREE), (1 << 30) - (256 << 20))
        self.assertEqual(amount(b"MemAvailable: 8388608 kB\n"), 6 << 30)
        self.assertEqual(amount(b"MemAvailable: 262144 kB\n"), 0)
        self.assertEqual(amount(b"MemTotal: 5 kB\n"), 0)

    def test_real(self) -> None:
        with store.memory(2 * BLOCK) as area:
            self.assertEqual(self.tried(area, 30).wrong, ())
        with self.assertRaises(store.PartTrouble), store.memory(1 << 62):
            pass


class ProcessorTests(SynchronousTestCase):
    def tried(self, compute: Callable[[], str], looks: float = 10) -> tuple[Computed, ...]:
        self.on: list[int] = []
        clock = Ticking()

        def share(seconds: float) -> Deadline:
            return Deadline(clock, seconds)

        deadline = Deadline(clock, looks)
        return processor.tried([0, 1, 5], self.on.append, deadline, share, compute)

    def test_right(self) -> None:
        """What is computed here is what is computed anywhere."""
        self.assertEqual(computed(), RIGHT)

    def test_every_core(self) -> None:
        """Once at least, whatever the time."""
        for looks in (0.0, 10.0):
            found = self.tried(lambda: RIGHT, looks)
            self.assertEqual([each.core for each in found], [0, 1, 5])
            self.assertEqual(self.on, [0, 1, 5])
            self.assertTrue(all(each.times and not each.wrong for each in found))

    def test_one_that_is_wrong(self) -> None:
        found = self.tried(lambda: "wrong" if self.on[-1] == 1 else RIGHT)
        self.assertEqual([each.core for each in found if each.wrong], [1])

    def test_real_cores(self) -> None:
        """The thread is left where it was."""
        cores, before = store.Cores(), os.sched_getaffinity(0)
        with cores.bound():
            cores.on(cores.all[0])
            self.assertEqual(os.sched_getaffinity(0), {min(before)})
        self.assertEqual(os.sched_getaffinity(0), before)
        self.assertRaises(store.PartTrouble, cores.on, 100_000)


class SurfaceTests(SynchronousTestCase):
    @given(st.integers(0, 300))
    def test_spread(self, count: int) -> None:
        """Each once."""
        self.assertEqual(sorted(surface.spread(count)), list(range(count)))

    def test_evenly(self) -> None:
        """Wherever it stops, what was read before was spread over all of it."""
        order = surface.spread(1 << 20)
        first = sorted(next(order) for _ in range(16))
        self.assertEqual(first, [each << 16 for each in range(16)])

    def read(self, data: bytes, size: int, looks: float = 100) -> surface.Read:
        path = Path(self.mktemp())
        path.write_bytes(data)
        with store.surface(path) as disk:
            return surface.read(size, disk.read, Deadline(Ticking(), looks))

    def test_well(self) -> None:
        """To the last sector, and no further."""
        size = 2 * surface.BLOCK + 512
        self.assertEqual(self.read(bytes(size), size), surface.Read(3, 3))
        self.assertEqual(self.read(bytes(size), size, 1.5), surface.Read(1, 3))

    def test_one_that_ends_early(self) -> None:
        found = self.read(bytes(surface.BLOCK), 2 * surface.BLOCK)
        self.assertEqual(found.wrong, (f"at {surface.BLOCK}: it ends there",))

    def test_one_that_cannot_be_read(self) -> None:
        """What is wrong is named, not without end."""

        def at(count: int, place: int) -> bytes:
            raise store.PartTrouble("Input/output error")

        found = surface.read(surface.BLOCK * 100, at, Deadline(Ticking(), 1000))
        self.assertEqual((found.blocks, len(found.wrong)), (surface.MOST_WRONG,) * 2)
        self.assertEqual(found.wrong[0], "at 0: Input/output error")

    def test_none(self) -> None:
        with self.assertRaises(store.PartTrouble), store.surface(Path("/nonexistent")):
            pass


def printed(document: object, status: int = 0) -> Ran:
    return Ran(("tool",), status, json.dumps(document).encode())


class HealthTests(SynchronousTestCase):
    def test_nvme(self) -> None:
        """Numbers come as such, as texts, and taken apart."""
        log: dict[str, object] = {
            "critical_warning": 0,
            "avail_spare": 100,
            "spare_thresh": 10,
            "percent_used": 3,
            "media_errors": "12",
        }
        well = health.nvme(printed(log))
        self.assertEqual(well.verdict, Verdict.PASSED)
        self.assertEqual(well.detail, "no warning, used 3, spare 100, media errors 12")
        for change, detail in (
            ({"critical_warning": 4}, "critical warning 0x04"),
            ({"critical_warning": {"value": 1, "available_spare": 1}}, "critical warning 0x01"),
            ({"avail_spare": 9}, "less spare than the 10 % that it needs"),
        ):
            bad = health.nvme(printed({**log, **change}))
            self.assertEqual(bad.verdict, Verdict.FAILED)
            self.assertIn(detail, bad.detail)

    def test_ata(self) -> None:
        rows = [{"id": 5, "raw": {"value": 8}}, {"id": 197, "raw": {"value": 0}}]
        said: dict[str, object] = {
            "smart_status": {"passed": True},
            "ata_smart_attributes": {"table": rows},
        }
        well = health.smartctl(printed(said, 64))
        self.assertEqual(well.verdict, Verdict.PASSED)
        self.assertEqual(well.detail, "the drive says that it is well, reallocated 8")
        rows[1] = {"id": 197, "raw": {"value": 2}}
        bad = health.smartctl(printed(said))
        self.assertEqual(bad.verdict, Verdict.FAILED)
        self.assertEqual(bad.detail, "2 waiting sectors, reallocated 8")
        for status, passed in ((0, False), (8, True)):
            bad = health.smartctl(printed({"smart_status": {"passed": passed}}, status))
            self.assertEqual(bad.detail, "the drive says that it fails")

    def test_one_that_says_nothing(self) -> None:
        """As those of virtual machines; that is no fault."""
        for ran in (Ran(("smartctl",), 4, b"{}"), Ran(("smartctl",), 1), Ran(("smartctl",), -9)):
            self.assertEqual(health.smartctl(ran).verdict, Verdict.SKIPPED)
            self.assertEqual(health.nvme(ran).verdict, Verdict.SKIPPED)

    @given(
        st.one_of(
            st.binary(),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(),
                lambda inner: (
                    st.lists(inner)
                    | st.dictionaries(
                        st.sampled_from(
                            [
                                "smart_status",
                                "passed",
                                "ata_smart_attributes",
                                "table",
                                "id",
                                "raw",
                                "value",
                                "critical_warning",
                                "avail_spare",
                                "spare_thresh",
                            ]
                        ),
                        inner,
                    )
                ),
            ).map(lambda each: json.dumps(each).encode()),
        )
    )
    def test_whatever_comes(self, output: bytes) -> None:
        ran = Ran(("tool",), 0, output)
        health.nvme(ran)
        health.smartctl(ran)
        graphics.listed(ran, 1)
        graphics.diagnosed(ran)


class GraphicsTests(SynchronousTestCase):
    def test_vendors(self) -> None:
        """A BMC's display is no GPU."""
        self.assertEqual(
            graphics.vendors(["0x10DE:0x20b0", "0x1a03:0x2000", "0x1002:0x7408"]), (1, 1)
        )

    def test_listed(self) -> None:
        rows = b"0, 00000000:17:00.0, NVIDIA A100, 0\n1, 00000000:65:00.0, NVIDIA A100, [N/A]\n"
        self.assertEqual(graphics.listed(Ran((), 0, rows), 2).verdict, Verdict.PASSED)
        gone = graphics.listed(Ran((), 0, rows), 3)
        self.assertEqual((gone.verdict, gone.detail), (Verdict.FAILED, "2 of 3 answer"))
        odd = graphics.listed(Ran((), 0, rows.replace(b", 0\n", ", ²\n".encode())), 2)
        self.assertEqual(odd.verdict, Verdict.PASSED)  # a digit to Python, and no number
        bad = graphics.listed(Ran((), 0, rows.replace(b", 0\n", b", 7\n")), 2)
        self.assertEqual(bad.verdict, Verdict.FAILED)
        self.assertIn("00000000:17:00.0: 7", bad.detail)
        none = graphics.listed(Ran(("nvidia-smi",), 9, b"No devices were found\n"), 2)
        self.assertEqual(none.detail, "nvidia-smi: No devices were found")

    def test_diagnosed(self) -> None:
        """By its words, whatever its exit code."""
        table = b"| Denylist          | Pass  |\n| Graphics Processes | Fail - GPU 0 |\n"
        self.assertEqual(graphics.diagnosed(Ran((), 0, table)).verdict, Verdict.FAILED)
        well = table.replace(b"Fail - GPU 0", b"Pass")
        self.assertEqual(graphics.diagnosed(Ran((), 0, well)).verdict, Verdict.PASSED)
        self.assertEqual(graphics.diagnosed(Ran(("dcgmi",), 226, b"")).verdict, Verdict.FAILED)


class OutcomeTests(SynchronousTestCase):
    def test_bounded(self) -> None:
        """Whatever tools say, a result of it fits: 192 KiB."""
        for worst in ('"', "\n", "\x00", "\u00e9"):
            long = worst * 10**6
            one = Outcome(DiagnosticTest.MEMORY, long, Verdict.SKIPPED, long, long)
            for count in (1, 7, MOST, MOST + 1):
                made = document([one] * count)
                self.assertLess(len(json.dumps(made)), 192 * 1024)
                tests = made["tests"]
                assert isinstance(tests, list)
                self.assertEqual(len(tests), min(count, MOST))

    def test_shown(self) -> None:
        """What is no plain text is not told as such."""
        one = Outcome(DiagnosticTest.DISK, "s" * 1000, Verdict.PASSED, "d" * 1000, 'a\n\x1b\u00e9"')
        [made] = self.told([one])
        self.assertEqual(made["raw"], 'a\n??"')
        self.assertEqual((len(made["subject"]), len(made["detail"])), (SUBJECT, DETAIL))

    def told(self, outcomes: list[Outcome]) -> list[dict[str, str]]:
        made = document(outcomes)["tests"]
        assert isinstance(made, list)
        return made

    def test_what_failed_comes_first(self) -> None:
        """And is there, however much there is."""
        well = Outcome(DiagnosticTest.DISK, "sda", Verdict.PASSED, "")
        bad = evolve(well, subject="sdb", verdict=Verdict.FAILED)
        made = self.told([well] * MOST + [bad])
        self.assertEqual((made[0]["subject"], len(made)), ("sdb", MOST))

    def test_failed(self) -> None:
        one = Outcome(DiagnosticTest.CPU, "", Verdict.FAILED, "wrong")
        self.assertEqual(failed([one, evolve(one, subject="sda")]), "cpu: wrong; sda: wrong")
        self.assertEqual(failed([evolve(one, verdict=Verdict.SKIPPED)]), "")


@define
class OneCore:
    """Satisfies :class:`rescriptum.ramdisk.diagnosing.Cores`."""

    all: tuple[int, ...] = (0,)
    on_now: int | None = None

    @contextmanager
    def bound(self) -> Iterator[None]:
        yield
        self.on_now = None

    def on(self, core: int) -> None:
        self.on_now = core


@define
class MemoryDisk:
    """Satisfies :class:`rescriptum.ramdisk.diagnosing.Surface`."""

    broken: bool = False

    def read(self, count: int, at: int) -> bytes:
        if self.broken:
            raise store.PartTrouble("Input/output error")
        return bytes(count)


@define
class Machine:
    devices: list[BlockDevice] = field(factory=lambda: [DISK])
    gpus: list[str] = field(factory=list)
    meminfo: bytes = FREE
    tools: MemoryTools = field(factory=MemoryTools)
    disk: MemoryDisk = field(factory=MemoryDisk)
    area: bytearray = field(factory=lambda: bytearray(BLOCK))

    async def listed(self) -> list[BlockDevice]:
        return self.devices

    @contextmanager
    def memory(self, size: int) -> Iterator[bytearray]:
        yield self.area

    @contextmanager
    def open(self, device: BlockDevice) -> Iterator[MemoryDisk]:
        yield self.disk

    @property
    def around(self) -> Around:
        return Around(
            self.listed,
            lambda: self.gpus,
            lambda: self.meminfo,
            self.memory,
            OneCore(),
            self.open,
            self.tools,
            InlineWorkers(),
            Ticking(),
        )


class RunDiagnosticsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.machine = Machine()
        self.context = MemoryRunning("diagnostics.run")
        well = {"smart_status": {"passed": True}}
        self.machine.tools.answers["smartctl",] = printed(well)

    def start(self, *tests: DiagnosticTest, seconds: int = 60) -> Deferred[JSON]:
        kind = RunDiagnostics(self.machine.around)
        return Deferred.fromCoroutine(kind.run(self.context, Diagnose(tests, seconds)))

    def said(self, result: JSON) -> list[tuple[str, str, str, str]]:
        tests = result["tests"]
        assert isinstance(tests, list)
        return [(e["test"], e["subject"], e["verdict"], e["detail"]) for e in tests]

    def test_all_of_them(self) -> None:
        """With none named; each is told of when it begins."""
        result = self.successResultOf(self.start())
        self.assertEqual(
            [each[:3] for each in self.said(result)],
            [
                ("memory", "", "passed"),
                ("cpu", "", "passed"),
                ("disk", "sda", "passed"),
                ("disk", "sda", "passed"),
                ("gpu", "", "skipped"),
            ],
        )
        self.assertEqual(
            [each["test"] for each in self.context.said], ["memory", "cpu", "disk", "gpu"]
        )
        self.assertEqual(self.context.said[-1]["number"], 4)

    def failed(self, started: Deferred[JSON]) -> Incomplete:
        error = self.failureResultOf(started, Incomplete).value
        assert isinstance(error, Incomplete)
        self.assertEqual(error.code, "diagnostics-failed")
        return error

    def test_a_disk_that_cannot_be_read(self) -> None:
        """What the others are is said all the same."""
        self.machine.disk = MemoryDisk(broken=True)
        error = self.failed(self.start(DiagnosticTest.DISK))
        self.assertEqual(error.detail, "sda: 4 of 4 blocks could not be read")
        self.assertEqual([each[2] for each in self.said(error.data)], ["failed", "passed"])

    def test_memory_that_fails(self) -> None:
        area = StuckBit(BLOCK)
        self.machine.area = area
        error = self.failed(self.start(DiagnosticTest.MEMORY))
        self.assertEqual(error.detail, "memory: 1 blocks do not keep what they get")

    def test_no_memory_to_spare(self) -> None:
        self.machine.meminfo = b""
        [said] = self.said(self.successResultOf(self.start(DiagnosticTest.MEMORY)))
        self.assertEqual(said, ("memory", "", "skipped", "there is none to spare"))

    def test_an_nvme_drive(self) -> None:
        self.machine.devices = [evolve(DISK, name="nvme0n1", path="/dev/nvme0n1")]
        self.machine.tools.answers["nvme", "smart-log"] = printed({"critical_warning": 1})
        error = self.failed(self.start(DiagnosticTest.DISK))
        self.assertEqual(error.detail, "nvme0n1: critical warning 0x01")

    def missing(self) -> Ran:
        raise ToolTrouble("there is no smartctl here")

    def late(self) -> Ran:
        raise ToolTrouble("smartctl: not ended after 60 seconds", "timeout")

    def test_a_tool_that_is_not_there(self) -> None:
        """It says nothing of the drive."""
        self.machine.tools.answers["smartctl",] = self.missing
        said = self.said(self.successResultOf(self.start(DiagnosticTest.DISK)))
        self.assertEqual(said[0], ("disk", "sda", "skipped", "there is no smartctl here"))

    def test_a_drive_that_does_not_answer(self) -> None:
        self.machine.tools.answers["smartctl",] = self.late
        self.failed(self.start(DiagnosticTest.DISK))

    def test_what_is_left_alone(self) -> None:
        """No disk of this machine."""
        self.machine.devices = [evolve(DISK, vendor="AMI", model="Virtual CDROM")]
        [said] = self.said(self.successResultOf(self.start(DiagnosticTest.DISK)))
        self.assertEqual(said[3], "there is no disk")

    def test_gpus(self) -> None:
        self.machine.gpus = ["0x10de:0x20b0", "0x1002:0x7408", "0x1a03:0x2000"]
        rows = b"0, 00000000:17:00.0, NVIDIA A100, 0\n"
        self.machine.tools.answers["nvidia-smi",] = Ran(("nvidia-smi",), 0, rows)
        said = self.said(self.successResultOf(self.start(DiagnosticTest.GPU)))
        self.assertEqual(
            said,
            [
                ("gpu", "", "skipped", "no test for 1 of them"),
                ("gpu", "nvidia-smi", "passed", "1 answer"),
                ("gpu", "dcgmi", "passed", "the vendor's tests passed"),
            ],
        )

    def test_stopped_meanwhile(self) -> None:
        """It may have been the test that ended the agent: not again by itself."""
        kind = RunDiagnostics(self.machine.around)
        self.assertIsNone(kind.resume("a", "a"))
