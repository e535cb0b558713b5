"""Tests for emptying disks: what is taken apart, what is tried, and what is said of it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.ramdisk import Wipe, WipeMode
from rescriptum.contract.refusals import Incomplete, Rejected
from rescriptum.contract.structure import JSON
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.image.store import END, Disk, DiskTrouble
from rescriptum.ramdisk.tools import Ran, ToolTrouble
from rescriptum.ramdisk.wipe.drives import AtaAbilities, NvmeAbilities
from rescriptum.ramdisk.wipe.erasing import Around
from rescriptum.ramdisk.wipe.holders import refuse_shared, taken_apart
from rescriptum.ramdisk.wipe.places import SAMPLE, ends, marker, samples
from rescriptum.ramdisk.wiping import WipeDisks, siblings
from tests.ramdiskcases import MemoryRunning, MemoryTools
from tests.webclient import InlineWorkers

MIB = 1 << 20
SIZE = 24 * MIB
MEMBER = "linux_raid_member"
FAILED = Ran(("tool",), 1, stderr="Operation not supported")
REREAD, SETTLE = ("blockdev", "--rereadpt"), ("udevadm", "settle")
#: hdparm 9.65 of a drive of today, cut to what is read.
HDPARM = b"""
ATA device, with non-removable media
\tModel Number:       EXAMPLE SSD
Commands/features:
\tEnabled\tSupported:
\t   *\tSecurity Mode feature set
Security:\x20
\tMaster password revision code = 65534
\t\tsupported
\tnot\tenabled
\tnot\tlocked
\tnot\tfrozen
\tnot\texpired: security count
\t\tsupported: enhanced erase
\t2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.
Logical Unit WWN Device Identifier: 5002538e00000001
"""


def certificate(data: JSON) -> dict[str, Any]:
    """:returns: that of the one disk."""
    listed = data["disks"]
    assert isinstance(listed, list) and len(listed) == 1
    made: dict[str, Any] = listed[0]
    return made


class HoldersTests(SynchronousTestCase):
    def test_lvm_on_raid(self) -> None:
        """D59: from the top: volumes, sets, and then what would put the sets together again."""
        volume = BlockDevice("vg-root", "/dev/mapper/vg-root", "lvm", 1, mounts=("/", "/mnt"))
        raid = BlockDevice("md1", "/dev/md1", "raid1", 1, holds=(volume,))
        swap = BlockDevice("sda2", "/dev/sda2", "part", 1, mounts=("[SWAP]",))
        parts = [
            BlockDevice(f"{name}1", f"/dev/{name}1", "part", 1, holds=(raid,), filesystem=MEMBER)
            for name in ("sda", "sdb")
        ]
        first = BlockDevice("sda", "/dev/sda", "disk", 1, holds=(parts[0], swap))
        second = BlockDevice("sdb", "/dev/sdb", "disk", 1, holds=(parts[1],))
        self.assertEqual(
            taken_apart([first, second]),
            (
                ("umount", "/mnt"),
                ("umount", "/"),
                ("dmsetup", "remove", "--retry", "vg-root"),
                ("mdadm", "--stop", "/dev/md1"),
                ("swapoff", "/dev/sda2"),
                ("mdadm", "--zero-superblock", "--force", "/dev/sda1"),
                ("mdadm", "--zero-superblock", "--force", "/dev/sdb1"),
            ),
        )

    def test_what_other_machines_use(self) -> None:
        """W277: however deep it lies."""
        shared = BlockDevice("x", "/dev/x", "lvm", 1, filesystem="GFS2")
        disk = BlockDevice("sda", "/dev/sda", "disk", 1, holds=(shared,))
        with self.assertRaises(Rejected) as caught:
            refuse_shared([disk])
        self.assertEqual(caught.exception.code, "conflict")


class PlacesTests(SynchronousTestCase):
    def test_ends_of_everything(self) -> None:
        """W273: of the disk, and of each partition."""
        one = BlockDevice("a1", "", "part", 8 * MIB, start=1 * MIB)
        two = BlockDevice("a2", "", "part", 10 * MIB, start=12 * MIB)
        found = ends(BlockDevice("a", "", "disk", SIZE, holds=(one, two)))
        self.assertEqual(
            [(each.at // MIB, each.size // MIB) for each in found],
            [(0, 3), (7, 2), (12, 2), (20, 4)],
        )

    def test_copies_of_btrfs(self) -> None:
        """W273: of a superblock, in the middle of a file system."""
        part = BlockDevice("a1", "", "part", 100 * MIB, start=MIB)
        found = ends(BlockDevice("a", "", "disk", 300 << 30, holds=(part,)))
        self.assertIn((65 * MIB, SAMPLE), [(each.at, each.size) for each in found])
        self.assertIn((256 << 30, SAMPLE), [(each.at, each.size) for each in found])

    @given(
        st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 2**31))),
        st.integers(1, 2**32),
        st.sampled_from([512, 4096]),
    )
    def test_whole_sectors_in_order(
        self, parts: list[tuple[int, int]], sectors: int, sector: int
    ) -> None:
        size = sectors * sector
        holds = tuple(BlockDevice("p", "", "part", n, start=at) for at, n in parts)
        found = ends(BlockDevice("a", "", "disk", size, sector=sector, holds=holds))
        last = -1
        for each in found:
            self.assertGreater(each.at, last)
            self.assertEqual((each.at % sector, each.size % sector), (0, 0))
            last = each.at + each.size
        self.assertEqual((found[0].at, last), (0, size))

    def test_samples_are_found_again(self) -> None:
        self.assertEqual(samples(SIZE, 7, 20), samples(SIZE, 7, 20))
        self.assertNotEqual(samples(SIZE, 7, 20), samples(SIZE, 8, 20))
        found = samples(SIZE, 7, 20)
        self.assertEqual((found[0], found[-1]), (0, SIZE - SAMPLE))
        self.assertNotEqual(marker(7, 0), marker(7, SAMPLE))
        self.assertEqual(samples(100, 7, 20), ())


class DrivesTests(SynchronousTestCase):
    def test_hdparm(self) -> None:
        self.assertEqual(AtaAbilities.of(HDPARM), AtaAbilities(True, True, False, False, False, 8))
        frozen = AtaAbilities.of(HDPARM.replace(b"not\tfrozen", b"\tfrozen"))
        assert frozen is not None
        self.assertTrue(frozen.frozen)
        self.assertIsNone(AtaAbilities.of(b"SG_IO: bad/missing sense data\n"))

    def test_how_long_it_takes(self) -> None:
        """W269: twice what it says; the largest figure has no end."""
        able = AtaAbilities.of(HDPARM)
        assert able is not None
        self.assertEqual(able.seconds, 8 * 120 + 60)
        long = AtaAbilities.of(HDPARM.replace(b"8min", b"508min"))
        assert long is not None
        self.assertEqual(long.seconds, 12 * 3600)

    def test_nvme(self) -> None:
        told = json.dumps({"oacs": 0b10, "fna": 0b110}).encode()
        able = NvmeAbilities.of(told)
        self.assertEqual(able, NvmeAbilities(True, True, True, 0b10, 0b110))
        for output in (b"", b"[]", b"{}", b'{"oacs": "2", "fna": 0}'):
            self.assertIsNone(NvmeAbilities.of(output))

    @given(st.binary())
    def test_whatever_comes(self, output: bytes) -> None:
        NvmeAbilities.of(output)
        AtaAbilities.of(b"\nSecurity:" + output)


@define
class Drive:
    """What a tool does to a file that stands for a disk."""

    path: Path
    answer: Ran = field(factory=lambda: Ran(("tool",), 0))
    erases: bool = True

    def __call__(self) -> Ran:
        if self.erases:
            self.path.write_bytes(bytes(SIZE))
        return self.answer


class WipeCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.write_bytes(b"old!" * (SIZE // 4))
        self.device = BlockDevice("sda", str(self.path), "disk", SIZE, serial="S1", sector=4096)
        self.devices: list[BlockDevice] = [self.device]
        self.tools = MemoryTools()
        self.context = MemoryRunning("disk.wipe")
        self.disk = Disk

    async def listed(self) -> Sequence[BlockDevice]:
        return self.devices

    def start(self, mode: WipeMode, *names: str) -> Deferred[JSON]:
        around = Around(
            lambda device: self.disk.open(Path(device.path)),
            self.tools,
            InlineWorkers(),
            lambda: 7,
            self.context.seconds,
        )
        kind = WipeDisks(self.listed, around)
        return Deferred.fromCoroutine(kind.run(self.context, Wipe(mode, names)))

    def wiped(self, mode: WipeMode = WipeMode.QUICK, *names: str) -> JSON:
        return self.successResultOf(self.start(mode, *names))

    def one(self, mode: WipeMode) -> dict[str, Any]:
        """:returns: the certificate of the one disk, verified or not."""
        started = self.start(mode)
        found: list[JSON] = []

        def ended(result: object) -> None:
            error = getattr(result, "value", None)
            found.append(error.data if isinstance(error, Incomplete) else result)  # type: ignore[arg-type]

        started.addBoth(ended)
        return certificate(found[0])

    def tries(self, certificate: JSON) -> list[tuple[str, str]]:
        listed = certificate["tries"]
        assert isinstance(listed, list)
        return [(each["method"], each["outcome"]) for each in listed]

    def answers(self, *beginning: str, answer: Ran | Callable[[], Ran]) -> None:
        self.tools.answers[beginning] = answer


class QuickTests(WipeCase):
    def test_both_ends(self) -> None:
        result = self.wiped()
        data = self.path.read_bytes()
        self.assertEqual((data[:END], data[-END:]), (bytes(END), bytes(END)))
        self.assertEqual(data[END:-END], (b"old!" * SIZE)[END : SIZE - END])
        made = certificate(result)
        self.assertEqual((made["method"], made["verified"]), ("quick", True))
        self.assertIn("everything but what makes it boot", made["leaves_out"][0])
        self.assertEqual(self.tools.asked[-2:], [(*REREAD, str(self.path)), SETTLE])

    def test_a_disk_that_forgets(self) -> None:
        """What was written is not there when it is read back: it fails, with the certificate."""

        class Forgets(Disk):
            def write(self, data: memoryview, at: int) -> None:
                """Says that it did."""

        self.disk = Forgets
        error = self.failureResultOf(self.start(WipeMode.QUICK), Incomplete).value
        assert isinstance(error, Incomplete)
        self.assertEqual((error.code, error.detail), ("wipe-unverified", "not verified: sda"))
        made = certificate(error.data)
        self.assertEqual((made["verified"], made["sampled"]["wrong"]), (False, 2))

    def test_a_disk_that_is_busy(self) -> None:
        """The others are emptied all the same."""
        other = Path(self.mktemp())
        other.write_bytes(b"old!" * (SIZE // 4))
        self.devices.append(evolve(self.device, name="sdb", path=str(other), serial="S2"))

        class Busy(Disk):
            @classmethod
            def open(cls, path: Path) -> "Disk":  # type: ignore[override]
                if path != other:
                    raise DiskTrouble("sda: Device or resource busy")
                return Disk.open(path)

        self.disk = Busy
        error = self.failureResultOf(self.start(WipeMode.QUICK), Incomplete).value
        assert isinstance(error, Incomplete)
        states = [each["verified"] for each in error.data["disks"]]  # type: ignore[attr-defined]
        self.assertEqual(states, [False, True])
        self.assertEqual(other.read_bytes()[:END], bytes(END))

    def test_progress(self) -> None:
        self.wiped()
        last = self.context.said[-1]
        self.assertEqual((last["done"], last["total"], last["disk"]), (2 * END, 2 * END, "sda"))


class SecureTests(WipeCase):
    def test_overwritten(self) -> None:
        """D61: what discards nothing is overwritten, and looked at."""
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertEqual(
            self.tries(made),
            [("blkdiscard-secure", "tool: Operation not supported"), ("overwrite", "done")],
        )
        self.assertEqual((made["method"], made["verified"]), ("overwrite", True))
        self.assertEqual(self.path.read_bytes(), bytes(SIZE))

    def test_a_tool_that_lies(self) -> None:
        """It says yes and does nothing: the marks are still there, and the next one is tried."""
        self.answers("blkdiscard", answer=Ran(("blkdiscard",), 0))
        made = self.one(WipeMode.SECURE)
        first, second = self.tries(made)
        self.assertIn("samples hold what they held", first[1])
        self.assertEqual(second, ("overwrite", "done"))

    def test_nothing_helps(self) -> None:
        class Stuck(Disk):
            def zero(self, at: int, count: int) -> None:
                """Says that it did."""

        self.disk = Stuck
        made = self.one(WipeMode.SECURE)
        self.assertEqual((made["method"], made["verified"]), ("", False))
        self.assertEqual(made["leaves_out"][0], "everything")

    def nvme(self, oacs: int, fna: int) -> None:
        self.device = evolve(self.device, name="nvme0n1", transport="nvme")
        self.devices[:] = [self.device]
        told = json.dumps({"oacs": oacs, "fna": fna}).encode()
        self.answers("nvme", "id-ctrl", answer=Ran(("nvme",), 0, told))

    def formats(self) -> list[str]:
        return [each[3] for each in self.tools.asked if each[:2] == ("nvme", "format")]

    def test_nvme(self) -> None:
        self.nvme(0b10, 0)
        self.answers("nvme", "format", answer=Drive(self.path))
        made = self.one(WipeMode.SECURE)
        self.assertEqual((made["method"], made["verified"]), ("nvme-erase", True))
        self.assertEqual(made["abilities"], {"oacs": 2, "fna": 0})
        self.assertEqual(self.formats(), ["--ses=1"])

    def test_crypto(self) -> None:
        """D57, W261: only a drive that can; else the other erase, and never none at all."""
        self.nvme(0b10, 0b100)
        self.answers("nvme", "format", answer=Drive(self.path))
        self.assertEqual(self.one(WipeMode.CRYPTO)["method"], "nvme-crypto-erase")
        self.nvme(0b10, 0)
        made = self.one(WipeMode.CRYPTO)
        self.assertEqual(made["method"], "nvme-erase")
        self.assertEqual(self.tries(made)[0], ("nvme-crypto-erase", "it cannot (W261)"))
        self.assertEqual(self.formats(), ["--ses=2", "--ses=1"])

    def test_invalid_opcode(self) -> None:
        """D57: the next method, and each try is listed."""
        self.nvme(0b10, 0b100)
        answer = Ran(("nvme",), 1, stderr="NVMe status: Invalid Command Opcode(0x2001)")
        self.answers("nvme", "format", answer=answer)
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.CRYPTO)
        self.assertEqual(
            [method for method, _ in self.tries(made)],
            ["nvme-crypto-erase", "nvme-erase", "blkdiscard-secure", "overwrite"],
        )
        self.assertEqual((made["method"], self.formats()), ("overwrite", ["--ses=2", "--ses=1"]))

    def test_no_format(self) -> None:
        """W261: a controller that has no such command is never asked for it."""
        self.nvme(0, 0b100)
        self.one(WipeMode.CRYPTO)
        self.assertEqual(self.formats(), [])

    def test_another_namespace(self) -> None:
        """W262: an erase of all of them is for all of them."""
        self.nvme(0b10, 0b10)
        other = evolve(self.device, name="nvme0n2", serial="S2", path="/nonexistent")
        self.devices.append(other)
        result = self.wiped(WipeMode.SECURE, "nvme0n1")
        made = certificate(result)
        self.assertEqual(self.formats(), [])
        self.assertEqual(made["method"], "overwrite")

    def ata(self, said: bytes) -> None:
        self.device = evolve(self.device, transport="sata")
        self.devices[:] = [self.device]
        self.answers("hdparm", "-I", answer=Ran(("hdparm",), 0, said))

    def test_ata(self) -> None:
        self.ata(HDPARM)
        enhanced = ("hdparm", "--user-master", "u", "--security-erase-enhanced")
        self.answers(*enhanced, answer=Drive(self.path))
        made = self.one(WipeMode.SECURE)
        self.assertEqual((made["method"], made["verified"]), ("ata-enhanced-erase", True))

    def test_hdparm_that_says_yes(self) -> None:
        """A drive without the feature set: QEMU's, and hdparm exits with 0 all the same."""
        self.ata(b"ATA device\n")
        self.one(WipeMode.SECURE)
        self.assertEqual([each for each in self.tools.asked if "--security" in str(each)], [])

    def test_frozen(self) -> None:
        """W266: with its reason, and then it is overwritten."""
        self.ata(HDPARM.replace(b"not\tfrozen", b"\tfrozen"))
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertIn("frozen by the firmware", self.tries(made)[0][1])
        self.assertEqual(made["method"], "overwrite")

    def test_locked_by_an_erase_that_was_cut_off(self) -> None:
        """W267: our own password is tried first."""
        self.ata(HDPARM.replace(b"not\tlocked", b"\tlocked"))

        def unlock() -> Ran:
            self.answers("hdparm", "-I", answer=Ran(("hdparm",), 0, HDPARM))
            return Ran(("hdparm",), 0)

        self.tools.answers = {
            ("hdparm", "--user-master", "u", "--security-unlock"): unlock,
            ("hdparm", "--user-master", "u", "--security-erase-enhanced"): Drive(self.path),
            **self.tools.answers,
        }
        made = self.one(WipeMode.SECURE)
        self.assertEqual(made["method"], "ata-enhanced-erase")

    def test_a_tool_that_is_missing(self) -> None:
        self.nvme(0b10, 0)

        def missing() -> Ran:
            raise ToolTrouble("there is no nvme here")

        self.answers("nvme", "id-ctrl", answer=missing)
        made = self.one(WipeMode.SECURE)
        self.assertIn("there is no nvme here", self.tries(made)[0][1])
        self.assertTrue(made["verified"])


class ChosenTests(WipeCase):
    def test_what_is_left_alone(self) -> None:
        """W278, W279: named, with the reason."""
        self.devices.append(BlockDevice("sdz", "/dev/sdz", "disk", 0, vendor="AMI"))
        result = self.wiped()
        self.assertEqual(
            result["left_alone"], [{"disk": "sdz", "reason": "it has no medium (W279)"}]
        )

    def test_names(self) -> None:
        self.devices.append(evolve(self.device, name="sdb", path="/nonexistent", serial="S2"))
        result = self.wiped(WipeMode.QUICK, "/dev/sda")
        self.assertEqual(len(result["disks"]), 1)  # type: ignore[arg-type]
        for name in ("sdq", "sdz"):
            self.devices.append(BlockDevice("sdz", "/dev/sdz", "disk", 0))
            error = self.failureResultOf(self.start(WipeMode.QUICK, "sda", name), Rejected).value
            self.assertEqual(getattr(error, "code", ""), "not-found")

    def test_paths_to_one_disk(self) -> None:
        """W276: it is emptied once."""
        self.devices[:] = [
            evolve(self.device, wwn="0x1"),
            evolve(self.device, name="sdb", wwn="0x1"),
        ]
        self.assertEqual(len(self.wiped()["disks"]), 1)  # type: ignore[arg-type]

    def test_siblings(self) -> None:
        names = ["nvme0n1", "nvme0n2", "nvme1n1", "sda"]
        devices = [BlockDevice(each, "", "disk", 1) for each in names]
        self.assertTrue(siblings(devices[0], devices, ["nvme0n1"]))
        self.assertFalse(siblings(devices[0], devices, ["nvme0n1", "nvme0n2"]))
        self.assertFalse(siblings(devices[2], devices, ["nvme1n1"]))
        self.assertFalse(siblings(devices[3], devices, ["sda"]))

    def test_what_does_not_come_apart(self) -> None:
        """It is said; what is gone already is no news."""
        volume = BlockDevice("vg-x", "/dev/mapper/vg-x", "lvm", 1, mounts=("/mnt",))
        self.devices[:] = [evolve(self.device, holds=(volume,))]
        self.answers("umount", answer=Ran(("umount",), 32, stderr="umount: /mnt: not mounted."))
        self.answers("dmsetup", answer=Ran(("dmsetup",), 1, stderr="Device is in use"))
        self.assertEqual(self.wiped()["complaints"], ["dmsetup: Device is in use"])
