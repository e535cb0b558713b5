"""Tests of emptied disks with the programs that look for what was on them."""

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from rescriptum.contract.ramdisk import Wipe, WipeMode
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.image.store import Disk
from rescriptum.ramdisk.wipe.erasing import Around
from rescriptum.ramdisk.wiping import WipeDisks
from tests.ramdiskcases import MemoryRunning, MemoryTools
from tests.webclient import InlineWorkers

MIB = 1 << 20
SIZE = 256 * MIB
TOOLS = ("blkid", "sgdisk", "mke2fs", "mkfs.vfat")
UUID = b"\x11" * 16


def raid(size: int, at: int) -> bytes:
    """:returns: a superblock of md 1.x: the member of a mirror, with its data before it."""
    block = bytearray(1024)
    struct.pack_into("<II", block, 0, 0xA92B4EFC, 1)
    block[16:32] = UUID
    struct.pack_into("<II", block, 72, 1, 0)  # level and layout
    struct.pack_into("<Q", block, 80, size // 512 - 16)
    struct.pack_into("<I", block, 92, 2)
    struct.pack_into("<Q", block, 136, size // 512 - 16)
    struct.pack_into("<Q", block, 144, at // 512)
    struct.pack_into("<I", block, 220, 128)
    words = struct.unpack("<256I", block)
    total = sum(words)
    struct.pack_into("<I", block, 216, (total & 0xFFFFFFFF) + (total >> 32) & 0xFFFFFFFF)
    return bytes(block)


def second_header(at: int) -> bytes:
    """:returns: the copy of a LUKS2 header of ``at`` bytes, which lies behind it."""
    block = bytearray(4096)
    struct.pack_into(">6sHQQ", block, 0, b"SKUL\xba\xbe", 2, at, 1)
    block[168:204] = b"11111111-2222-4333-8444-555555555555"
    struct.pack_into(">Q", block, 256, at)
    return bytes(block)


class WipedTests(SynchronousTestCase):
    """D60: the same table is made again; nothing of what its partitions had is found."""

    def setUp(self) -> None:
        missing = [each for each in TOOLS if shutil.which(each) is None]
        if missing:
            raise SkipTest(f"needs {', '.join(missing)}")
        self.path = Path(self.mktemp()).absolute()
        with self.path.open("wb") as file:
            file.truncate(SIZE)
        self.parts = [(each * 48 * MIB + MIB, 48 * MIB) for each in range(4)]
        self.table()
        self.fill()
        holds = tuple(
            BlockDevice(f"sda{number + 1}", f"/dev/sda{number + 1}", "part", size, start=at)
            for number, (at, size) in enumerate(self.parts)
        )
        self.device = BlockDevice("sda", str(self.path), "disk", SIZE, serial="S1", holds=holds)

    def table(self) -> None:
        made = [f"-n{n + 1}:{at // 512}:+48M" for n, (at, _) in enumerate(self.parts)]
        self.run_tool("sgdisk", "-a1", *made, str(self.path))

    def run_tool(self, *argv: str) -> None:
        subprocess.run(argv, check=True, capture_output=True)

    def put(self, data: bytes, at: int) -> None:
        with self.path.open("r+b") as file:
            file.seek(at)
            file.write(data)

    def fill(self) -> None:
        """ext4 in a mirror's member, FAT, LUKS with the largest header there is, and ext4."""
        at, size = self.parts[0]
        self.file_system(at, "mke2fs", "-q", "-t", "ext4", "-F")
        self.put(raid(size, size - 8192), at + size - 8192)
        self.file_system(self.parts[1][0], "mkfs.vfat")
        self.put(second_header(4 * MIB), self.parts[2][0] + 4 * MIB)
        self.file_system(self.parts[3][0], "mke2fs", "-q", "-t", "ext4", "-F")

    def file_system(self, at: int, *argv: str) -> None:
        made = self.path.with_suffix(".fs")
        made.unlink(missing_ok=True)
        with made.open("wb") as file:
            file.truncate(47 * MIB)
        self.run_tool(*argv, str(made))
        self.put(made.read_bytes(), at)

    def found(self) -> list[str]:
        """:returns: what stands in each partition; empty: nothing."""
        said = []
        for at, size in self.parts:
            argv = ["blkid", "-p", "-o", "value", "-s", "TYPE", "-O", str(at), "-S", str(size)]
            ran = subprocess.run([*argv, str(self.path)], capture_output=True, text=True)
            said.append(ran.stdout.strip())
        return said

    def wipe(self, mode: WipeMode, device: BlockDevice) -> None:
        async def listed() -> Sequence[BlockDevice]:
            return [device]

        context = MemoryRunning("disk.wipe")
        around = Around(
            lambda each: Disk.open(Path(each.path)),
            MemoryTools(),
            InlineWorkers(),
            lambda: 7,
            context.seconds,
        )
        kind = WipeDisks(listed, around)
        self.successResultOf(Deferred.fromCoroutine(kind.run(context, Wipe(mode))))

    def test_quick(self) -> None:
        self.assertEqual(self.found(), ["linux_raid_member", "vfat", "crypto_LUKS", "ext4"])
        self.wipe(WipeMode.QUICK, self.device)
        self.table()
        self.assertEqual(self.found(), [""] * 4)

    def test_partitions_that_nobody_knows_of(self) -> None:
        """This is what ``quick`` leaves out, and says so; ``secure`` does not."""
        device = evolve(self.device, holds=())
        self.wipe(WipeMode.QUICK, device)
        self.table()
        self.assertEqual(self.found()[1:], ["vfat", "crypto_LUKS", "ext4"])
        self.wipe(WipeMode.SECURE, device)
        self.table()
        self.assertEqual(self.found(), [""] * 4)
