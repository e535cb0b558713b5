"""Tests for a machine's disks, and for which of them an operating system goes to."""

import contextlib
import json
from itertools import permutations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.ramdisk import RootDisk
from rescriptum.contract.refusals import Rejected
from rescriptum.errors import Malformed
from rescriptum.ramdisk.disks import BlockDevice, chosen, disks, listed

GIB = 1 << 30
KEYS = ["name", "children", "size", "mountpoints", "ro", "type"]
SSD = BlockDevice("sdb", "/dev/sdb", "disk", 480 * GIB, serial="S1 23 ", wwn="0x5002538e00000001")
#: What lsblk 2.38 prints for a disk with a partition, cut to what matters.
PRINTED = json.dumps(
    {
        "blockdevices": [
            {
                "name": "nvme0n1",
                "path": "/dev/nvme0n1",
                "type": "disk",
                "size": 512110190592,
                "ro": False,
                "rm": False,
                "rota": False,
                "tran": "nvme",
                "serial": "lab0001 ",
                "wwn": "nvme.1b36-6c6162",
                "model": "QEMU NVMe Ctrl",
                "vendor": None,
                "log-sec": 4096,
                "fstype": None,
                "mountpoints": [None],
                "children": [
                    {
                        "name": "nvme0n1p1",
                        "path": "/dev/nvme0n1p1",
                        "type": "part",
                        "size": 1000,
                        "fstype": "ext4",
                        "mountpoints": ["/boot", None],
                        "children": [{"name": "vg-lv", "type": "lvm", "size": 900}],
                    }
                ],
            },
            {"name": "loop0", "type": "loop", "size": 5},
        ]
    }
).encode()


class ListedTests(SynchronousTestCase):
    def test_a_tree(self) -> None:
        disk, loop = listed(PRINTED, {"nvme0n1": "pci-0000:00:04.0-nvme-1"})
        self.assertEqual((disk.name, disk.sector, disk.serial), ("nvme0n1", 4096, "lab0001"))
        self.assertEqual((disk.transport, disk.where), ("nvme", "pci-0000:00:04.0-nvme-1"))
        (part,) = disk.holds
        self.assertEqual((part.filesystem, part.mounts), ("ext4", ("/boot",)))
        self.assertEqual([each.name for each in disk.all], ["vg-lv", "nvme0n1p1", "nvme0n1"])
        self.assertEqual(disks((disk, loop)), (disk,))

    def test_names_that_are_no_text(self) -> None:
        """
        The UUID of a set of DDF begins with ``Linux-MD`` and four bytes of no alphabet, and labels
        are in whatever the maker's computer spoke: the disk is listed, and so are the others.
        """
        printed = PRINTED.replace(b"lab0001 ", b"Linux-MD\xde\xad\xbe\xef").replace(
            b"ext4", b"B\xfc"
        )
        disk, _ = listed(printed, {})
        self.assertTrue(disk.serial.startswith("Linux-MD"))
        self.assertEqual(disk.holds[0].filesystem, "B\ufffd")

    def test_something_else(self) -> None:
        for output in (b"", b"{}", b"[]", b'{"blockdevices": {}}', b'{"blockdevices": [{}]}'):
            self.assertRaises(Malformed, listed, output, {})

    def test_without_an_end(self) -> None:
        """Neither too many, nor too deep ones."""
        many = {"blockdevices": [{"name": "a"}] * 4097}
        self.assertRaises(Malformed, listed, json.dumps(many).encode(), {})
        row: dict[str, object] = {"name": "a"}
        for _ in range(17):
            row = {"name": "a", "children": [row]}
        self.assertRaises(Malformed, listed, json.dumps({"blockdevices": [row]}).encode(), {})

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner),
        )
    )
    def test_whatever_comes(self, value: object) -> None:
        with contextlib.suppress(Malformed, Rejected):
            chosen(
                listed(json.dumps({"blockdevices": [{"name": "x"}, value]}).encode(), {}),
                RootDisk(),
            )

    def test_a_name_with_what_only_looks_like_a_number(self) -> None:
        """A digit to Python, and no number."""
        odd = evolve(SSD, name="sd1²")
        self.assertEqual(disks((odd,)), (odd,))


class ChosenTests(SynchronousTestCase):
    def refused(self, devices: list[BlockDevice], wanted: RootDisk) -> str:
        with self.assertRaises(Rejected) as caught:
            chosen(devices, wanted)
        self.assertEqual(caught.exception.code, "not-found")
        error: Rejected = caught.exception
        return error.detail

    def test_what_it_never_is(self) -> None:
        """D63: whatever the order, it is one of the two equal SSDs, and always the same."""
        raid = BlockDevice("md0", "/dev/md0", "raid1", 400 * GIB)
        never = [
            BlockDevice("sda", "/dev/sda", "disk", 0, transport="usb", vendor="AMI"),
            BlockDevice("sr1", "/dev/sr1", "disk", 8 * GIB, read_only=True, model="Virtual CD"),
            BlockDevice("mmcblk0boot0", "/dev/mmcblk0boot0", "disk", 8 * GIB),
            BlockDevice("sdc", "/dev/sdc", "disk", 100 * GIB, serial="m1", holds=(raid,)),
            BlockDevice("sdd", "/dev/sdd", "disk", 100 * GIB, serial="m2", holds=(raid,)),
            BlockDevice("zram0", "/dev/zram0", "disk", 8 * GIB),
        ]
        twin = evolve(SSD, name="sde", path="/dev/sde")
        other = evolve(SSD, name="sdf", path="/dev/sdf", serial="S9", wwn="0x5002538e00000009")
        for order in permutations([SSD, twin, other]):
            self.assertEqual(chosen([*never, *order], RootDisk()), SSD)
            self.assertEqual(chosen([*order, *never], RootDisk()), SSD)

    def test_the_smallest(self) -> None:
        """Of at least 4 GiB, or what is asked for."""
        small = evolve(SSD, name="sdx", serial="x", wwn="", size=4 * GIB - 1)
        middle = evolve(SSD, name="sdy", serial="y", wwn="", size=100 * GIB)
        devices = [SSD, small, middle]
        self.assertEqual(chosen(devices, RootDisk()), middle)
        self.assertEqual(chosen(devices, RootDisk(min_size_bytes=200 * GIB)), SSD)
        self.assertEqual(chosen(devices, RootDisk(min_size_bytes=1)), middle)
        why = self.refused(devices, RootDisk(min_size_bytes=500 * GIB))
        self.assertIn("sdb: smaller than", why)

    def test_by_the_slot(self) -> None:
        """W280: names of the kernel change from one boot to the next."""
        first = evolve(SSD, name="sdz", serial="1", wwn="", where="pci-1")
        second = evolve(SSD, name="sda", serial="2", wwn="", where="pci-2")
        self.assertEqual(chosen([second, first], RootDisk()), first)
        tenth, ninth = (evolve(SSD, name=f"nvme{n}n1", serial=str(n), wwn="") for n in (10, 9))
        self.assertEqual(chosen([tenth, ninth], RootDisk()), ninth)

    def test_hints(self) -> None:
        """W281, W282: spelled in one way or another."""
        other = evolve(SSD, name="sdc", serial="S9", wwn="eui.0025385B71B00001", size=SSD.size * 2)
        devices = [SSD, other]
        for wanted in (
            RootDisk(wwn="0025385b71b00001"),
            RootDisk(wwn="0x0025385B71B00001"),
            RootDisk(wwn="eui.0025385b71b00001aabbccdd11223344"),
            RootDisk(serial=" s9", wwn=""),
            RootDisk(device="/dev/sdc"),
            RootDisk(device="sdc"),
        ):
            self.assertEqual(chosen(devices, wanted), other)
        self.assertEqual(chosen(devices, RootDisk(serial="S123")), SSD)

    def test_the_first_hint_decides(self) -> None:
        other = evolve(SSD, name="sdc", serial="S9", wwn="0x1")
        self.assertEqual(chosen([SSD, other], RootDisk(wwn="1", serial="S123")), other)

    def test_a_hint_that_fits_nothing(self) -> None:
        """What there is is said."""
        why = self.refused([SSD], RootDisk(serial="nope"))
        self.assertEqual(why, "no disk with serial nope: sdb: not the one that is wanted")
        self.assertEqual(self.refused([], RootDisk()), "no disk for it: none")

    def test_a_hint_that_fits_what_cannot_be(self) -> None:
        stick = evolve(SSD, removable=True)
        why = self.refused([stick], RootDisk(serial="S123"))
        self.assertEqual(why, "no disk with serial S123: sdb: its medium can be taken out")

    def test_disks_of_hypervisors(self) -> None:
        """They are called virtual as well, and are all that such a machine has."""
        for vendor in ("VMware", "Msft"):
            disk = BlockDevice("sda", "/dev/sda", "disk", 8 * GIB, vendor=vendor)
            self.assertEqual(evolve(disk, model="Virtual disk").left_alone, "")
        shown = BlockDevice("sda", "/dev/sda", "disk", 8 * GIB, model="Virtual HDisk")
        self.assertEqual(shown.left_alone, "a drive that the BMC shows (W279)")

    def test_a_hint_that_fits_several(self) -> None:
        """Drives of one batch, which all say the same."""
        one, two = (evolve(SSD, name=n, serial="0", wwn=f"0x{n}") for n in ("sda", "sdb"))
        self.assertIn("several disks: sda, sdb", self.refused([one, two], RootDisk(serial="0")))
