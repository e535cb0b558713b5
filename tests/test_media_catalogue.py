"""Tests for ``rescriptum.media.catalogue``, ``listing`` and ``kernels``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.media import catalogue
from rescriptum.media.catalogue import (
    RESERVED,
    Candidate,
    Catalogue,
    Item,
    Medium,
    candidates,
    valid_id,
)
from rescriptum.media.kernels import kernel
from rescriptum.media.listing import as_json, as_text, size_text
from rescriptum.values import Problem

from . import isos


def listed(*names: str) -> tuple[list[Candidate], list[str]]:
    items = [Item(name.rstrip("/"), name.endswith("/")) for name in names]
    found, problems = candidates(items)
    return list(found), [each.source for each in problems]


class CandidatesTests(SynchronousTestCase):
    def test_images_and_trees(self) -> None:
        """Images by their ending whatever its case, directories, sidecars; sorted by id."""
        found, problems = listed("b.ISO", "a.img", "tree/", "b.media", "b/", "README", "x.txt")
        self.assertEqual(problems, [])
        self.assertEqual(
            found,
            [
                Candidate("a", image="a.img"),
                Candidate("b", image="b.ISO", folder="b", sidecar="b.media"),
                Candidate("tree", folder="tree"),
            ],
        )

    def test_hidden_files(self) -> None:
        """AppleDouble files and unfinished downloads that are hidden are nobody's images."""
        self.assertEqual(listed("._a.iso", ".snapshot/", ".a.media", ".iso"), ([], []))

    def test_reserved_ids(self) -> None:
        """An image cannot hide a path of the server itself; it is reported, not listed."""
        for name in RESERVED:
            self.assertEqual(listed(f"{name}.iso"), ([], [f"{name}.iso"]))
        self.assertEqual(listed("BOOT.iso"), ([], ["BOOT.iso"]))

    def test_directories_of_other_kinds(self) -> None:
        """The boot directory may stand in the media directory, and a disk has its lost+found."""
        self.assertEqual(listed("boot/", "lost+found/"), ([], []))

    def test_files_of_the_proxmox_assistant(self) -> None:
        """The initrd that it leaves in the directory is no image, where a kernel is beside it."""
        self.assertEqual(listed("vmlinuz", "initrd.img"), ([], []))
        self.assertEqual(listed("initrd.img"), ([Candidate("initrd", image="initrd.img")], []))

    def test_bad_ids(self) -> None:
        """Names that could not stand in a URL or in a script."""
        for name in ("my disk.iso", "ä.iso", "a%2f.iso", "x" * 129 + ".iso"):
            self.assertEqual(listed(name), ([], [name]))

    def test_names_that_are_no_text(self) -> None:
        """They are told in a form that any terminal and any JSON can hold."""
        self.assertEqual(listed("a\n.iso", "b\udcff.iso"), ([], ["a\\n.iso", "b\\udcff.iso"]))

    def test_one_id_twice(self) -> None:
        """The first by name counts, the other is reported."""
        found, problems = listed("a.iso", "a.img")
        self.assertEqual((found, problems), ([Candidate("a", image="a.img")], ["a.iso"]))

    def test_orphans(self) -> None:
        """A sidecar of nothing is reported."""
        self.assertEqual(listed("a.media"), ([], ["a.media"]))

    def test_too_many(self) -> None:
        """The catalogue is bounded, and says so."""
        self.patch(catalogue, "MAX_ENTRIES", 3)
        found, problems = listed(*(f"{each}.iso" for each in range(5)))
        self.assertEqual((len(found), problems), (3, ["media"]))

    def test_too_many_that_do_not_fit(self) -> None:
        """A directory full of other things is no thousand lines in the log and in the listing."""
        names = [f"my disk {each:05}.iso" for each in range(5000)]
        found, problems = listed(*names, "a.iso")
        self.assertEqual(found, [Candidate("a", image="a.iso")])
        self.assertEqual(problems, [*names[: catalogue.MAX_MISNAMED], "media"])

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.builds(Item, st.text(min_size=1), st.booleans())))
    def test_any_names(self, items: list[Item]) -> None:
        """Whatever a directory holds, every listed id is valid and listed once."""
        found, _ = candidates(items)
        ids = [each.id for each in found]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertTrue(all(valid_id(each) and each.lower() not in RESERVED for each in ids))


class ListingTests(SynchronousTestCase):
    CATALOGUE = Catalogue(
        (
            Medium("debian-12", "debian", version="Debian 12", architecture="x86_64", size=2048),
            Medium("x", "unknown", size=5 << 30, digest="0123456789abcdef" * 4),
        ),
        (Problem("my disk.img", "rename it"),),
        frozenset(["new"]),
    )

    def test_text(self) -> None:
        """Columns that line up, then what is wrong."""
        self.assertEqual(
            as_text(self.CATALOGUE).splitlines(),
            [
                "ID         FAMILY   ARCH    VERSION    SIZE     PINNED",
                "debian-12  debian   x86_64  Debian 12  2.0 KiB  -",
                "x          unknown  -       -          5.0 GiB  012345678",
                "problem: my disk.img: rename it",
                "pending: new",
            ],
        )

    def test_json(self) -> None:
        """The keys that programs read."""
        told = as_json(self.CATALOGUE)
        assert isinstance(told["media"], list)
        first = told["media"][0]
        self.assertEqual(
            {"id", "family", "version", "arch", "size", "sha256", "bootable"} - first.keys(), set()
        )
        self.assertEqual(told["problems"], [{"source": "my disk.img", "problem": "rename it"}])

    def test_looking_up(self) -> None:
        """By the very id."""
        self.assertIn("x", self.CATALOGUE)
        self.assertNotIn("X", self.CATALOGUE)
        self.assertIsNone(self.CATALOGUE.find("new"))

    def test_sizes(self) -> None:
        """One decimal, in the unit that leaves a whole part."""
        sizes = (0, 1023, 1024, 1536, 3 << 30, 1 << 60)
        self.assertEqual(
            [size_text(each) for each in sizes],
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "3.0 GiB", "1048576.0 TiB"],
        )


class KernelTests(SynchronousTestCase):
    def test_headers(self) -> None:
        """x86, arm64, and EFI zboot of either kind."""
        self.assertEqual(kernel(isos.x86_kernel()).architecture, "x86_64")
        self.assertEqual(kernel(isos.arm64_kernel()).architecture, "arm64")
        self.assertEqual(kernel(isos.zboot_kernel()).architecture, "arm64")
        self.assertEqual(kernel(isos.zboot_kernel(0x8664)).architecture, "x86_64")
        self.assertEqual(kernel(isos.arm64_kernel()).trouble, "")

    def test_troubles(self) -> None:
        """A kernel inside gzip, which UEFI iPXE cannot start, and what is no kernel."""
        self.assertIn("gzip", kernel(b"\x1f\x8b" + bytes(600)).trouble)
        self.assertIn("no header", kernel(b"#!/bin/sh\n").trouble)

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=600))
    def test_any_bytes(self, head: bytes) -> None:
        """Whatever it begins with; a zboot header's offset may point anywhere."""
        kernel(head)
        kernel(b"MZ\0\0zimg" + head)
