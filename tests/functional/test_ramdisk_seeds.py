"""
Tests for seeds and kernels of an installed system: the tools themselves, on file systems in files
that ``lsblk`` is said to list as a disk's partitions.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import cast

from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.trial.unittest import SkipTest, TestCase

from rescriptum.contract.ramdisk import Kexec, SeedKind, SeedWrite
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.net.processes import Reactor
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.installed.ext import ExtFiles
from rescriptum.ramdisk.installed.fat import FatFiles
from rescriptum.ramdisk.installed.files import Files
from rescriptum.ramdisk.installed.store import Scratch
from rescriptum.ramdisk.kexec import Around as Starting
from rescriptum.ramdisk.kexec import StartInstalled
from rescriptum.ramdisk.runner import ProcessTools
from rescriptum.ramdisk.seeding import Around as Seeding
from rescriptum.ramdisk.seeding import WriteSeed
from rescriptum.ramdisk.store import BlockDevices, InstalledDisk
from tests.ramdiskcases import MemoryRunning

SYSTEM = f"{os.environ['PATH']}:/usr/sbin:/sbin"
TOOLS = ("mke2fs", "debugfs", "e2fsck", "mkfs.vfat", "mcopy", "mtype")
DATA = "#cloud-config\npassword: not in any log\n"
#: Refuses the file call as a kernel under lockdown does; the old one writes down what it was given.
KEXEC = """#!/bin/sh
case "$2" in
  --kexec-file-syscall) echo "kexec_file_load failed: Operation not permitted" >&2; exit 255;;
esac
cat "$3" > "$0.kernel"
printf '%s\\n' "$@" > "$0.asked"
"""


class InstalledCase(TestCase):
    def setUp(self) -> None:
        missing = [each for each in TOOLS if shutil.which(each, path=SYSTEM) is None]
        if missing:
            raise SkipTest(f"not installed: {', '.join(missing)}")
        self.here = Path(self.mktemp()).absolute()
        (self.here / "bin").mkdir(parents=True)
        self.tools = ProcessTools(cast(Reactor, reactor), f"{self.here / 'bin'}:{SYSTEM}")
        self.scratch = Scratch(self.here / "scratch")
        self.partitions: list[JSON] = []
        devices = BlockDevices(self.here, self.tools)
        self.installed = InstalledDisk(self.here / "installed", devices, self.sleep)
        self.installed.written(BlockDevice("sda", "/dev/sda", "disk", 1, serial="S1"))

    async def sleep(self, seconds: float) -> None:
        await deferLater(reactor, 0, lambda: None)

    def program(self, name: str, script: str) -> None:
        path = self.here / "bin" / name
        path.write_text(script)
        path.chmod(0o755)

    def ran(self, *argv: str | Path) -> bytes:
        found = shutil.which(str(argv[0]), path=SYSTEM)
        assert found is not None
        told = subprocess.run([found, *map(str, argv[1:])], capture_output=True, check=True)
        return told.stdout

    def part(self, name: str, filesystem: str, label: str, **files: str) -> Path:
        """:param files: their texts, by paths with ``_`` for a slash."""
        path = self.here / name
        if filesystem == "vfat":
            with path.open("wb") as file:
                file.truncate(4 << 20)
            self.ran("mkfs.vfat", "-n", label, path)
        else:
            tree = self.here / f"{name}-tree"
            tree.mkdir()
            for where, text in files.items():
                file_path = tree / where.replace("_", "/")
                file_path.parent.mkdir(parents=True, exist_ok=True)
                file_path.write_text(text)
            self.ran("mke2fs", "-q", "-t", filesystem, "-L", label, "-d", tree, path, "8m")
        row: JSON = {"name": name, "path": str(path), "type": "part", "size": path.stat().st_size}
        self.partitions.append({**row, "fstype": filesystem, "label": label, "uuid": f"u-{name}"})
        disk = {"name": "sda", "type": "disk", "size": 1 << 33, "serial": "S1"}
        said = json.dumps({"blockdevices": [{**disk, "children": self.partitions}]})
        self.program("lsblk", f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n")
        return path

    def files(self, place: BlockDevice) -> Files:
        if place.filesystem == "vfat":
            return FatFiles(place.path, self.tools, self.scratch)
        return ExtFiles(place.path, self.tools, self.scratch)

    def read(self, image: Path, path: str) -> bytes:
        return self.ran("debugfs", "-R", f'cat "{path}"', image)

    def assert_sound(self, image: Path) -> None:
        self.ran("e2fsck", "-f", "-n", image)


class SeedTests(InstalledCase):
    async def write(self, payload: SeedWrite) -> JSON:
        joining = {"config.toml": b'site = "one"\n', "join-encryption.jwk": b"{}"}
        kind = WriteSeed(Seeding(self.installed.find, self.files), joining)
        context = MemoryRunning("seed.write", secrets={"hello": DATA})
        return await kind.run(context, payload)

    async def test_nocloud_in_the_root(self) -> None:
        """Twice, as after an agent that was stopped: it comes to the same."""
        root = self.part("sda1", "ext4", "cloudimg-rootfs", etc_hostname="old\n")
        payload = SeedWrite(user_data_ref="hello", hostname="m1")
        for _ in range(2):
            said = await self.write(payload)
            self.assertEqual(
                self.read(root, "/var/lib/cloud/seed/nocloud/user-data"), DATA.encode()
            )
            self.assertEqual(
                self.read(root, "/var/lib/cloud/seed/nocloud/meta-data"),
                b'instance-id: "w1"\nlocal-hostname: "m1"\n',
            )
            self.assertEqual(self.read(root, "/etc/rescriptum/config.toml"), b'site = "one"\n')
            self.assertEqual(self.read(root, "/etc/hostname"), b"old\n")
            self.assert_sound(root)
            self.assertNotIn("password", json.dumps(said))
        self.assertIn(
            b"Mode:  0640", self.ran("debugfs", "-R", "stat /etc/rescriptum/config.toml", root)
        )
        self.assertIn(
            b"User:     0", self.ran("debugfs", "-R", "stat /etc/rescriptum/config.toml", root)
        )
        left = [each.name for each in (self.here / "scratch").iterdir()]
        self.assertEqual(left, [])

    async def test_nocloud_in_a_partition_for_it(self) -> None:
        """W298: by its label, in either case; the root has what an agent joins by."""
        root = self.part("sda1", "ext4", "root", etc_hostname="old\n")
        seed = self.part("sda2", "vfat", "CIDATA")
        await self.write(SeedWrite(user_data_ref="hello"))
        self.assertEqual(self.ran("mtype", "-i", seed, "::/user-data"), DATA.encode())
        self.assertEqual(self.read(root, "/etc/rescriptum/join-encryption.jwk"), b"{}")

    async def test_ignition(self) -> None:
        boot = self.part("sda1", "ext4", "boot", grub2_grub="")
        self.part("sda2", "ext4", "root", etc_hostname="")
        await self.write(SeedWrite(SeedKind.IGNITION, "hello"))
        self.assertEqual(self.read(boot, "/ignition/config.ign"), DATA.encode())
        self.assert_sound(boot)

    async def test_links_of_the_image(self) -> None:
        """They lead to nothing of this machine: whoever made the image decides for it alone."""
        outside = self.here / "outside"
        outside.mkdir()
        root = self.part("sda1", "ext4", "root", var_lib_empty="")
        self.ran("debugfs", "-w", "-R", f"symlink /etc {outside}", root)
        with self.assertRaises(Exception) as caught:
            await self.write(SeedWrite(user_data_ref="hello"))
        self.assertIn("/etc is a link", str(caught.exception))
        self.assertEqual(list(outside.iterdir()), [])

    async def test_a_full_file_system(self) -> None:
        """It is said, and not taken for written."""
        root = self.part("sda1", "ext4", "root", etc_hostname="")
        big = self.here / "big"
        big.write_bytes(os.urandom(8 << 20))
        subprocess.run(
            [str(shutil.which("debugfs", path=SYSTEM)), "-w", "-R", f"write {big} big", str(root)],
            capture_output=True,
            check=False,
        )
        with self.assertRaises(Exception) as caught:
            await self.write(SeedWrite(user_data_ref="hello"))
        self.assertNotIn("password", str(caught.exception))


class KexecTests(InstalledCase):
    async def start(self, payload: Kexec) -> JSON:
        self.program("kexec", KEXEC)
        self.left: list[object] = []
        around = Starting(
            self.installed.find,
            self.files,
            self.tools,
            lambda: True,
            self.left.append,
            lambda: self.left.append("reboot"),
            False,
            list,
        )
        return await StartInstalled(around).run(MemoryRunning("boot.kexec"), payload)

    def asked(self) -> list[str]:
        return (self.here / "bin/kexec.asked").read_text().splitlines()

    async def test_the_newest_kernel(self) -> None:
        """D64: the first way is refused; the second gets a copy of the very kernel."""
        self.part(
            "sda1",
            "ext4",
            "root",
            **{
                "boot_vmlinuz-6.1.0-9": "old",
                "boot_vmlinuz-6.1.0-13": "new",
                "boot_initrd.img-6.1.0-13": "initrd",
            },
        )
        said = await self.start(Kexec(args="quiet"))
        self.assertEqual(said["kernel"], "/boot/vmlinuz-6.1.0-13")
        self.assertEqual((self.here / "bin/kexec.kernel").read_text(), "new")
        self.assertIn("--command-line=root=UUID=u-sda1 ro quiet", self.asked())
        self.assertEqual(self.left, [[("kexec", "-e")]])

    async def test_a_boot_entry(self) -> None:
        """In a partition for kernels, as Fedora has it."""
        self.part(
            "sda1",
            "ext4",
            "boot",
            **{
                "vmlinuz-6.9": "kernel",
                "initramfs-6.9.img": "initrd",
                "loader_entries_f00-6.9.conf": "version 6.9\nlinux /vmlinuz-6.9\n"
                "initrd /initramfs-6.9.img\noptions root=UUID=x ro rootflags=subvol=root\n",
            },
        )
        self.part("sda2", "ext4", "fedora", etc_hostname="")
        said = await self.start(Kexec())
        self.assertEqual(said["arguments"], "root=UUID=x ro rootflags=subvol=root")
        self.assertEqual((self.here / "bin/kexec.kernel").read_text(), "kernel")
        said = await self.start(Kexec("/boot/vmlinuz-6.9"))
        self.assertEqual(said["arguments"], "root=UUID=u-sda2 ro")

    async def test_no_kernel(self) -> None:
        self.part("sda1", "ext4", "root", etc_hostname="")
        with self.assertRaises(Rejected) as caught:
            await self.start(Kexec())
        self.assertEqual(caught.exception.code, "not-found")
