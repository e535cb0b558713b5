"""A ramdisk empties the disks of its machine, by the real tools: all else that it meets."""

from unittest import TestSuite

from .case import ASKED_FOR_ALL
from .guests import MIB, zeros
from .wipecase import WipeCase

if not ASKED_FOR_ALL:
    testSuite = TestSuite


class EveryWipeTests(WipeCase):
    cases = (
        *("secure", "bystanders", "large_sectors", "btrfs", "sets"),
        *("controllers", "ata", "twins", "held", "taken_back", "everything"),
    )
    seconds = 1500
    tools = (*WipeCase.tools, "mkfs.btrfs", "sgdisk")

    def test_every_sector(self) -> None:
        """D59: of all that stood on both disks there is nothing but zeros, seen from outside."""
        seen = self.seen("secure")
        self.assert_verified(seen["wipe"], "overwrite", "overwrite")
        self.assertEqual(seen["wipe"]["complaints"], [])
        for each in ("left", "partitions", "back"):
            self.assertEqual(seen[each], [], each)
        self.assertEqual(seen["found"], {})
        for name in ("s1", "s2"):
            self.assertTrue(zeros(self.drive(name)), name)

    def test_other_disks(self) -> None:
        """D59: what is on both ends, and the other disk's part of it is as it was."""
        seen = self.seen("bystanders")
        self.assert_verified(seen["wipe"], "quick")
        self.assertEqual(seen["left"], [])
        self.assertTrue(seen["same"])
        self.assertEqual((seen["other"], seen["file"]), (["vg--other-data /mnt/other"], 9000))

    def test_large_sectors(self) -> None:
        """W273, W283: both ends of the disk and of its partitions; the rest is left as it was."""
        seen = self.seen("large_sectors")
        self.assert_verified(seen["wipe"], "quick")
        self.assertEqual((seen["left"], seen["tables"]), ([], {}))
        # Outside of the tables that were made again: partitions from 1 to 21, and to 37 MiB.
        disk, tables, last = self.drive("k1"), 48 * 1024, 64 * MIB
        within = ((MIB, 3 * MIB), (19 * MIB, 23 * MIB), (35 * MIB, 37 * MIB))
        self.assertTrue(zeros(disk, (tables, MIB), *within, (last - 2 * MIB, last - tables)))
        self.assertEqual(disk.read_bytes()[37 * MIB : 38 * MIB], b"was here" * (MIB // 8))

    def test_copies(self) -> None:
        """W273: btrfs keeps one of its superblock in the middle."""
        seen = self.seen("btrfs")
        self.assertEqual(list(seen["before"].values()), ["btrfs"])
        self.assert_verified(seen["wipe"], "quick")
        self.assertNotIn(b"_BHRfS_M", self.drive("x1").read_bytes())

    def test_sets(self) -> None:
        """DDF with its container, an old table with LUKS on it, and a mirror of LVM's own."""
        seen = self.seen("sets")
        self.assertEqual(len(seen["before"]), 9, seen["before"])
        self.assert_verified(seen["wipe"], *["quick"] * 6)
        self.assertEqual((seen["left"], seen["back"], seen["found"]), ([], [], {}))

    def test_all_of_a_controller(self) -> None:
        """W262: an erase that reaches all namespaces is right where all are to be wiped."""
        self.assert_verified(self.seen("controllers")["both"], "nvme-erase", "nvme-erase")

    def test_a_namespace_that_nobody_sees(self) -> None:
        """W262: it is not attached to the machine, and would be erased all the same."""
        hidden = self.seen("controllers")["hidden"]
        self.assert_verified(hidden, "overwrite")
        self.assertIn("another namespace", self.tries(hidden)["nvme-erase"])

    def test_a_drive_that_does_not_encrypt(self) -> None:
        """D57, W261: it has no key to throw away, and erases what it has."""
        wipe = self.seen("controllers")["crypto"]
        self.assert_verified(wipe, "nvme-erase")
        self.assertEqual(self.tries(wipe)["nvme-crypto-erase"], "it cannot (W261)")

    def test_a_drive_that_only_answers(self) -> None:
        """D61, W270: QEMU's has no security, and hdparm says that all went well."""
        wipe = self.seen("ata")["wipe"]
        self.assert_verified(wipe, "overwrite")
        tried = self.tries(wipe)
        self.assertIn("no security feature set", tried["ata-erase"])
        self.assertIn("Operation not supported", tried["blkdiscard-secure"])
        self.assertTrue(zeros(self.drive("a1")))

    def test_two_ways(self) -> None:
        """W276: it is emptied once, and neither of its names has anything on it afterwards."""
        seen = self.seen("twins")
        self.assert_verified(seen["wipe"], "overwrite")
        self.assertEqual((seen["left"], seen["partitions"]), ([], []))
        self.assertTrue(zeros(self.drive("t1")))

    def test_held(self) -> None:
        """It is said what could not be done, and why; the others are emptied; later it can be."""
        seen = self.seen("held")
        wipe = seen["wipe"]
        self.assertEqual(wipe["code"], "wipe-unverified")
        self.assertEqual([each["verified"] for each in wipe["disks"]], [False, False, True])
        for number in (0, 1):
            self.assertIn("Device or resource busy", str(self.tries(wipe, number)))
        self.assertRegex(wipe["complaints"][0], "^dmsetup: .*vg--held-data.*(busy|in use)")
        self.assert_verified(seen["again"], "overwrite", "overwrite")
        for name in ("h1", "h2", "h3"):
            self.assertTrue(zeros(self.drive(name)), name)

    def test_taken_back(self) -> None:
        """It stops in the middle and says how far it came; it can be begun again."""
        seen = self.seen("taken_back")
        self.assertEqual(seen["wipe"]["code"], "revoked")
        self.assertEqual([each["verified"] for each in seen["wipe"]["disks"]], [False, False])
        self.assertRegex(str(seen["wipe"]["disks"][0]["tries"]), r"of \d+ bytes are zeros")
        self.assertFalse(seen["touched"])
        self.assert_verified(seen["again"], "overwrite", "overwrite")
        for name in ("c1", "c2"):
            self.assertTrue(zeros(self.drive(name)), name)

    def test_all_but_what_cannot_be_written(self) -> None:
        """W284: a disk that only the kernel calls read-only is emptied; one that is, is told."""
        wipe = self.seen("everything")["wipe"]
        self.assertEqual(wipe["code"], "wipe-unverified")
        self.assertEqual([each["serial"] for each in wipe["disks"] if not each["verified"]], ["o1"])
        [only] = [each for each in wipe["disks"] if not each["verified"]]
        self.assertRegex(str(only["tries"]), "Read-only file system|Operation not permitted")
        self.assertNotIn(bytes(MIB), self.drive("o1").read_bytes())
        self.assertTrue(zeros(self.drive("e1"), (0, 2 * MIB)))
