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
from rescriptum.ramdisk.wipe.drives import AtaAbilities, NvmeAbilities, hidden
from rescriptum.ramdisk.wipe.drives import namespaces as namespaces_of
from rescriptum.ramdisk.wipe.erasing import SAMPLES, Around
from rescriptum.ramdisk.wipe.holders import Blank, refuse_shared, taken_apart, together
from rescriptum.ramdisk.wipe.methods import PASSWORD
from rescriptum.ramdisk.wipe.paths import alike, chosen, namespaces
from rescriptum.ramdisk.wipe.places import SAMPLE, ends, marker, samples
from rescriptum.ramdisk.wiping import WipeDisks
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
                ("swapoff", "/dev/sda2"),
                Blank(volume),
                ("dmsetup", "remove", "--retry", "vg-root"),
                Blank(raid),
                ("mdadm", "--stop", "/dev/md1"),
                ("mdadm", "--zero-superblock", "--force", "/dev/sda1"),
                ("mdadm", "--zero-superblock", "--force", "/dev/sdb1"),
            ),
        )

    def test_what_stands_on_other_disks_too(self) -> None:
        """It is stopped, and its contents are left: nobody has asked for those to be emptied."""
        raid = BlockDevice("md1", "/dev/md1", "raid1", 1)
        ours = BlockDevice("sda", "/dev/sda", "disk", 1, holds=(raid,))
        other = BlockDevice("sdb", "/dev/sdb", "disk", 1, holds=(raid,))
        self.assertEqual(taken_apart([ours], [other]), (("mdadm", "--stop", "/dev/md1"),))

    def test_what_cannot_be_written(self) -> None:
        made = [
            BlockDevice("vg-a", "/dev/mapper/vg-a", "lvm", 0),
            BlockDevice("vg-b", "/dev/mapper/vg-b", "lvm", 1, read_only=True),
        ]
        steps = taken_apart([BlockDevice("sda", "/dev/sda", "disk", 1, holds=tuple(made))])
        self.assertEqual([each for each in steps if isinstance(each, Blank)], [])

    def test_partitions_of_a_disk_with_several_paths(self) -> None:
        """They are the device mapper's own: else nothing below them would come apart."""
        part = BlockDevice("mpatha-part1", "/dev/mapper/mpatha-part1", "part", 1)
        whole = BlockDevice("mpatha", "/dev/mapper/mpatha", "mpath", 1, holds=(part,))
        paths = [BlockDevice(each, f"/dev/{each}", "disk", 1, holds=(whole,)) for each in "ab"]
        steps = taken_apart(paths)
        self.assertEqual(
            steps,
            (
                Blank(part),
                ("dmsetup", "remove", "--retry", "mpatha-part1"),
                Blank(whole),
                ("dmsetup", "remove", "--retry", "mpatha"),
            ),
        )

    def test_a_mount_within_a_mount(self) -> None:
        """The inner one first, whichever partition it is of."""
        root = BlockDevice("sda1", "/dev/sda1", "part", 1, mounts=("/mnt",))
        home = BlockDevice("sda2", "/dev/sda2", "part", 1, mounts=("/mnt/home",))
        disk = BlockDevice("sda", "/dev/sda", "disk", 1, holds=(root, home))
        self.assertEqual(taken_apart([disk]), (("umount", "/mnt/home"), ("umount", "/mnt")))

    def test_what_is_together_still(self) -> None:
        part = BlockDevice("sda1", "/dev/sda1", "part", 1, mounts=("/mnt",))
        free = BlockDevice("sda2", "/dev/sda2", "part", 1)
        raid = BlockDevice("md1", "/dev/md1", "raid1", 1)
        disks = [BlockDevice("sda", "", "disk", 1, holds=(part, free, raid))]
        self.assertEqual(together(disks), ("sda1", "md1"))

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
            [(0, 3), (4, 0), (5, 0), (7, 2), (12, 2), (16, 0), (20, 4)],
        )

    def test_second_header_of_luks(self) -> None:
        """It lies behind the first, up to 4 MiB of it: by it alone all is opened again."""
        found = ends(BlockDevice("a", "", "disk", SIZE))
        for at in (2 * MIB, 4 * MIB):
            self.assertTrue(any(each.at <= at < each.at + each.size for each in found), at)

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
        self.assertEqual(
            AtaAbilities.of(HDPARM), AtaAbilities(True, True, False, False, False, 2, 8)
        )
        frozen = AtaAbilities.of(HDPARM.replace(b"not\tfrozen", b"\tfrozen"))
        assert frozen is not None
        self.assertTrue(frozen.frozen)
        plain = AtaAbilities.of(HDPARM.replace(b"\tsupported: enh", b"not\tsupported: enh"))
        assert plain is not None
        self.assertEqual((plain.supported, plain.enhanced), (True, False))
        self.assertIsNone(AtaAbilities.of(b"SG_IO: bad/missing sense data\n"))

    def test_how_long_it_takes(self) -> None:
        """W269: twice what it says; the largest figure has no end."""
        able = AtaAbilities.of(HDPARM)
        assert able is not None
        self.assertEqual((able.took(False), able.allowed(False)), (120, 2 * 120 + 60))
        self.assertEqual((able.took(True), able.allowed(True)), (8 * 60, 8 * 120 + 60))
        for said in (b"8min", b"8 min"):
            long = AtaAbilities.of(HDPARM.replace(b"8min", said.replace(b"8", b"508")))
            assert long is not None
            self.assertEqual(long.allowed(True), 12 * 3600)  # also where nothing is said of it

    def test_hidden_sectors(self) -> None:
        said = b"/dev/sda:\n max sectors   = 976771055/976773168, HPA is enabled\n"
        self.assertEqual(hidden(said, 976771055), 2113)
        said = b" max sectors   = 976773168/976773168, HPA is disabled\n"
        self.assertEqual(hidden(said, 976773168), 0)
        self.assertEqual(hidden(b"SG_IO: bad/missing sense data\n", 1), 0)

    def test_hidden_sectors_of_what_is_no_ata_drive(self) -> None:
        """hdparm 9.65 of a SCSI disk, and its exit code is 0: it knows another disk than we do."""
        said = b"/dev/sda:\n max sectors   = 0/1, HPA is enabled\n"
        self.assertEqual(hidden(said, 65536), 0)

    def test_nvme(self) -> None:
        told = json.dumps({"oacs": 0b10, "fna": 0b110}).encode()
        able = NvmeAbilities.of(told)
        self.assertEqual(able, NvmeAbilities(True, True, True, 0b10, 0b110))
        for output in (b"", b"[]", b"{}", b'{"oacs": "2", "fna": 0}', b'{"oacs": true, "fna": 0}'):
            self.assertIsNone(NvmeAbilities.of(output))
        for fna in (0b01, 0b10):  # W262: the format itself reaches all, or its erase does
            able = NvmeAbilities.of(json.dumps({"oacs": 2, "fna": fna}).encode())
            assert able is not None
            self.assertTrue(able.all_namespaces)

    def test_namespaces(self) -> None:
        self.assertEqual(namespaces_of(b'{"nsid_list": [{"nsid": 1}, {"nsid": 2}]}'), 2)
        for output in (b"", b"[]", b'{"nsid_list": 3}'):
            self.assertEqual(namespaces_of(output), 0)

    @given(st.binary())
    def test_whatever_comes(self, output: bytes) -> None:
        NvmeAbilities.of(output)
        AtaAbilities.of(b"\nSecurity:" + output)
        self.assertGreaterEqual(hidden(b"max sectors = " + output, 1), 0)
        self.assertEqual(namespaces_of(output), 0)


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

    def assert_same(self, one: bytes, other: bytes) -> None:
        """Of so many bytes nobody wants to see which differ."""
        self.assertTrue(one == other, f"{len(one)} and {len(other)} bytes differ")

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
        self.assert_same(data[:END] + data[-END:], bytes(2 * END))
        self.assert_same(data[4 * MIB + SAMPLE : -END], b"old!" * ((18 * MIB - SAMPLE) // 4))
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
        self.assertEqual(made["verified"], False)
        self.assertEqual(self.tries(made), [("quick", "3 of 3 places hold something still")])

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
        self.assert_same(other.read_bytes()[:END], bytes(END))

    def test_progress(self) -> None:
        self.wiped()
        last = self.context.said[-1]
        total = 2 * END + 2 * SAMPLE
        self.assertEqual((last["done"], last["total"], last["disk"]), (total, total, "sda"))
        self.assertEqual((last["method"], last["number"], last["disks"]), ("quick", 1, 1))


class SecureTests(WipeCase):
    def test_overwritten(self) -> None:
        """D61: what discards nothing is overwritten, and looked at."""
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertEqual(
            self.tries(made)[1:],
            [("blkdiscard-secure", "tool: Operation not supported"), ("overwrite", "done")],
        )
        self.assertEqual((made["method"], made["verified"]), ("overwrite", True))
        self.assert_same(self.path.read_bytes(), bytes(SIZE))

    def test_a_tool_that_lies(self) -> None:
        """It says yes and does nothing: the marks are still there, and the next one is tried."""
        self.answers("blkdiscard", answer=Ran(("blkdiscard",), 0))
        made = self.one(WipeMode.SECURE)
        _, first, second = self.tries(made)
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

    def test_password_that_stays(self) -> None:
        """W267: an erase that is refused leaves the password, which the certificate then names."""
        self.ata(HDPARM)
        self.answers("blkdiscard", answer=FAILED)

        def set_password() -> Ran:
            self.answers("hdparm", "-I", answer=Ran(("hdparm",), 0, enabled))
            return Ran(("hdparm",), 0)

        enabled = HDPARM.replace(b"not\tenabled", b"\tenabled")
        beginning = ("hdparm", "--user-master", "u")
        self.answers(*beginning, "--security-set-pass", answer=set_password)
        self.answers(*beginning, "--security-erase", answer=FAILED)
        self.answers(*beginning, "--security-erase-enhanced", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertIn(f"it has the password '{PASSWORD}' now (W267)", self.tries(made)[0][1])
        self.assertEqual(made["abilities"]["ata_password"], PASSWORD)

    def test_an_erase_that_does_not_end(self) -> None:
        """W269: nobody knows what it does still; the password stands in the certificate."""
        self.ata(HDPARM.replace(b"\tsupported: enh", b"not\tsupported: enh"))
        self.answers("blkdiscard", answer=FAILED)

        def late() -> Ran:
            raise ToolTrouble("hdparm: it did not end in 300 seconds", "timeout")

        self.answers("hdparm", "--user-master", "u", "--security-erase", answer=late)
        made = self.one(WipeMode.SECURE)
        self.assertIn("it may be at it still", self.tries(made)[0][1])
        self.assertEqual(made["abilities"]["ata_password"], PASSWORD)

    def test_no_password_is_left(self) -> None:
        self.ata(HDPARM)
        erase = ("hdparm", "--user-master", "u", "--security-erase-enhanced")
        self.answers(*erase, answer=Drive(self.path))
        self.assertNotIn("ata_password", self.one(WipeMode.SECURE)["abilities"])

    def test_password_that_is_refused(self) -> None:
        self.ata(HDPARM)
        self.answers("hdparm", "--user-master", "u", "--security-set-pass", answer=FAILED)
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertEqual(
            self.tries(made)[0], ("ata-enhanced-erase", "tool: Operation not supported")
        )
        self.assertEqual(made["method"], "overwrite")

    def test_locked_for_good(self) -> None:
        """W267: every password of ours is tried, and it says so."""
        self.ata(HDPARM.replace(b"not\tlocked", b"\tlocked"))
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertIn("locked, by a password that is not ours", self.tries(made)[0][1])
        asked = [each[4] for each in self.tools.asked if "--security-unlock" in each]
        self.assertEqual(asked, [PASSWORD, "NULL", ""])

    def test_longer_than_there_is(self) -> None:
        """W269: an erase that would be cut off locks the drive: it is not begun."""
        self.ata(HDPARM.replace(b"2min", b"400min").replace(b"8min", b"400min"))
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        why = "it takes 400 minutes by its own word, and there is less (W269)"
        self.assertEqual(self.tries(made)[:2], [("ata-enhanced-erase", why), ("ata-erase", why)])
        self.assertFalse(any("--security-set-pass" in each for each in self.tools.asked))

    def test_ways_that_take_no_ata_commands(self) -> None:
        """W270: bridges may make anything of them; a drive behind SAS may be a SATA one."""
        for transport, asked in (("usb", False), ("iscsi", False), ("sas", True), ("", True)):
            self.device = evolve(self.device, transport=transport)
            self.devices[:] = [self.device]
            self.tools.asked.clear()
            self.one(WipeMode.SECURE)
            self.assertEqual(("hdparm", "-I", str(self.path)) in self.tools.asked, asked, transport)

    def test_hidden_sectors(self) -> None:
        """They are told, whatever was done to the rest."""
        self.ata(HDPARM.replace(b"not\tfrozen", b"\tfrozen"))
        sectors = SIZE // self.device.sector
        said = b" max sectors = %d/%d, HPA" % (sectors, sectors + 10)
        self.answers("hdparm", "-N", answer=Ran(("hdparm",), 0, said))
        made = self.one(WipeMode.SECURE)
        self.assertEqual(made["abilities"]["hidden_sectors"], 10)

    def test_a_pattern(self) -> None:
        """W268: an erase may write one; then nothing of it is left where a table would be."""
        self.ata(HDPARM)

        def pattern() -> Ran:
            self.path.write_bytes(b"\xa5" * SIZE)
            return Ran(("hdparm",), 0)

        self.answers("hdparm", "--user-master", "u", "--security-erase-enhanced", answer=pattern)
        made = self.one(WipeMode.SECURE)
        self.assertEqual((made["method"], made["verified"]), ("ata-enhanced-erase", True))
        data = self.path.read_bytes()
        self.assert_same(data[:END], bytes(END))
        self.assertEqual(data[8 * MIB], 0xA5)

    def test_marks_that_cannot_be_written(self) -> None:
        """Then what was there before is to be gone: a drive that keeps all of it is found out."""

        class Deaf(Disk):
            def put(self, data: bytes, at: int) -> None:
                raise DiskTrouble("Input/output error")

            def zero(self, at: int, count: int) -> None:
                """Says that it did."""

        self.disk = Deaf
        self.answers("blkdiscard", answer=Ran(("blkdiscard",), 0))
        made = self.one(WipeMode.SECURE)
        self.assertFalse(made["verified"])
        for method, outcome in self.tries(made)[1:]:
            self.assertIn("samples hold what they held", outcome, method)

    def test_marks_of_which_nothing_is_known(self) -> None:
        """What is empty before says nothing: half of the places have to say something."""
        self.path.write_bytes(bytes(SIZE))

        class Deaf(Disk):
            def put(self, data: bytes, at: int) -> None:
                raise DiskTrouble("Input/output error")

        self.disk = Deaf
        made = self.one(WipeMode.SECURE)
        self.assertFalse(made["verified"])
        self.assertIn("nobody can tell: 0 of ", self.tries(made)[1][1])

    def test_half_of_the_marks(self) -> None:
        """At the bound: half of them is enough, and how many there were is told."""
        where = samples(SIZE, 7, SAMPLES)
        deaf = set(where[: len(where) // 2])
        self.path.write_bytes(bytes(SIZE))

        class Half(Disk):
            def put(self, data: bytes, at: int) -> None:
                if at in deaf:
                    raise DiskTrouble("Input/output error")
                super().put(data, at)

        self.disk = Half
        self.answers("blkdiscard", answer=FAILED)
        made = self.one(WipeMode.SECURE)
        self.assertTrue(made["verified"])
        self.assertEqual(made["sampled"]["unmarked"], len(deaf))
        deaf.update(where[: len(where) // 2 + 1])
        self.path.write_bytes(bytes(SIZE))
        self.assertFalse(self.one(WipeMode.SECURE)["verified"])

    def test_a_disk_that_cannot_be_read_afterwards(self) -> None:
        """W265: nobody can tell what is there: the next method, and in the end not verified."""
        spoilt = False

        def spoil() -> Ran:
            nonlocal spoilt
            spoilt = True
            return Ran(("blkdiscard",), 0)

        class Spoilt(Disk):
            def read(self, count: int, at: int) -> bytes:
                return b"" if spoilt else super().read(count, at)

        self.disk = Spoilt
        self.answers("blkdiscard", answer=spoil)
        made = self.one(WipeMode.SECURE)
        self.assertIn(f"0 of {SAMPLE} bytes are read at 0", self.tries(made)[1][1])
        self.assertFalse(made["verified"])

    def test_a_disk_of_another_size(self) -> None:
        """What is beyond would stay; or it is another disk, that has come under the old name."""
        for mode in (WipeMode.QUICK, WipeMode.SECURE):
            self.path.write_bytes(b"old!" * (SIZE // 4 + 1024))
            made = self.one(mode)
            self.assertFalse(made["verified"])
            self.assertIn(f"{SIZE + SAMPLE} bytes, and {SIZE} when it was", str(self.tries(made)))

    def test_a_locked_nvme_drive(self) -> None:
        """W263: its label has the only way out."""
        self.nvme(0b10, 0)
        said = "NVMe status: Access Denied: Access to the namespace is denied (0x286)"
        self.answers("nvme", "format", answer=Ran(("nvme",), 1, stderr=said))
        made = self.one(WipeMode.SECURE)
        self.assertIn("(PSID) alone sets it free (W263)", self.tries(made)[0][1])

    def test_two_namespaces(self) -> None:
        """W262: an erase of all is fine where all are to be wiped, and those alone there are."""
        self.nvme(0b10, 0b01)
        other = Path(self.mktemp())
        self.devices.append(
            evolve(self.device, name="nvme0n2", serial="S1", wwn="eui.2", path=str(other))
        )
        for listed, formatted in ((2, True), (3, False)):
            other.write_bytes(b"old!" * (SIZE // 4))
            self.tools.asked.clear()
            nsids = {"nsid_list": [{"nsid": each + 1} for each in range(listed)]}
            self.answers("nvme", "list-ns", answer=Ran(("nvme",), 0, json.dumps(nsids).encode()))

            def erase() -> Ran:
                for each in (self.path, other):
                    each.write_bytes(bytes(SIZE))
                return Ran(("nvme",), 0)

            self.answers("nvme", "format", answer=erase)
            result = self.wiped(WipeMode.SECURE)["disks"]
            assert isinstance(result, list)
            self.assertEqual([each["verified"] for each in result], [True, True])
            self.assertEqual(bool(self.formats()), formatted)
            self.assertEqual(result[0]["abilities"]["namespaces"], listed)

    def test_progress(self) -> None:
        """Of a drive that erases itself nothing is heard: how long it takes is told."""
        self.ata(HDPARM)
        erase = ("hdparm", "--user-master", "u", "--security-erase-enhanced")
        self.answers(*erase, answer=Drive(self.path))
        self.one(WipeMode.SECURE)
        first = self.context.said[0]
        self.assertEqual((first["method"], first["seconds_left"]), ("ata-enhanced-erase", 8 * 60))

    def test_no_tool_outlives_the_command(self) -> None:
        """What takes longer than there is, is given up while a certificate can be made still."""
        waits: list[float] = []

        class Timed(MemoryTools):
            async def run(self, *argv: str, stdin: bytes = b"", seconds: float = 60) -> Ran:
                waits.append(seconds)
                return await super().run(*argv, stdin=stdin, seconds=seconds)

        self.tools = Timed()
        self.ata(HDPARM.replace(b"8min", b"200min").replace(b"2min", b"400min"))
        self.one(WipeMode.SECURE)
        self.assertEqual(max(waits), 6 * 3600 - 300)

    def test_seconds(self) -> None:
        """No tool may take longer than there is: its certificate would never be told."""
        self.nvme(0b10, 0)

        def erase() -> Ran:
            self.context.clock.advance(6 * 3600)
            return FAILED

        self.answers("nvme", "format", answer=erase)
        made = self.one(WipeMode.SECURE)
        self.assertEqual(self.tries(made)[1:], [("blkdiscard-secure", "there is no time left")])
        self.assertEqual(made["seconds"], 6 * 3600)


class TakenBackTests(WipeCase):
    def test_before_it_begins(self) -> None:
        self.context.cancelled = True
        error = self.failureResultOf(self.start(WipeMode.QUICK), Rejected).value
        self.assertEqual((getattr(error, "code", ""), self.tools.asked), ("revoked", []))

    def test_in_the_middle(self) -> None:
        """What was done is told, and the disks that it did not come to are not verified."""
        context = self.context
        other = Path(self.mktemp())
        other.write_bytes(b"old!" * (SIZE // 4))
        self.devices.append(evolve(self.device, name="sdb", path=str(other), serial="S2"))
        self.answers("blkdiscard", answer=FAILED)

        class Counted(Disk):
            def zero(self, at: int, count: int) -> None:
                super().zero(at, count)
                context.cancelled = True

        self.disk = Counted
        error = self.failureResultOf(self.start(WipeMode.SECURE), Incomplete).value
        assert isinstance(error, Incomplete)
        self.assertEqual((error.code, error.detail), ("revoked", "not verified: sda, sdb"))
        listed = error.data["disks"]
        assert isinstance(listed, list)
        self.assertEqual(
            self.tries(listed[0])[-1],
            ("overwrite", f"taken back: {4 * MIB} of {SIZE} bytes are zeros"),
        )
        self.assertEqual(self.tries(listed[1]), [("", "taken back")])
        self.assert_same(other.read_bytes(), b"old!" * (SIZE // 4))

    def test_many_disks_and_no_time(self) -> None:
        """No tool is asked of any of them: a tool that hangs would take the certificate along."""
        self.devices[:] = [
            evolve(self.device, name=f"sd{each}", serial=f"S{each}") for each in range(100)
        ]
        clock = self.context.clock
        holder = BlockDevice("vg-x", "/nonexistent", "lvm", 1)
        self.devices[0] = evolve(self.devices[0], holds=(holder,))

        def slow() -> Ran:
            clock.advance(6 * 3600)
            return Ran(("dmsetup",), 0)

        self.answers("dmsetup", answer=slow)
        error = self.failureResultOf(self.start(WipeMode.SECURE), Incomplete).value
        assert isinstance(error, Incomplete)
        listed = error.data["disks"]
        assert isinstance(listed, list)
        self.assertEqual(len(listed), 100)
        self.assertEqual(len(self.tools.asked), 1)
        self.assertEqual(self.path.read_bytes()[:4], b"old!")

    def test_a_tool_that_is_missing(self) -> None:
        """Of those that take apart and settle: the wipe itself goes on."""

        def missing() -> Ran:
            raise ToolTrouble("there is no udevadm here")

        self.answers("udevadm", answer=missing)
        self.assertEqual(self.wiped()["complaints"], ["there is no udevadm here"])

    def test_disks_that_cannot_be_listed_again(self) -> None:
        again = False

        async def listed() -> Sequence[BlockDevice]:
            nonlocal again
            if again:
                raise ToolTrouble("lsblk: it did not end")
            again = True
            return self.devices

        self.listed = listed  # type: ignore[method-assign]
        self.assertEqual(
            self.wiped()["complaints"],
            ["nobody can tell what is on the disks still: lsblk: it did not end"],
        )


class ChosenTests(WipeCase):
    def test_what_is_left_alone(self) -> None:
        """W278, W279: named, with the reason."""
        self.devices.append(BlockDevice("sdz", "/dev/sdz", "disk", 0, vendor="AMI"))
        result = self.wiped()
        self.assertEqual(
            result["left_alone"], [{"disk": "sdz", "reason": "it has no medium (W279)"}]
        )

    def test_what_cannot_be_written(self) -> None:
        """W284: the kernel may only have been told so; a switch is not to be argued with."""
        self.devices[:] = [evolve(self.device, read_only=True)]
        self.assertEqual(certificate(self.wiped())["verified"], True)
        self.assertEqual(self.tools.asked[0], ("blockdev", "--setrw", str(self.path)))

        class Switched(Disk):
            @classmethod
            def open(cls, path: Path) -> "Disk":  # type: ignore[override]
                raise DiskTrouble("sda: Read-only file system")

        self.disk = Switched
        made = self.one(WipeMode.QUICK)
        self.assertEqual(self.tries(made), [("quick", "sda: Read-only file system")])
        self.devices[:] = [evolve(self.device, read_only=True, removable=True)]
        error = self.failureResultOf(self.start(WipeMode.QUICK), Incomplete).value
        self.assertEqual(getattr(error, "detail", ""), "there is no disk to wipe")

    def test_names(self) -> None:
        self.devices.append(evolve(self.device, name="sdb", path="/nonexistent", serial="S2"))
        result = self.wiped(WipeMode.QUICK, "/dev/sda")
        self.assertEqual(len(result["disks"]), 1)  # type: ignore[arg-type]
        for name in ("sdq", "sdz"):
            self.devices.append(BlockDevice("sdz", "/dev/sdz", "disk", 0))
            error = self.failureResultOf(self.start(WipeMode.QUICK, "sda", name), Rejected).value
            self.assertEqual(getattr(error, "code", ""), "not-found")

    def test_paths_to_one_disk(self) -> None:
        """
        W276: it is emptied once, and its other name is told; the kernel reads the table by both,
        or the other one would go on having partitions.
        """
        link = self.path.with_name("link")
        link.symlink_to(self.path.name)
        self.devices[:] = [
            evolve(self.device, wwn="0x1"),
            evolve(self.device, name="sdb", path=str(link), wwn="0x1"),
        ]
        made = certificate(self.wiped())
        self.assertEqual((made["disk"], made["paths"]), ("sda", ["sdb"]))
        read = [each[2] for each in self.tools.asked if each[:2] == REREAD]
        self.assertEqual(read, [str(self.path), str(link)])

    def test_two_disks_that_say_the_same(self) -> None:
        """Bridges give every drive one serial number: what is written shows which it is."""
        other = Path(self.mktemp())
        other.write_bytes(b"old!" * (SIZE // 4))
        self.devices.append(evolve(self.device, name="sdb", path=str(other)))
        listed = self.wiped()["disks"]
        assert isinstance(listed, list)
        self.assertEqual(
            [(each["disk"], each["paths"]) for each in listed], [("sda", []), ("sdb", [])]
        )
        for path in (self.path, other):
            self.assert_same(path.read_bytes()[:END], bytes(END))

    def test_paths_that_cannot_be_told(self) -> None:
        """One of them does not open: it is no path to what was wiped, and not verified."""
        self.devices.append(evolve(self.device, name="sdb", path="/nonexistent/sdb"))
        error = self.failureResultOf(self.start(WipeMode.QUICK), Incomplete).value
        self.assertEqual(getattr(error, "detail", ""), "not verified: sdb")

    def test_one_path_is_named(self) -> None:
        """A world-wide name makes the other one a path too; a serial number alone does not."""
        for wwn, names in (("0x1", ["sda", "sdb"]), ("", ["sda"])):
            pair = [evolve(self.device, wwn=wwn), evolve(self.device, name="sdb", wwn=wwn)]
            these = chosen(pair, ["sda"])
            self.assertEqual([each.name for each in these.wiped], names)
            self.assertEqual(len(these.others), 2 - len(names))

    def test_alike(self) -> None:
        one = evolve(self.device, wwn="0x1")
        self.assertTrue(alike(one, evolve(one, wwn="naa.1", serial=" s1_ ")))
        for other in (evolve(one, wwn="2"), evolve(one, serial="S2"), evolve(one, size=1)):
            self.assertFalse(alike(one, other))
        nothing = evolve(self.device, serial="")
        self.assertFalse(alike(nothing, nothing))

    def test_no_disk_at_all(self) -> None:
        """Nothing was wiped: that is no success."""
        self.devices[:] = [BlockDevice("sr0", "/dev/sr0", "rom", 1)]
        error = self.failureResultOf(self.start(WipeMode.QUICK), Incomplete).value
        assert isinstance(error, Incomplete)
        self.assertEqual(error.detail, "there is no disk to wipe")
        self.assertEqual(error.data["left_alone"], [{"disk": "sr0", "reason": "no disk, but rom"}])

    def test_a_shared_file_system(self) -> None:
        """W277: nothing at all is touched, not the other disks either."""
        shared = BlockDevice("sdb1", "/dev/sdb1", "part", 1, filesystem="ocfs2")
        self.devices.append(evolve(self.device, name="sdb", serial="S2", holds=(shared,)))
        error = self.failureResultOf(self.start(WipeMode.QUICK), Rejected).value
        self.assertEqual(getattr(error, "code", ""), "conflict")
        self.assertEqual((self.tools.asked, self.path.read_bytes()[:4]), ([], b"old!"))
        self.assertEqual(len(self.wiped(WipeMode.QUICK, "sda")["disks"]), 1)  # type: ignore[arg-type]

    def test_namespaces_of_a_controller(self) -> None:
        names = ["nvme0n1", "nvme0n2", "nvme1n1", "sda"]
        devices = [BlockDevice(each, "", "disk", 1) for each in names]
        self.assertEqual(namespaces(devices[0], devices), names[:2])
        self.assertEqual(namespaces(devices[2], devices), ["nvme1n1"])
        self.assertEqual(namespaces(devices[3], devices), [])

    def test_what_does_not_come_apart(self) -> None:
        """It is said; what is gone already is no news."""
        path = Path(self.mktemp())
        path.write_bytes(b"old!" * (8 * MIB // 4))
        volume = BlockDevice("vg-x", str(path), "lvm", 8 * MIB, mounts=("/mnt",))
        self.devices[:] = [evolve(self.device, holds=(volume,))]
        self.answers("umount", answer=Ran(("umount",), 32, stderr="umount: /mnt: not mounted."))
        self.answers("dmsetup", answer=Ran(("dmsetup",), 1, stderr="Device is in use"))
        self.assertEqual(
            self.wiped()["complaints"],
            ["dmsetup: Device is in use", "vg-x: it is there still"],
        )
        self.assert_same(path.read_bytes()[: 2 * MIB], bytes(2 * MIB))
        self.assert_same(path.read_bytes()[-2 * MIB :], bytes(2 * MIB))

    def test_what_could_not_be_emptied(self) -> None:
        """A set keeps its data far from where it begins: made anew, it would have it."""
        raid = BlockDevice("md1", "/nonexistent/md1", "raid1", 8 * MIB)
        self.devices[:] = [evolve(self.device, holds=(raid,))]
        made = self.one(WipeMode.QUICK)
        why = "md1 could not be emptied: /nonexistent/md1: No such file or directory"
        self.assertEqual((made["verified"], self.tries(made)), (False, [("quick", why)]))
        self.assert_same(self.path.read_bytes()[:END], bytes(END))
        self.answers("blkdiscard", answer=FAILED)
        self.assertTrue(self.one(WipeMode.SECURE)["verified"])  # every sector: that of the set too
