"""Tests for ``rescriptum.media.iso9660``, ``records``, ``rockridge`` and ``paths``."""

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import MalformedImage, NotFound
from rescriptum.media import iso9660, rockridge
from rescriptum.media.iso9660 import Image
from rescriptum.values import Extent

from . import isos
from .isos import SECTOR, SP, Layout, by_hand, ce, nm, record, sl

FEW = settings(max_examples=150, deadline=None)


def opened(data: bytes) -> Image:
    return Image(lambda offset, length: data[offset : offset + length], len(data))


def content(data: bytes, path: str) -> bytes:
    node = opened(data).find(path)
    return b"".join(data[each.offset : each.offset + each.length] for each in node.extents)


def found(data: bytes, path: str) -> bool:
    try:
        opened(data).find(path)
    except NotFound:
        return False
    return True


LAYOUT = Layout(
    "A Volume",
    {
        "README.txt": b"hello\n",
        "empty": b"",
        "Some/Deep/Directory/libstdc++~1^2 x86.rpm": isos.initrd(),
        "Some/exact": b"x" * SECTOR,
        "dists/bookworm/Release": b"Suite: stable\n",
        "dists/stable": "bookworm",
        "links/up": "../dists/stable/Release",
        "links/absolute": "/README.txt",
        "links/out": "../../../../etc/passwd",
        "links/loop": "loop",
        "links/ping": "pong",
        "links/pong": "ping",
        "links/through": "./ping/../../README.txt",
        "n" * 200: b"a long name",
        "grün": b"not ASCII",
    },
)


class RockRidgeTests(SynchronousTestCase):
    """An image by xorriso, with Rock Ridge and Joliet."""

    def setUp(self) -> None:
        path = isos.build(Path(self.mktemp()).with_suffix(".iso"), LAYOUT)
        self.data = path.read_bytes()

    def test_files_are_where_they_are(self) -> None:
        """Each file's extents hold its bytes: of any length, none included."""
        for path, expected in LAYOUT.files.items():
            if isinstance(expected, bytes):
                self.assertEqual(content(self.data, path), expected, path)

    def test_names_have_no_case(self) -> None:
        """ESXi asks in lower case for what is written in upper case, and the other way round."""
        self.assertEqual(content(self.data, "readme.TXT"), b"hello\n")
        self.assertEqual(content(self.data, "SOME/EXACT"), b"x" * SECTOR)

    def test_paths_are_joined_carelessly(self) -> None:
        """``//`` and ``./`` in a path mean nothing: installers join URLs like that."""
        self.assertEqual(content(self.data, "/./Some//exact"), b"x" * SECTOR)

    def test_symbolic_links_are_followed(self) -> None:
        """``dists/stable`` leads to the suite; a link beginning at the root begins at ours."""
        self.assertEqual(content(self.data, "dists/stable/Release"), b"Suite: stable\n")
        self.assertEqual(content(self.data, "links/up"), b"Suite: stable\n")
        self.assertEqual(content(self.data, "links/absolute"), b"hello\n")

    def test_nothing_leads_out(self) -> None:
        """Neither a link nor a request leaves the image, and loops of links end."""
        for path in ("links/out", "links/loop", "links/ping", "links/through"):
            self.assertFalse(found(self.data, path), path)
        for path in ("../README.txt", "Some/../README.txt", "..", "a\0b", "/" * 5000):
            self.assertRaises(NotFound, opened(self.data).find, path)

    def test_what_is_not_there(self) -> None:
        """A directory is no file, a file no directory, and nothing is not found."""
        for path in ("Some", "", "README.txt/x", "nothing", "Some/nothing"):
            self.assertRaises(NotFound, opened(self.data).find, path)
        self.assertRaises(NotFound, opened(self.data).names, "nothing")
        self.assertRaises(NotFound, opened(self.data).names, "README.txt")

    def test_names_of_a_directory(self) -> None:
        """As Rock Ridge spells them, without the directory itself and its parent."""
        self.assertEqual(set(opened(self.data).names("Some")), {"Deep", "exact"})
        self.assertIn("grün", opened(self.data).names(""))

    def test_label(self) -> None:
        """The volume's id, blanks cut off; and how long the volume says it is."""
        image = opened(self.data)
        self.assertEqual(image.label, "A Volume")
        self.assertLessEqual(image.volume, len(self.data))
        self.assertFalse(image.udf)

    def test_a_truncated_image(self) -> None:
        """A file beyond the end is not half served: the image is malformed."""
        last = max(
            (
                each
                for path in LAYOUT.files
                if isinstance(LAYOUT.files[path], bytes)
                for each in opened(self.data).find(path).extents
            ),
            key=lambda each: each.offset,
        )
        short = self.data[: last.offset]
        paths = [path for path, data in LAYOUT.files.items() if isinstance(data, bytes)]
        with self.assertRaises(MalformedImage):
            for path in paths:
                opened(short).find(path)

    @FEW
    @given(st.data())
    def test_mutated_images(self, data: st.DataObject) -> None:
        """
        Whatever bytes of the descriptors and directories are changed, look-ups end, and raise
        nothing but the two errors.
        """
        image = bytearray(self.data)
        for _ in range(data.draw(st.integers(1, 12))):
            at = data.draw(st.integers(16 * SECTOR, min(len(image), 90 * SECTOR) - 1))
            image[at] = data.draw(st.integers(0, 255))
        _try(bytes(image))


def _try(data: bytes) -> None:
    for path in ("links/up", "Some/Deep/Directory/libstdc++~1^2 x86.rpm", "n" * 200, "A/B/C.;1"):
        try:
            node = opened(data).find(path)
        except (MalformedImage, NotFound):
            continue
        for each in node.extents:
            assert each.offset >= 0 and each.offset + each.length <= len(data)


class OtherNamesTests(SynchronousTestCase):
    """Images without Rock Ridge."""

    def test_joliet(self) -> None:
        """Joliet's names are the real ones where there is no Rock Ridge."""
        layout = Layout("J", {"Casper/ubuntu-server-minimal.squashfs": b"1", "b/ä ö.x": b"2"})
        path = isos.build(Path(self.mktemp()).with_suffix(".iso"), layout, "--norock", "-J")
        data = path.read_bytes()
        self.assertEqual(content(data, "casper/ubuntu-server-minimal.squashfs"), b"1")
        self.assertEqual(content(data, "b/ä ö.x"), b"2")
        self.assertEqual(opened(data).names("Casper"), ("ubuntu-server-minimal.squashfs",))

    def test_plain(self) -> None:
        """Upper case, versions and the dot of an empty suffix are nothing that anybody asks for."""
        path = isos.build(Path(self.mktemp()).with_suffix(".iso"), isos.ESXI, "--norock")
        data = path.read_bytes()
        self.assertEqual(content(data, "b.b00"), bytes(3000))
        self.assertEqual(content(data, "efi/boot/bootx64.efi"), b"MZ")
        data = isos.built_by_pycdlib({"/VMLINUZ.;1": b"kernel", "/DIR1/INITRD.GZ;1": b"initrd"})
        self.assertEqual(content(data, "vmlinuz"), b"kernel")
        self.assertEqual(content(data, "dir1/initrd.gz"), b"initrd")

    def test_pycdlib_rock_ridge(self) -> None:
        """Another writer's idea of Rock Ridge."""
        data = isos.built_by_pycdlib(
            {"/DIR1/INITRD.;1": b"initrd"}, rock_ridge="1.09", interchange_level=1
        )
        self.assertEqual(content(data, "dir1/initrd"), b"initrd")

    def test_relocated_directories(self) -> None:
        """genisoimage moves what is deeper than eight; the names lead there all the same."""
        directory = Path(self.mktemp())
        deep = "/".join(f"d{each}" for each in range(1, 12))
        isos.plant(directory, {f"{deep}/file": b"deep", "top": b"top"})
        path = directory.with_suffix(".iso")
        subprocess.run(
            ["genisoimage", "-quiet", "-R", "-o", path, directory], check=True, capture_output=True
        )
        data = path.read_bytes()
        self.assertEqual(content(data, f"{deep}/file"), b"deep")
        self.assertEqual(opened(data).names("rr_moved"), ())

    def test_udf_is_noticed(self) -> None:
        """A bridge image is read by its ISO 9660 side; that it has another is known."""
        directory = Path(self.mktemp())
        isos.plant(directory, {"README.TXT": b"UDF only\n"})
        path = directory.with_suffix(".iso")
        subprocess.run(
            ["genisoimage", "-quiet", "-udf", "-o", path, directory],
            check=True,
            capture_output=True,
        )
        data = path.read_bytes()
        self.assertTrue(opened(data).udf)
        self.assertEqual(content(data, "readme.txt"), b"UDF only\n")


def sparse(data: bytes, size: int) -> Image:
    """An image of ``size`` bytes of which only the first are stored."""
    return Image(lambda at, length: data[at : at + length].ljust(length, b"\0"), size)


class ByHandTests(SynchronousTestCase):
    """What no tool writes, or only with gigabytes."""

    def test_files_of_several_extents(self) -> None:
        """
        A file over 4 GiB has a record for each part; parts that touch are one extent, and
        parts that do not are in order.
        """
        part = 0xFFFFF800
        data = by_hand(
            record(b"BIG.;1", 100, part, 0x80),
            record(b"BIG.;1", 100 + part // SECTOR, 5000),
            record(b"SPLIT.;1", 200, SECTOR, 0x80),
            record(b"SPLIT.;1", 300, 10),
            rock=False,
        )
        image = sparse(data, 8 << 30)
        self.assertEqual(image.find("big").extents, (Extent(100 * SECTOR, part + 5000),))
        self.assertEqual(image.find("big").size, part + 5000)
        self.assertEqual(
            image.find("split").extents,
            (Extent(200 * SECTOR, SECTOR), Extent(300 * SECTOR, 10)),
        )

    def test_continued_names(self) -> None:
        """A name over several fields, in the record and in continuations of it, is one name."""
        data = by_hand(
            record(b"LONG.;1", 30, 3, 0, nm(b"long-", 1) + ce(22, 8, 60)),
            sectors={
                22: bytes(8) + nm(b"and-", 1) + ce(23, 0, 20) + bytes(40),
                23: nm(b"longer"),
                30: b"abc",
            },
        )
        self.assertEqual(content(data, "long-and-longer"), b"abc")

    def test_endless_continuations(self) -> None:
        """A continuation that continues in itself ends the look-up, not the server."""
        area = ce(22, 0, 28)
        data = by_hand(record(b"X.;1", 30, 3, 0, area), sectors={22: area, 30: b""})
        read: list[int] = []

        def reading(at: int, length: int) -> bytes:
            read.append(at)
            return data[at : at + length]

        self.assertRaises(MalformedImage, Image(reading, len(data)).find, "x")
        self.assertLessEqual(len(read), rockridge.MAX_CONTINUATIONS + 4)

    def test_a_name_without_end(self) -> None:
        """Names are at most 1024 bytes, however many fields they are given in."""
        fields = b"".join(nm(b"n" * 200, 1) for _ in range(9))
        data = by_hand(
            record(b"X.;1", 30, 3, 0, ce(22, 0, len(fields))), sectors={22: fields, 30: b""}
        )
        self.assertRaises(MalformedImage, opened(data).find, "x")

    def test_a_target_without_end(self) -> None:
        """Link targets are bounded as names are."""
        fields = b"".join(sl((0, b"t" * 240)) for _ in range(8)) + ce(23, 0, SECTOR)
        more = fields[:-28] + ce(24, 0, SECTOR)
        data = by_hand(
            record(b"X.;1", 30, 3, 0, ce(22, 0, SECTOR)),
            sectors={22: fields, 23: more, 24: fields[:-28], 30: b""},
        )
        self.assertRaises(MalformedImage, opened(data).find, "x")

    def test_continuations_beyond_the_image(self) -> None:
        """A continuation that is not there, or longer than a sector, is malformed."""
        for area in (ce(9999, 0, 10), ce(20, 2000, 100), ce(20, 0, 1 << 31)):
            data = by_hand(record(b"X.;1", 30, 3, 0, area), sectors={30: b""})
            self.assertRaises(MalformedImage, opened(data).find, "x")

    def test_links_in_components(self) -> None:
        """A target's components: the root, this directory, the parent, a name in two pieces."""
        data = by_hand(
            record(b"REAL.;1", 30, 3, 0, nm(b"real")),
            record(b"A.;1", 30, 0, 0, nm(b"a") + sl((8, b""), (1, b"re"), (0, b"al"))),
            record(b"B.;1", 30, 0, 0, nm(b"b") + sl((2, b""), (0, b"real"))),
            record(b"C.;1", 30, 0, 0, nm(b"c") + sl((4, b""), (0, b"real"))),
            sectors={30: b"abc"},
        )
        self.assertEqual(content(data, "a"), b"abc")
        self.assertEqual(content(data, "b"), b"abc")
        self.assertFalse(found(data, "c"))

    def test_numbers_that_disagree(self) -> None:
        """A number whose two halves differ makes the image malformed."""
        good = record(b"X.;1", 30, 3)
        for at in (2, 13):
            bad = bytearray(good)
            bad[at] ^= 1
            data = by_hand(bytes(bad), sectors={30: b"abc"})
            self.assertRaises(MalformedImage, opened(data).find, "x")
        broken = bytearray(by_hand())
        broken[16 * SECTOR + 80] ^= 1
        self.assertRaises(MalformedImage, opened, bytes(broken))

    def test_interleaved_files(self) -> None:
        """What nobody has written since the eighties is refused rather than served wrong."""
        data = by_hand(record(b"X.;1", 30, 3, gap=1), sectors={30: b"abc"})
        self.assertRaises(MalformedImage, opened(data).find, "x")

    def test_directories_in_themselves(self) -> None:
        """A directory that is its own child is walked no deeper than the bound."""
        data = by_hand(record(b"D", 20, SECTOR, 2), rock=False)
        self.assertFalse(found(data, "d/d/d/nothing"))
        self.assertRaises(NotFound, opened(data).names, "/".join(["d"] * 17))

    def test_large_directories(self) -> None:
        """A directory's size is checked before it is read."""
        read: list[int] = []
        data = by_hand(record(b"D", 22, iso9660.MAX_DIRECTORY + SECTOR, 2), rock=False)

        def reading(at: int, length: int) -> bytes:
            read.append(length)
            return data[at : at + length].ljust(length, b"\0")

        self.assertRaises(MalformedImage, Image(reading, 1 << 40).find, "d/x")
        self.assertLessEqual(max(read), iso9660.MAX_DESCRIPTORS * SECTOR)

    def test_many_sections(self) -> None:
        """A file in parts without end is malformed, not a list without end."""
        raw = record(b"X.;1", 30, 3, 0x80)
        sector = (raw * (SECTOR // len(raw))).ljust(SECTOR, b"\0")
        directory = record(b"D", 22, 8 * SECTOR, 2)
        data = by_hand(directory, rock=False, sectors={22: sector * 8, 30: b"abc"})
        self.assertRaises(MalformedImage, opened(data).find, "d/x")

    def test_what_a_lookup_may_read(self) -> None:
        """
        Links through directories that are too large to be remembered are read again and again,
        up to a bound.
        """
        self.patch(iso9660, "REMEMBERED", 0)
        self.patch(iso9660, "MAX_LOOKUP", 10 * SECTOR)
        data = by_hand(
            record(b"L.;1", 30, 0, 0, nm(b"l") + sl((0, b"d"), *[(0, b"d")] * 12, (0, b"x"))),
            record(b"D", 20, SECTOR, 2, nm(b"d")),
        )
        self.assertRaises(MalformedImage, opened(data).find, "l")

    def test_what_a_lookup_may_understand(self) -> None:
        """
        Sixty thousand records are a second's work, in each directory of a path: small ones cost
        more than their bytes.
        """
        self.patch(iso9660, "REMEMBERED", 0)
        self.patch(iso9660, "MAX_LOOKUP", 64 * SECTOR)
        raw = record(b"D", 22, 2 * SECTOR, 2)
        sector = (raw * (SECTOR // len(raw))).ljust(SECTOR, b"\0")
        data = by_hand(raw, rock=False, sectors={22: sector * 2})
        self.assertFalse(found(data, "d/d/x"))
        self.assertRaises(MalformedImage, opened(data).find, "d/" * 10 + "x")

    def test_records_across_sectors(self) -> None:
        """A record that crosses the end of a sector is malformed (6.8.1.1)."""
        sector = bytearray(2 * SECTOR)
        raw = record(b"X.;1", 30, 3)
        at = 0
        while at < SECTOR:
            sector[at : at + len(raw)] = raw
            at += len(raw)
        self.assertNotEqual(SECTOR % len(raw), 0)
        directory = record(b"D", 22, 2 * SECTOR, 2)
        data = by_hand(directory, rock=False, sectors={22: bytes(sector), 30: b"abc"})
        self.assertRaises(MalformedImage, opened(data).find, "d/y")

    def test_a_name_that_is_longer_than_its_record(self) -> None:
        """Lengths inside a record are checked against the record's own."""
        bad = bytearray(record(b"X.;1", 30, 3))
        bad[32] = 200
        data = by_hand(bytes(bad), sectors={30: b"abc"})
        self.assertRaises(MalformedImage, opened(data).find, "x")

    def test_moved_directories_that_are_not_there(self) -> None:
        """A child link to nowhere is malformed; one to a file's bytes too, or finds nothing."""
        link = b"CL\x0c\x01" + isos.both(9999)
        data = by_hand(record(b"D.;1", 30, 0, 0, nm(b"d") + link))
        self.assertRaises(MalformedImage, opened(data).find, "d/x")

    def test_system_use_after_fourteen_bytes(self) -> None:
        """CD-ROM XA puts 14 bytes before Rock Ridge's fields, in every record."""
        xa = bytes(14)
        data = bytearray(
            by_hand(record(b"X.;1", 30, 3, 0, xa + nm(b"real name")), sectors={30: b"abc"})
        )
        own = record(b"\0", 20, SECTOR, 2, xa + b"SP\x07\x01\xbe\xef\x0e")
        at = 20 * SECTOR
        old = record(b"\0", 20, SECTOR, 2, SP)
        rest = bytes(data[at + len(old) : at + SECTOR - (len(own) - len(old))])
        data[at : at + SECTOR] = own + rest
        self.assertEqual(content(bytes(data), "real name"), b"abc")


class NotImagesTests(SynchronousTestCase):
    def test_other_files(self) -> None:
        """No descriptor, a short file, other blocks: malformed, and a sentence that says so."""
        for data in (b"", b"x" * 100, bytes(70000), b"\x7fELF" * 20000):
            self.assertRaises(MalformedImage, opened, data)
        other = bytearray(by_hand())
        other[16 * SECTOR + 129] = 2
        self.assertRaises(MalformedImage, opened, bytes(other))

    def test_only_udf(self) -> None:
        """A pure UDF image is told from rubbish."""
        data = bytearray(40 * SECTOR)
        for at, mark in ((16, b"BEA01"), (17, b"NSR03"), (18, b"TEA01")):
            data[at * SECTOR + 1 : at * SECTOR + 6] = mark
        error = self.assertRaises(MalformedImage, opened, bytes(data))
        self.assertIn("UDF", str(error))

    @FEW
    @given(st.binary(max_size=4 * SECTOR), st.binary(max_size=64))
    def test_arbitrary_bytes(self, directory: bytes, path: bytes) -> None:
        """Any bytes as an image, and any as a directory of a sound one: nothing else is raised."""
        with self.assertRaises(MalformedImage):
            opened(bytes(16 * SECTOR) + directory)
        base = by_hand(record(b"D", 22, 4 * SECTOR, 2, nm(b"d")), sectors={22: bytes(4 * SECTOR)})
        at = 22 * SECTOR
        data = base[:at] + directory.ljust(4 * SECTOR, b"\0") + base[at + 4 * SECTOR :]
        image = opened(data)
        for call in (image.find, image.names):
            _quietly(call, "d/" + path.decode("utf-8", "surrogateescape"))
            _quietly(call, "d")

    @FEW
    @given(st.binary(max_size=220), st.binary(max_size=SECTOR))
    def test_arbitrary_system_use(self, area: bytes, further: bytes) -> None:
        """Any bytes where Rock Ridge's fields should be."""
        data = by_hand(
            record(b"X.;1", 30, 3, 0, area[:200]),
            record(b"Y.;1", 30, 3, 0, ce(22, 0, len(further))),
            sectors={22: further, 30: b"abc"},
        )
        _quietly(opened(data).find, "x")
        _quietly(opened(data).names, "")


def _quietly(call: Callable[[str], object], path: str) -> None:
    with contextlib.suppress(MalformedImage, NotFound):
        call(path)
