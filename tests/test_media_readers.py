"""Tests for ``rescriptum.media.readers.store``."""

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import MalformedImage, NotFound, Unavailable
from rescriptum.media.readers import store
from rescriptum.media.readers.store import Disc, Folder, content_of, read_extents
from rescriptum.values import Content

from . import isos


class FolderTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        (self.root.parent / "secret").write_bytes(b"secret")
        isos.plant(
            self.root,
            {
                "Casper/vmlinuz": b"kernel",
                "dists/bookworm/Release": b"Suite: stable\n",
                "dists/stable": "bookworm",
                "absolute": "/dists/stable/Release",
                "out": "../secret",
                "outer": "/etc/passwd",
                "loop": "loop",
                "packages/a": b"lower",
                "Packages/a": b"upper",
            },
        )
        self.folder = Folder(self.root)

    def test_files(self) -> None:
        """By any case, links followed, and the exact name before another of its letters."""
        for path, expected in (
            ("casper/VMLINUZ", b"kernel"),
            ("dists//stable/./Release", b"Suite: stable\n"),
            ("absolute", b"Suite: stable\n"),
            ("packages/a", b"lower"),
            ("Packages/a", b"upper"),
        ):
            content = self.folder.find(path)
            self.assertEqual(read_extents(content, 100), expected)
            self.assertTrue(content.path.is_relative_to(self.root.resolve()))
        self.assertEqual(set(self.folder.names("dists")), {"bookworm", "stable"})
        self.assertEqual(self.folder.names("nothing"), ())

    def test_nothing_leads_out(self) -> None:
        """Links inside a tree are of the tree: they lead nowhere else, and neither do names."""
        for path in ("out", "outer", "loop", "../secret", "dists/../../secret", "/etc/passwd"):
            self.assertRaises(NotFound, self.folder.find, path)

    def test_other_kinds(self) -> None:
        """Directories and FIFOs are no files; opening the latter would wait for ever."""
        os.mkfifo(self.root / "fifo")
        for path in ("dists", "fifo", "", "casper/vmlinuz/x"):
            self.assertRaises(NotFound, Folder(self.root).find, path)

    def test_its_own_link(self) -> None:
        """The tree itself may stand anywhere: the operator linked it."""
        link = self.root.with_suffix(".link")
        link.symlink_to(self.root.resolve())
        self.assertEqual(Folder(link).find("casper/vmlinuz").size, 6)

    def test_bounded(self) -> None:
        """A directory of a million names costs no more than its bound."""
        self.patch(store, "MAX_LISTED", 3)
        self.assertEqual(len(Folder(self.root).names("")), 3)

    def test_names_that_are_no_text(self) -> None:
        """File names are bytes; those that are not UTF-8 are served too."""
        (self.root / os.fsdecode(b"caf\xe9")).write_bytes(b"x")
        found = Folder(self.root).find("caf\udce9")
        self.assertEqual(found.size, 1)


class DiscTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = isos.build(Path(self.mktemp()).with_suffix(".iso"), isos.DEBIAN_NETINST)
        self.content = content_of(self.path, "x/y")

    def test_files(self) -> None:
        """Extents of the image, with the image's version and time."""
        disc = Disc(self.content)
        found = disc.find("install.amd/INITRD.gz")
        self.assertEqual(read_extents(found, 1 << 20), isos.initrd())
        self.assertEqual((found.path, found.version), (self.path, self.content.version))
        self.assertEqual(found.media_type, "application/octet-stream")
        self.assertEqual(disc.find("efi/boot/bootx64.efi").media_type, "application/efi")
        self.assertEqual(disc.read("install.amd/initrd.gz", 10), isos.initrd()[:10])
        self.assertEqual(disc.names("nothing"), ())
        self.assertNotEqual(found.etag, disc.find("install.amd/gtk/initrd.gz").etag)

    def test_replaced_meanwhile(self) -> None:
        """Directories of one image are not mixed with those of the next."""
        disc = Disc(self.content)
        os.utime(self.path, ns=(1, 1))
        self.assertRaises(Unavailable, disc.find, "pool/main/b/base-files/x.deb")
        self.path.unlink()
        self.assertRaises(Unavailable, disc.find, "dists/stable/Release")


class ContentTests(SynchronousTestCase):
    def test_whole_files(self) -> None:
        """One extent, none for an empty file; a directory is no file."""
        path = Path(self.mktemp())
        path.write_bytes(b"")
        self.assertEqual(content_of(path, "x/y").extents, ())
        path.write_bytes(b"abc")
        content: Content = content_of(path, "x/y")
        self.assertEqual((content.size, content.media_type), (3, "x/y"))
        self.assertEqual(content.modified, int(path.stat().st_mtime))
        self.assertRaises(NotFound, content_of, path.parent, "x/y")

    def test_no_image(self) -> None:
        """A file that is no image is no disc."""
        path = Path(self.mktemp())
        path.write_bytes(bytes(100000))
        self.assertRaises(MalformedImage, Disc, content_of(path, "x/y"))
