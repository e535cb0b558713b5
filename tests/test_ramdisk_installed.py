"""Tests for what an image brought: its partitions, its kernels, and files in it."""

import errno
import os
import shutil
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SkipTest, SynchronousTestCase, TestCase

from rescriptum.contract.refusals import Rejected
from rescriptum.errors import Malformed
from rescriptum.net.processes import Reactor
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.installed import copies
from rescriptum.ramdisk.installed.entries import BootEntry, entry, latest
from rescriptum.ramdisk.installed.ext import ExtFiles
from rescriptum.ramdisk.installed.fat import FatFiles
from rescriptum.ramdisk.installed.files import LARGEST, Entry, Files, FilesTrouble, checked
from rescriptum.ramdisk.installed.kernels import Kernel, newest
from rescriptum.ramdisk.installed.mounted import MountedFiles
from rescriptum.ramdisk.installed.partitions import boots_of, labelled, root_of
from rescriptum.ramdisk.installed.store import Beneath, Scratch
from rescriptum.ramdisk.runner import ProcessTools
from rescriptum.ramdisk.tools import Ran
from tests.ramdiskcases import MemoryTools
from tests.webclient import InlineWorkers

_T = TypeVar("_T")
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
GIB = 1 << 30


def part(name: str, filesystem: str, size: int = GIB, label: str = "") -> BlockDevice:
    return BlockDevice(name, f"/dev/{name}", "part", size, filesystem=filesystem, label=label)


def disk(*parts: BlockDevice) -> BlockDevice:
    return BlockDevice("sda", "/dev/sda", "disk", 100 * GIB, holds=parts)


class PartitionsTests(SynchronousTestCase):
    def test_the_root(self) -> None:
        """By its type, its label, and then its size."""
        esp, boot = part("sda1", "vfat", label="EFI"), part("sda2", "ext4", 9 * GIB, "boot")
        data, root = part("sda3", "xfs", 50 * GIB), part("sda4", "ext4", 5 * GIB)
        typed = evolve(root, part_type="4f68bce3-e8cd-4db1-96e7-fbcaf984b709")
        named = evolve(root, label="cloudimg-rootfs")
        self.assertEqual(root_of(disk(esp, boot, data, typed)), typed)
        self.assertEqual(root_of(disk(esp, boot, data, named)), named)
        self.assertEqual(root_of(disk(esp, boot, data, root)), data)
        self.assertEqual(root_of(disk(esp, boot, root)), root)
        self.assertEqual(root_of(disk(boot)), boot)

    def test_no_table(self) -> None:
        whole = evolve(disk(), filesystem="ext4")
        self.assertEqual(root_of(whole), whole)

    def test_no_root(self) -> None:
        with self.assertRaises(Rejected) as caught:
            root_of(disk(part("sda1", "vfat"), part("sda2", "")))
        self.assertEqual(
            caught.exception.detail,
            "sda: no root file system: sda1 (vfat), sda2 (nothing)",
        )

    def test_a_root_that_is_closed(self) -> None:
        """Encrypted, or in a volume: what is written to another partition would never be read."""
        boot, small = part("sda2", "ext4", 2 * GIB), part("sda3", "", 2 * GIB)
        root = part("sda4", "ext4", label="cloudimg-rootfs")
        for kind in ("crypto_LUKS", "LVM2_member", "linux_raid_member", "zfs_member"):
            closed = evolve(small, filesystem=kind)
            self.assertEqual(root_of(disk(boot, closed)), boot)
            large = evolve(closed, size=closed.size + 1)
            typed = evolve(closed, part_type="4f68bce3-e8cd-4db1-96e7-fbcaf984b709")
            for each in (large, typed):
                with self.assertRaisesRegex(Rejected, f"sda: its root may be in sda3, a {kind}"):
                    root_of(disk(boot, each))
                self.assertEqual(root_of(disk(boot, each, root)), root)

    def test_labels(self) -> None:
        """W298: in either case."""
        seed = part("sda1", "vfat", label="CIDATA")
        self.assertEqual(labelled(disk(seed), "cidata"), seed)
        self.assertIsNone(labelled(disk(seed), "oem"))

    def test_where_kernels_are(self) -> None:
        esp, boot, root = part("a", "vfat"), part("b", "ext4", label="boot"), part("c", "xfs")
        self.assertEqual(
            boots_of(disk(esp, boot, root), root), ((root, "/boot"), (boot, "/"), (esp, "/"))
        )


class KernelsTests(SynchronousTestCase):
    def found(self, *names: str, directory: str = "/boot") -> Kernel | None:
        return newest([Entry(each, True) for each in names], directory)

    def test_the_newest(self) -> None:
        """By numbers: 13 is above 9."""
        found = self.found(
            "vmlinuz-6.1.0-9-amd64",
            "vmlinuz-6.1.0-13-amd64",
            "initrd.img-6.1.0-13-amd64",
            "initrd.img-6.1.0-9-amd64",
        )
        self.assertEqual(
            found, Kernel("/boot/vmlinuz-6.1.0-13-amd64", "/boot/initrd.img-6.1.0-13-amd64")
        )

    def test_the_one_without_a_version(self) -> None:
        found = self.found("vmlinuz", "initrd.img", "vmlinuz-9")
        self.assertEqual(found, Kernel("/boot/vmlinuz", "/boot/initrd.img"))

    def test_red_hat(self) -> None:
        """Not the rescue kernel; in the partition for it."""
        found = self.found(
            "vmlinuz-0-rescue-abcdef",
            "vmlinuz-5.14.0-70.el9.x86_64",
            "initramfs-5.14.0-70.el9.x86_64.img",
            directory="/",
        )
        self.assertEqual(
            found,
            Kernel("/vmlinuz-5.14.0-70.el9.x86_64", "/initramfs-5.14.0-70.el9.x86_64.img"),
        )

    def test_links_are_passed_by(self) -> None:
        entries = [Entry("vmlinuz", False), Entry("vmlinuz-1", True)]
        self.assertEqual(newest(entries, "/boot"), Kernel("/boot/vmlinuz-1", None))

    def test_none(self) -> None:
        self.assertIsNone(self.found("grub", "config-6"))


class EntriesTests(SynchronousTestCase):
    def test_an_entry(self) -> None:
        """What the boot loader would put in is taken out; comments say nothing."""
        text = (
            b"# by hand\ntitle One\nversion 6.1\nlinux\t/vmlinuz-6.1\n"
            b"initrd /initramfs-6.1.img $tuned_initrd\noptions root=UUID=1 ro\noptions quiet\n"
        )
        self.assertEqual(
            entry(text.replace(b"\t", b" "), False),
            BootEntry(Kernel("/vmlinuz-6.1", "/initramfs-6.1.img"), "root=UUID=1 ro quiet", "6.1"),
        )
        self.assertEqual(entry(text, False), entry(text.replace(b"\t", b" "), False))
        bare = entry(b"linux vmlinuz", False)
        self.assertEqual(bare, BootEntry(Kernel("/vmlinuz", None), "", ""))

    def test_what_only_the_loader_knows(self) -> None:
        """Arguments by its variables are not told; a kernel or initrd by them is none."""
        made = entry(b"linux /a\noptions $kernelopts quiet", False)
        self.assertEqual(made and made.arguments, "")
        for text in (
            b"",
            b"title One",
            b"efi /a.efi",
            b"linux /${version}/a",
            b"linux /../a",
            b'linux /a"b',
            b"linux /a\ninitrd /$b",
            b"linux /a\ninitrd /b\ninitrd /c",
        ):
            self.assertIsNone(entry(text, False), text)

    def test_ignition(self) -> None:
        text = b"linux /a\noptions $ignition_firstboot ostree=/b"
        first, later = entry(text, True), entry(text, False)
        self.assertEqual(first and first.arguments, "ignition.firstboot ostree=/b")
        self.assertEqual(later and later.arguments, "ostree=/b")

    def test_the_latest(self) -> None:
        """By its version, then by its name; never one to rescue a system by."""
        made = {
            name: BootEntry(Kernel(f"/{name}", None), "", version)
            for name, version in (
                ("id-0-rescue.conf", "99"),
                ("a-6.9.conf", "6.9"),
                ("a-6.10.conf", "6.10"),
                ("b-1.conf", ""),
            )
        }
        self.assertEqual(
            [each.kernel.kernel for each in latest(made)],
            ["/a-6.10.conf", "/a-6.9.conf", "/b-1.conf", "/id-0-rescue.conf"],
        )

    def test_a_version_without_an_end(self) -> None:
        """Python makes no number of more than 4300 digits."""
        made = entry(b"linux /a\nversion " + b"9" * 5000, False)
        assert made is not None
        self.assertEqual(latest({"a.conf": made}), [made])

    @given(st.binary(max_size=200), st.booleans())
    def test_whatever_comes(self, text: bytes, first: bool) -> None:
        made = entry(b"linux /a\n" + text, first)
        if made is not None:
            self.assertTrue(made.arguments.isprintable())
            checked(made.kernel.kernel)


class CheckedTests(SynchronousTestCase):
    def test_paths(self) -> None:
        self.assertEqual(checked("/etc//a/b"), ("etc", "a", "b"))
        self.assertEqual(checked("/", top=True), ())

    def test_what_leads_elsewhere(self) -> None:
        """Also for a tool that reads it as its own words."""
        for path in (
            *("", "etc/a", "/", "/..", "/a/../b", "/a/./b", '/a"b', "/a\nrm b", "/a\\b"),
            *("/a*", "/a?", "/-f", "/a/-f", "/a\x1b", f"/{'a' * 1100}"),
        ):
            self.assertRaises(Malformed, checked, path)

    @given(st.text())
    def test_whatever_comes(self, path: str) -> None:
        try:
            parts = checked(path)
        except Malformed:
            return
        self.assertNotIn("..", parts)


class ScratchTests(SynchronousTestCase):
    def test_a_file(self) -> None:
        """Nobody else reads it, and no link is followed."""
        scratch = Scratch(Path(self.mktemp()))
        scratch.write("a", b"secret")
        self.assertEqual(os.stat(scratch.path("a")).st_mode & 0o777, 0o600)
        self.assertEqual((scratch.read("a", 100), scratch.size("a")), (b"secret", 6))
        scratch.remove("a")
        scratch.remove("a")
        self.assertEqual((scratch.read("a", 100), scratch.size("a")), (b"", 0))


class BeneathTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.outside, self.top = Path(self.mktemp()), Path(self.mktemp())
        self.outside.mkdir()
        self.top.mkdir()
        (self.outside / "a").write_bytes(b"of this host")
        self.beneath = Beneath(self.top)

    def test_write_and_read(self) -> None:
        self.beneath.write(("etc", "a"), b"one", 0o640)
        self.beneath.write(("etc", "a"), b"two", 0o600)
        self.assertEqual(self.beneath.read(("etc", "a"), 10), b"two")
        self.assertEqual((self.top / "etc/a").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.beneath.listed(("etc",), 9), [("a", True)])
        self.assertEqual(self.beneath.listed(("nope",), 9), [])

    def test_bounds(self) -> None:
        """No more names than are asked for, and no file that memory is too small for."""
        for name, size in (("a", 3), ("b", 4), ("c", 0)):
            (self.top / name).write_bytes(bytes(size))
        self.assertEqual(len(self.beneath.listed((), 2)), 2)
        copy = self.mktemp()
        self.beneath.copy(("a",), copy, 3)
        self.assertEqual(Path(copy).stat().st_size, 3)
        error = self.assertRaises(OSError, self.beneath.copy, ("b",), copy, 3)
        self.assertEqual(error.errno, errno.EFBIG)

    def test_what_is_no_file(self) -> None:
        """A pipe would keep whoever opens it waiting."""
        os.mkfifo(self.top / "pipe")
        (self.top / "directory").mkdir()
        for name in ("pipe", "directory"):
            self.assertRaises(OSError, self.beneath.read, (name,), 10)
            self.assertRaises(OSError, self.beneath.copy, (name,), self.mktemp(), 99)

    def test_links_lead_nowhere(self) -> None:
        """Not of a directory, and not of the file itself: that is replaced."""
        (self.top / "etc").symlink_to(self.outside.absolute())
        self.assertRaises(OSError, self.beneath.write, ("etc", "a"), b"x", 0o600)
        self.assertRaises(OSError, self.beneath.read, ("etc", "a"), 10)
        self.assertEqual(self.beneath.listed(("etc",), 9), [])
        (self.top / "b").symlink_to((self.outside / "a").absolute())
        self.assertRaises(OSError, self.beneath.read, ("b",), 10)
        self.assertRaises(OSError, self.beneath.copy, ("b",), self.mktemp(), 99)
        self.beneath.write(("b",), b"mine", 0o600)
        self.assertEqual((self.outside / "a").read_bytes(), b"of this host")
        self.assertEqual(self.beneath.read(("b",), 10), b"mine")


class ExtTests(SynchronousTestCase):
    def test_the_largest_file(self) -> None:
        """At the bound it is copied; see ``RealFilesTests`` for what is beyond."""

        class Much(Scratch):
            def size(self, name: str) -> int:
                return LARGEST

        scratch = Much(Path(self.mktemp()))
        said = b"Inode: 12   Type: regular    Mode:  0644\nUser:     0   Size: %d\n" % LARGEST
        tools = MemoryTools({("debugfs", "-R", 'stat "/a"'): Ran((), 0, said)})
        copied = Deferred.fromCoroutine(ExtFiles("/dev/sda1", tools, scratch).copied("/a", "k"))
        self.assertEqual(self.successResultOf(copied), scratch.path("k"))


class MountedTests(SynchronousTestCase):
    def files(self, tools: MemoryTools, *subvolumes: str) -> MountedFiles:
        self.top = Path(self.mktemp())
        self.top.mkdir()
        scratch = Scratch(Path(self.mktemp()))
        beneath = Beneath(self.top)
        return MountedFiles(
            "/dev/sda1", "/mnt", beneath, tools, scratch, InlineWorkers(), subvolumes
        )

    def test_mounted_for_as_long_as_it_takes(self) -> None:
        """Without devices and set-user-ids; and let go of."""
        tools = MemoryTools()
        files = self.files(tools)
        self.done(files.done())
        self.done(files.write("/etc/a", b"x", 0o600))
        self.assertEqual(self.done(files.listed("/etc")), (Entry("a", True),))
        self.assertEqual(self.done(files.read("/etc/a", 10)), b"x")
        self.done(files.done())
        self.assertEqual(tools.asked, [self.mount("rw"), ("umount", "/mnt")])

    def mount(self, how: str) -> tuple[str, ...]:
        return ("mount", "-o", f"{how},nodev,nosuid,noexec", "/dev/sda1", "/mnt")

    def test_read_only(self) -> None:
        """As long as nothing is written."""
        tools = MemoryTools()
        files = self.files(tools)
        self.done(files.listed("/boot"))
        self.done(files.listed("/"))
        self.assertEqual(tools.asked, [self.mount("ro")])
        self.done(files.write("/etc/a", b"x", 0o600))
        self.assertEqual(tools.asked[1:], [("umount", "/mnt"), self.mount("rw")])

    def test_a_system_that_is_not_at_the_top(self) -> None:
        """As btrfs has it: what is in its subvolume is what the system will see."""
        for name in ("root", "@"):
            files = self.files(MemoryTools(), "root", "@")
            (self.top / name / "etc").mkdir(parents=True)
            (self.top / name / "etc/os-release").write_bytes(b"")
            self.done(files.write("/etc/a", b"x", 0o600))
            self.assertEqual((self.top / name / "etc/a").read_bytes(), b"x")
            self.assertEqual(self.done(files.read("/etc/a", 10)), b"x")

    def test_a_system_that_is_at_the_top(self) -> None:
        """Whatever else is beside it."""
        files = self.files(MemoryTools(), "root", "@")
        for each in ("etc", "root/etc"):
            (self.top / each).mkdir(parents=True)
            (self.top / each / "os-release").write_bytes(b"")
        self.done(files.write("/etc/a", b"x", 0o600))
        self.assertEqual((self.top / "etc/a").read_bytes(), b"x")

    def test_what_cannot_be(self) -> None:
        tools = MemoryTools({("mount",): Ran(("mount",), 32, stderr="wrong fs type")})
        self.fails(self.files(tools).listed("/etc"))
        tools = MemoryTools({("umount",): Ran(("umount",), 32, stderr="target is busy")})
        files = self.files(tools)
        self.done(files.listed("/etc"))
        self.fails(files.done())
        self.fails(self.files(MemoryTools()).copied("/nope", "a"))

    def done(self, work: Coroutine[Any, Any, _T]) -> _T:
        made: _T = self.successResultOf(Deferred.fromCoroutine(work))
        return made

    def fails(self, work: Coroutine[Any, Any, object]) -> None:
        self.failureResultOf(Deferred.fromCoroutine(work), FilesTrouble)


class RealFilesTests(TestCase):
    """The tools themselves, on file systems in files."""

    def setUp(self) -> None:
        missing = [
            each
            for each in ("mke2fs", "debugfs", "mkfs.vfat", "mcopy")
            if shutil.which(each, path=PATH) is None
        ]
        if missing:
            raise SkipTest(f"not installed: {', '.join(missing)}")
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir()
        self.tools = ProcessTools(cast(Reactor, reactor), PATH)
        self.scratch = Scratch(self.here / "scratch")

    def run_tool(self, *argv: str | Path) -> None:
        found = shutil.which(str(argv[0]), path=PATH)
        assert found is not None
        subprocess.run([found, *map(str, argv[1:])], check=True, capture_output=True)

    def ext(self) -> Files:
        tree = self.here / "tree"
        (tree / "boot").mkdir(parents=True)
        (tree / "boot/vmlinuz-1").write_bytes(b"kernel" * 1000)
        (tree / "boot/vmlinuz").symlink_to("vmlinuz-1")
        self.run_tool("mke2fs", "-q", "-t", "ext4", "-d", tree, self.here / "ext", "8m")
        return ExtFiles(str(self.here / "ext"), self.tools, self.scratch)

    def fat(self) -> Files:
        path = self.here / "fat"
        with path.open("wb") as file:
            file.truncate(8 << 20)
        self.run_tool("mkfs.vfat", "-n", "CIDATA", path)
        return FatFiles(str(path), self.tools, self.scratch)

    async def test_ext(self) -> None:
        files = self.ext()
        found = await files.listed("/boot")
        self.assertEqual(newest(found, "/boot"), Kernel("/boot/vmlinuz-1", None))
        self.assertEqual(await files.listed("/nope"), ())
        copy = await files.copied("/boot/vmlinuz-1", "kernel")
        self.assertEqual(Path(copy).read_bytes(), b"kernel" * 1000)
        with self.assertRaises(FilesTrouble):
            await files.copied("/boot/vmlinuz", "kernel")  # a link
        await self.write_and_read(files)
        await files.write("/empty", b"", 0o600)
        self.assertEqual(await files.read("/empty", 10), b"")
        told = await self.tools.run("debugfs", "-R", "stat /a/b/file", str(self.here / "ext"))
        self.assertIn(b"Mode:  0640", told.stdout)
        self.run_tool("e2fsck", "-f", "-n", self.here / "ext")

    async def test_a_journal_that_is_not_empty(self) -> None:
        """
        As of an image that was taken of a system that ran: what its journal has left to say does
        not come over what is written here.
        """
        files = self.ext()
        image = self.here / "ext"
        found = await self.tools.run("debugfs", "-R", "blocks /", str(image))
        (block,) = found.stdout.split()
        whole = image.read_bytes()
        told = await self.tools.run("debugfs", "-R", "stats", str(image))
        size = next(
            int(line.split()[-1])
            for line in told.stdout.splitlines()
            if line.startswith(b"Block size:")
        )
        at = int(block) * size
        (self.here / "old").write_bytes(whole[at : at + size])
        script = self.here / "script"
        script.write_text(f"jo\njw -b {int(block)} {self.here / 'old'}\njc\n")
        self.run_tool("debugfs", "-w", "-f", script, image)
        await files.write("/seed/file", b"seed", 0o600)
        told = await self.tools.run("dumpe2fs", "-h", str(image))
        self.assertNotIn(b"needs_recovery", told.stdout)
        self.run_tool("e2fsck", "-f", "-p", image)  # as the first mount of it
        self.assertEqual(await files.read("/seed/file", 10), b"seed")

    async def test_fat(self) -> None:
        files = self.fat()
        await self.write_and_read(files)
        await files.write("/user-data", b"#cloud-config\n", 0o600)
        self.assertEqual({each.name for each in await files.listed("/")}, {"a", "user-data"})

    async def test_what_is_not_whole(self) -> None:
        """debugfs ends with 0 although it had no room for all of a file."""
        files = self.ext()

        class Cut(Scratch):
            def size(self, name: str) -> int:
                return super().size(name) - 1

        cut = ExtFiles(str(self.here / "ext"), self.tools, Cut(self.here / "scratch"))
        with self.assertRaisesRegex(FilesTrouble, "5999 of the 6000 bytes"):
            await cut.copied("/boot/vmlinuz-1", "kernel")
        await files.copied("/boot/vmlinuz-1", "kernel")

    async def test_what_is_not_whole_of_fat(self) -> None:
        """mcopy does the same."""
        await self.fat().write("/vmlinuz", b"kernel" * 1000, 0o600)

        class Cut(Scratch):
            def size(self, name: str) -> int:
                return super().size(name) - 1

        cut = FatFiles(str(self.here / "fat"), self.tools, Cut(self.here / "scratch"))
        with self.assertRaisesRegex(FilesTrouble, "5999 of the 6000 bytes"):
            await cut.copied("/vmlinuz", "kernel")

    async def test_a_directory_in_place_of_a_file(self) -> None:
        """And the other way round: nothing else of the image is touched."""
        for files in (self.ext(), self.fat()):
            await files.write("/a/b", b"b", 0o600)
            await files.write("/c", b"precious", 0o600)
            with self.assertRaises(FilesTrouble):
                await files.copied("/a", "copy")
            with self.assertRaises(FilesTrouble):
                await files.write("/a", b"x", 0o600)
            with self.assertRaises(FilesTrouble):
                await files.write("/a/b/c", b"x", 0o600)
            self.assertEqual(await files.read("/c", 10), b"precious")

    async def test_a_link_in_place_of_a_directory(self) -> None:
        """debugfs would say so, and go on in the top of the file system."""
        files = self.ext()
        self.run_tool("debugfs", "-w", "-R", "symlink /etc /boot", self.here / "ext")
        await files.write("/vmlinuz-1", b"precious", 0o600)
        with self.assertRaisesRegex(FilesTrouble, "/etc is a link or a file, and no directory"):
            await files.write("/etc/vmlinuz-1", b"x", 0o600)
        self.assertEqual(await files.read("/vmlinuz-1", 10), b"precious")
        self.assertEqual(await files.read("/boot/vmlinuz-1", 6), b"kernel")

    async def test_a_file_that_is_too_large_to_be_read(self) -> None:
        """As a boot entry may be: nobody needs it, and memory would."""
        self.patch(copies, "READABLE", 5)
        for files in (self.ext(), self.fat()):
            await files.write("/at", b"12345", 0o600)
            with self.assertRaisesRegex(FilesTrouble, "more than 5 bytes"):
                await files.write("/beyond", b"123456", 0o600)

    async def test_a_file_that_is_too_large(self) -> None:
        """Of which there is hardly anything: it would fill all memory with zeros."""
        files = self.ext()
        longer = f"sif /boot/vmlinuz-1 size {LARGEST + 1}"
        self.run_tool("debugfs", "-w", "-R", longer, self.here / "ext")
        with self.assertRaisesRegex(FilesTrouble, f"more than {LARGEST} bytes"):
            await files.copied("/boot/vmlinuz-1", "kernel")

    async def write_and_read(self, files: Files) -> None:
        for data in (b"first\0\xff" * 5000, b"second"):
            await files.write("/a/b/file", data, 0o640)
            copy = await files.copied("/a/b/file", "copy")
            self.assertEqual(Path(copy).read_bytes(), data)
        with self.assertRaises(FilesTrouble):
            await files.copied("/a/b/other", "copy")
        self.assertEqual(self.scratch.size("written"), 0)
        await files.done()

    async def test_no_file_system(self) -> None:
        """What is there is none: it is said, by the tool's own words."""
        path = self.here / "nothing"
        path.write_bytes(bytes(1 << 20))
        for files in (
            ExtFiles(str(path), self.tools, self.scratch),
            FatFiles(str(path), self.tools, self.scratch),
        ):
            with self.assertRaises(FilesTrouble):
                await files.write("/a", b"x", 0o600)
            self.assertEqual(self.scratch.size("written"), 0)  # it may be a secret

    async def test_no_room(self) -> None:
        """What was to be written is not left lying about either: it may be a secret."""
        for files in (self.ext(), self.fat()):
            with self.assertRaises(FilesTrouble):
                await files.write("/a", b"x" * (9 << 20), 0o600)
            self.assertEqual(self.scratch.size("written"), 0)
