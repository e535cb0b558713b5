"""Tests for what is said of a program that failed."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.ramdisk.tools import SAID, Ran


class SaidTests(SynchronousTestCase):
    def test_the_last_line_that_says_anything(self) -> None:
        ran = Ran(("dmsetup",), 1, b"", "device-mapper: busy\nCommand failed.\n\n")
        self.assertEqual(ran.said, "dmsetup: device-mapper: busy")
        self.assertEqual(Ran(("mdadm",), 2, b"no such set\n").said, "mdadm: no such set")
        self.assertEqual(Ran(("true",), 3).said, "true: exit code 3")

    def test_a_line_without_an_end(self) -> None:
        """A tool may print megabytes: a sentence of it is told."""
        self.assertEqual(Ran(("x",), 1, b"y" * SAID).said, f"x: {'y' * SAID}")
        self.assertEqual(Ran(("x",), 1, b"y" * (SAID + 1)).said, f"x: {'y' * SAID}")
