"""Tests for ``rescriptum.boot.store``."""

import errno
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot import store
from rescriptum.boot.store import BootDirectory
from rescriptum.errors import Forbidden, NotFound, Refused, Unavailable
from rescriptum.interfaces import Loaders
from rescriptum.values import Content, Generated

SCRIPT = Generated(b"#!ipxe\n")
CONFIG = Generated(b"DEFAULT ipxe\n")


class BootDirectoryTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.above = Path(self.mktemp())
        self.root = self.above / "boot"
        (self.root / "x64").mkdir(parents=True)
        (self.root / "ipxe-x86_64.efi").write_bytes(b"MZ" * 10)
        (self.root / "x64" / "grubx64.efi").write_bytes(b"GRUB")
        (self.above / "secret").write_bytes(b"not for you")
        self.directory: Loaders = BootDirectory(
            self.root, {"autoexec.ipxe": SCRIPT, "pxelinux.cfg/default": CONFIG}
        )

    def path(self, name: bytes) -> str:
        found = self.directory.find(name)
        assert isinstance(found, Content)
        return str(found.path.relative_to(self.root.resolve()))

    def test_a_file_of_the_root(self) -> None:
        """The content names the real file, all of its bytes and its exact media type (W152)."""
        found = self.directory.find(b"ipxe-x86_64.efi")
        assert isinstance(found, Content)
        self.assertEqual(found.path, (self.root / "ipxe-x86_64.efi").resolve())
        self.assertEqual(found.size, 20)
        self.assertEqual(found.media_type, "application/efi")
        seen = found.path.stat()
        self.assertEqual(found.version, (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns))
        self.assertEqual(found.modified, int(seen.st_mtime))

    def test_a_disk_that_does_not_answer(self) -> None:
        """It is no proof of absence: nothing generated stands in for the operator's own file."""
        (self.root / "autoexec.ipxe").write_bytes(b"#!ipxe\nexit\n")

        def broken(path: object, **options: object) -> os.stat_result:
            raise OSError(errno.ESTALE, "Stale file handle", str(path))

        self.patch(os, "stat", broken)
        with self.assertRaisesRegex(Unavailable, "Stale"):
            self.directory.find(b"autoexec.ipxe")

    def test_media_types(self) -> None:
        """Whatever the table does not know goes out as bytes, whatever its name looks like."""
        for name, media_type in {
            "ipxe-undionly.kpxe": "application/octet-stream",
            "UPPER.EFI": "application/efi",
            "ipxe.iso": "application/vnd.efi-iso",
            "logo.png": "image/png",
            "page.html": "application/octet-stream",
        }.items():
            (self.root / name).write_bytes(b"x")
            found = self.directory.find(name.encode())
            self.assertEqual(found.media_type, media_type, name)

    def test_an_empty_file(self) -> None:
        """It is a file like any other, of no bytes."""
        (self.root / "empty").touch()
        self.assertEqual(self.directory.find(b"empty").size, 0)

    def test_case_is_the_last_resort(self) -> None:
        """Another case finds the file (W145), in directories too; the exact name wins."""
        self.assertEqual(self.path(b"\\X64\\GrubX64.EFI"), "x64/grubx64.efi")
        (self.root / "IPXE-X86_64.EFI").write_bytes(b"other")
        self.assertEqual(self.path(b"ipxe-x86_64.efi"), "ipxe-x86_64.efi")
        self.assertEqual(self.path(b"IPXE-X86_64.EFI"), "IPXE-X86_64.EFI")
        self.assertEqual(self.path(b"Ipxe-X86_64.efi"), "IPXE-X86_64.EFI")

    def test_a_new_file_is_seen(self) -> None:
        """The remembered names of a directory are read again when it changes."""
        self.assertRaises(NotFound, self.directory.find, b"NEW.EFI")
        (self.root / "new.efi").write_bytes(b"new")
        os.utime(self.root, ns=(1, 1))
        self.assertEqual(self.path(b"NEW.EFI"), "new.efi")

    def test_remembered_directories_are_bounded(self) -> None:
        """However many directories are asked about, only so many listings are kept."""
        for at in range(store.MAX_LISTINGS + 5):
            (self.root / f"d{at}").mkdir()
            self.assertRaises(NotFound, self.directory.find, b"d%d/none" % at)
        assert isinstance(self.directory, BootDirectory)
        self.assertEqual(len(self.directory._listings), store.MAX_LISTINGS)

    def test_remembered_names_are_bounded(self) -> None:
        """A directory of very many files keeps a bounded listing; exact names all work."""
        self.patch(store, "MAX_LISTED", 4)
        for at in range(20):
            (self.root / f"file{at}").touch()
        self.assertEqual(self.path(b"file19"), "file19")
        found = 0
        for at in range(20):
            try:
                self.directory.find(b"FILE%d" % at)
            except NotFound:
                continue
            found += 1
        self.assertLessEqual(found, 4)

    def test_generated_names(self) -> None:
        """A generated file answers in every directory, since loaders ask beside themselves."""
        for name in (
            b"autoexec.ipxe",
            b"/autoexec.ipxe",
            b"x64/autoexec.ipxe",
            b"\\X64\\AUTOEXEC.IPXE",
            b"no/such/directory/autoexec.ipxe",
        ):
            self.assertIs(self.directory.find(name), SCRIPT, name)
        self.assertIs(self.directory.find(b"pxelinux.cfg/default"), CONFIG)
        self.assertIs(self.directory.find(b"debian/pxelinux.cfg/default"), CONFIG)
        self.assertRaises(NotFound, self.directory.find, b"default")

    def test_a_real_file_wins_over_a_generated_one(self) -> None:
        """An operator's own script in a directory is what that directory answers."""
        (self.root / "x64" / "autoexec.ipxe").write_bytes(b"#!ipxe\nshell\n")
        self.assertEqual(self.path(b"x64/autoexec.ipxe"), "x64/autoexec.ipxe")
        self.assertIs(self.directory.find(b"autoexec.ipxe"), SCRIPT)

    def test_only_regular_files(self) -> None:
        """Directories, FIFOs and sockets are not found, and looking does not wait (W147)."""
        os.mkfifo(self.root / "fifo")
        for name in (b"x64", b"x64/", b"fifo", b"ipxe-x86_64.efi/below", b"missing"):
            self.assertRaises(NotFound, self.directory.find, name)

    def test_devices(self) -> None:
        """A symbolic link to a device leaves the root and is refused."""
        (self.root / "zero").symlink_to("/dev/zero")
        self.assertRaises(Forbidden, self.directory.find, b"zero")

    def test_symbolic_links(self) -> None:
        """Links inside the root are followed; links out of it, by any way, are refused."""
        (self.root / "inside.efi").symlink_to("x64/grubx64.efi")
        (self.root / "out").symlink_to("../secret")
        (self.root / "up").symlink_to("..")
        (self.root / "loop").symlink_to("loop")
        (self.root / "dangling").symlink_to("nothing")
        self.assertEqual(self.path(b"inside.efi"), "x64/grubx64.efi")
        for name in (b"out", b"up/secret", b"UP/SECRET", b"up/boot/ipxe-x86_64.efi"):
            self.assertRaises(Forbidden, self.directory.find, name)
        for name in (b"loop", b"dangling", b"loop/x"):
            self.assertRaises(NotFound, self.directory.find, name)

    def test_a_sibling_that_begins_like_the_root(self) -> None:
        """``/srv/boot-old`` is not inside ``/srv/boot``."""
        (self.above / "boot-old").mkdir()
        (self.above / "boot-old" / "x").write_bytes(b"x")
        (self.root / "old").symlink_to("../boot-old/x")
        self.assertRaises(Forbidden, self.directory.find, b"old")

    def test_an_unreadable_file(self) -> None:
        """A file that this process cannot read is not found, at once."""
        with tempfile.TemporaryDirectory() as above:
            os.chmod(above, 0o755)
            (Path(above) / "closed").touch(mode=0o000)
            directory = BootDirectory(Path(above), {})
            if os.geteuid() == 0:
                self.addCleanup(os.seteuid, 0)
                os.seteuid(65534)
            self.assertRaises(NotFound, directory.find, b"closed")
            if os.getuid() == 0:
                os.seteuid(0)
                self.assertEqual(directory.find(b"closed").size, 0)

    def test_a_root_that_is_not_there(self) -> None:
        """Only what is in memory is found; a root that appears later is used."""
        root = self.above / "later"
        directory = BootDirectory(root, {"autoexec.ipxe": SCRIPT})
        self.assertRaises(NotFound, directory.find, b"ipxe-x86_64.efi")
        self.assertIs(directory.find(b"autoexec.ipxe"), SCRIPT)
        root.symlink_to("boot")
        self.assertEqual(directory.find(b"ipxe-x86_64.efi").size, 20)

    def test_a_name_longer_than_the_disk_allows(self) -> None:
        """A name within our bound and over the file system's is not found."""
        self.assertRaises(NotFound, self.directory.find, b"a" * 300)


class TotalTests(SynchronousTestCase):
    @settings(max_examples=200, deadline=None)
    @given(
        st.binary(max_size=64)
        | st.lists(st.sampled_from([b"..", b".", b"/", b"\\", b"x64", b"a", b"\0"])).map(b"".join)
    )
    def test_any_name_is_found_inside_or_refused(self, name: bytes) -> None:
        """Nothing but a refusal is raised, and nothing outside the root is ever found."""
        with tempfile.TemporaryDirectory() as above:
            root = Path(above) / "boot"
            (root / "x64").mkdir(parents=True)
            (root / "x64" / "a").touch()
            (Path(above) / "a").touch()
            try:
                found = BootDirectory(root, {"a": SCRIPT}).find(name)
            except Refused:
                return
            if isinstance(found, Content):
                self.assertTrue(found.path.is_relative_to(root.resolve()))
