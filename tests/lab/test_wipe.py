"""A ramdisk empties the disks of its machine, by the real tools: what CI looks at."""

from unittest import TestSuite

from .case import ASKED
from .guests import MIB, zeros
from .wipecase import WipeCase

if not ASKED:
    testSuite = TestSuite


class WipeTests(WipeCase):
    cases = ("quick", "namespaces")
    seconds = 900

    def test_nothing_comes_back(self) -> None:
        """
        D59, D60, W274, W275: RAID with LVM and LUKS in it, mounted and swapped to, is taken apart;
        and when the same tables, sets and volumes are made again, there is nothing in them.
        """
        seen = self.seen("quick")
        self.assertIn("q-crypt /mnt/q-again /mnt/q/inner", seen["before"])
        self.assert_verified(seen["wipe"], "quick", "quick")
        self.assertEqual(seen["wipe"]["complaints"], [])
        for each in ("left", "partitions", "back"):
            self.assertEqual(seen[each], [], each)
        for each in ("found", "tables", "sets", "volumes"):
            self.assertEqual(seen[each], {}, each)
        self.assertEqual(seen["tables_back"], [])

    def test_one_namespace_of_two(self) -> None:
        """D57, W262: the drive erases the one; not where that would reach the other as well."""
        seen = self.seen("namespaces")
        self.assert_verified(seen["alone"], "nvme-erase")
        self.assert_verified(seen["reaches"], "overwrite")
        self.assertIn("another namespace", self.tries(seen["reaches"])["nvme-erase"])
        self.assertEqual((seen["kept"], seen["still"]), (True, True))
        self.assertTrue(zeros(self.drive("n1")))
        self.assertNotIn(bytes(MIB), self.drive("n1b").read_bytes())
