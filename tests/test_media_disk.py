"""Tests for ``rescriptum.media.disk.store``."""

import hashlib
import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import Unavailable
from rescriptum.media.catalogue import Catalogue
from rescriptum.media.disk import store
from rescriptum.media.disk.store import (
    digest_of,
    look_into,
    read_catalogue,
    scan,
    write_sidecar,
)
from rescriptum.media.readers import store as readers
from rescriptum.media.readers.store import content_of, read_extents

from . import isos


def named(catalogue: Catalogue) -> dict[str, str]:
    return {each.id: each.family for each in catalogue.entries}


class ScanTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()

    def catalogue(self) -> Catalogue:
        return read_catalogue(self.root)

    def test_a_directory(self) -> None:
        """Images, trees, an image with boot files beside it, and the rest of the world."""
        isos.build(self.root / "rocky.iso", isos.ROCKY_DVD)
        isos.build(self.root / "debian-12.iso", isos.DEBIAN_NETINST)
        isos.plant(self.root / "debian-12", isos.DEBIAN_NETBOOT)
        isos.plant(self.root / "netboot", isos.DEBIAN_NETBOOT)
        isos.plant(self.root / "documents", {"letter.txt": b"Dear"})
        (self.root / "disk.img").write_bytes(bytes(5000))
        (self.root / "empty.img").write_bytes(b"")
        (self.root / "README").write_bytes(b"hello")
        catalogue = self.catalogue()
        self.assertEqual(catalogue.problems, ())
        self.assertEqual(
            named(catalogue),
            {
                "debian-12": "debian",
                "disk": "unknown",
                "empty": "unknown",
                "netboot": "debian",
                "rocky": "rhel",
            },
        )
        self.assertEqual(
            [each.bootable for each in catalogue.entries], [True, False, False, True, True]
        )
        medium = catalogue.find("debian-12")
        assert medium is not None and medium.kernel is not None and medium.initrd is not None
        self.assertEqual(read_extents(medium.kernel, 9999), isos.x86_kernel())
        self.assertEqual(medium.initrd.path.name, "initrd.gz")

    def test_every_layout(self) -> None:
        """What tests of the families see in memory is what there is on a disk."""
        layouts = {
            "ubuntu": isos.UBUNTU_SERVER,
            "alma": isos.ALMA_BOOT,
            "proxmox": isos.PROXMOX,
            "esxi": isos.ESXI,
            **isos.UNKNOWN,
        }
        for name, layout in layouts.items():
            flags = ("--norock",) if layout is isos.ESXI else ()
            isos.build(self.root / f"{name}.iso", layout, *flags)
        found = named(self.catalogue())
        for name in isos.UNKNOWN:
            self.assertEqual(found.pop(name), "unknown", name)
        self.assertEqual(
            found, {"ubuntu": "ubuntu", "alma": "rhel", "proxmox": "proxmox", "esxi": "unknown"}
        )

    def test_files_of_the_proxmox_assistant(self) -> None:
        """Its output directory used as the media directory."""
        isos.build(self.root / "pve.iso", isos.PROXMOX.minus("boot"))
        isos.plant(self.root, {"vmlinuz": isos.x86_kernel(), "initrd.img": isos.initrd()})
        [medium] = self.catalogue().entries
        assert medium.kernel is not None
        self.assertEqual(medium.kernel.path.name, "vmlinuz")

    def test_rubbish(self) -> None:
        """A file that is called an image and is none is listed, served whole, and a problem."""
        (self.root / "a.iso").write_bytes(b"<html>404</html>")
        catalogue = self.catalogue()
        self.assertEqual(named(catalogue), {"a": "unknown"})
        self.assertIn("not an ISO 9660 image", catalogue.problems[0].text)

    def test_a_download_that_did_not_end(self) -> None:
        """The volume says how long the image should be."""
        path = isos.build(self.root / "a.iso", isos.DEBIAN_NETINST)
        os.truncate(path, path.stat().st_size // 2)
        texts = " ".join(each.text for each in self.catalogue().problems)
        self.assertIn("shorter", texts)

    def test_no_such_directory(self) -> None:
        """A problem, and an empty catalogue."""
        self.root.rmdir()
        catalogue = self.catalogue()
        self.assertEqual((catalogue.entries, len(catalogue.problems)), ((), 1))

    def test_links(self) -> None:
        """An image may be a link to another disk; one to nowhere is passed over."""
        elsewhere = isos.build(Path(self.mktemp()).with_suffix(".iso"), isos.ROCKY_DVD)
        (self.root / "rocky.iso").symlink_to(elsewhere.resolve())
        (self.root / "gone.iso").symlink_to("nowhere")
        self.assertEqual(named(self.catalogue()), {"rocky": "rhel"})

    def test_a_sidecar_that_cannot_be_read(self) -> None:
        """Its image is served as if there were none, and the operator is told."""
        isos.build(self.root / "rocky.iso", isos.ROCKY_DVD)
        (self.root / "rocky.media").symlink_to("/proc/self/mem")  # a file whose reading fails
        catalogue = self.catalogue()
        self.assertEqual(named(catalogue), {"rocky": "rhel"})
        [problem] = catalogue.problems
        self.assertIn("rocky.media cannot be read", str(problem))

    def test_sidecars(self) -> None:
        """What they say counts; a new one is a reason to look again."""
        isos.build(self.root / "a.iso", isos.UBUNTU_2004)
        [before] = scan(self.root).seen
        (self.root / "a.media").write_bytes(b"version = Mine\nkernel = casper/hwe-vmlinuz\n\xff")
        [after] = scan(self.root).seen
        self.assertNotEqual(before.key, after.key)
        self.assertEqual(self.catalogue().entries[0].version, "Mine")

    def test_a_disk_that_fails(self) -> None:
        """It is tried again the next time: nothing is remembered of it."""
        isos.build(self.root / "a.iso", isos.ROCKY_DVD)
        [seen] = scan(self.root).seen
        os.utime(self.root / "a.iso", ns=(1, 1))
        probe = look_into(seen)
        self.assertTrue(probe.fleeting)
        self.assertEqual(len(probe.problems), 1)

    def test_bounded(self) -> None:
        """A directory of a million names costs no more than its bound."""
        self.patch(readers, "MAX_LISTED", 3)
        for each in range(10):
            (self.root / f"{each}.img").write_bytes(b"")
        self.assertEqual(len(scan(self.root).seen), 3)


class DigestTests(SynchronousTestCase):
    def test_of_a_file(self) -> None:
        """As sha256sum says, and told piece by piece."""
        path = Path(self.mktemp())
        path.write_bytes(b"x" * (store.PIECE + 5))
        told: list[int] = []
        digest = digest_of(content_of(path, "x/y"), told.append)
        self.assertEqual(digest, hashlib.sha256(b"x" * (store.PIECE + 5)).hexdigest())
        self.assertEqual(sum(told), store.PIECE + 5)

    def test_of_a_file_that_changes(self) -> None:
        """A digest of half the old and half the new file is not recorded."""
        path = Path(self.mktemp())
        path.write_bytes(b"x" * 10)
        content = content_of(path, "x/y")
        os.utime(path, ns=(1, 1))
        self.assertRaises(Unavailable, digest_of, content, lambda count: None)


class WritingTests(SynchronousTestCase):
    def test_a_new_sidecar(self) -> None:
        """Readable by the server, whatever the umask of who wrote it."""
        directory = Path(self.mktemp())
        directory.mkdir()
        path = directory / "a.media"
        write_sidecar(path, {"sha256": "1"})
        self.assertEqual(path.read_text(), "sha256 = 1\n")
        self.assertEqual(path.stat().st_mode & 0o777, 0o644)
        self.assertEqual(os.listdir(directory), ["a.media"])

    def test_an_old_one(self) -> None:
        """Its text and its mode are kept, and it is another file afterwards."""
        path = Path(self.mktemp())
        path.write_text("# mine\nsha256 = 1\n")
        path.chmod(0o640)
        before = path.stat()
        write_sidecar(path, {"sha256": "2"})
        self.assertEqual(path.read_text(), "# mine\nsha256 = 2\n")
        self.assertEqual(path.stat().st_mode, before.st_mode)
        self.assertNotEqual(path.stat().st_ino, before.st_ino)

    def test_nothing_is_left_behind(self) -> None:
        """When it cannot be written, the old one stays and no draft."""
        directory = Path(self.mktemp())
        (directory / "a.media").mkdir(parents=True)
        self.assertRaises(OSError, write_sidecar, directory / "a.media", {"sha256": "2"})
        self.assertEqual(os.listdir(directory), ["a.media"])
