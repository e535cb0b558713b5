"""Tests for ``rescriptum.tftp.offload``."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.offload import Offload


class OffloadTests(SynchronousTestCase):
    def test_is_tried_until_it_fails(self) -> None:
        """Each interface by itself."""
        offload = Offload()
        self.assertTrue(offload.fits(1, 1472))
        offload.failed(1, 1472, OSError(errno.EIO, ""))
        self.assertFalse(offload.fits(1, 12))
        self.assertTrue(offload.fits(2, 1472))

    def test_too_large_says_nothing_of_smaller(self) -> None:
        """Only what is as large will not be tried again, and a later failure lowers that."""
        offload = Offload()
        offload.failed(1, 1472, OSError(errno.EMSGSIZE, ""))
        self.assertFalse(offload.fits(1, 1472))
        self.assertTrue(offload.fits(1, 1471))
        offload.failed(1, 1000, OSError(errno.EINVAL, ""))
        offload.failed(1, 1200, OSError(errno.EMSGSIZE, ""))
        self.assertFalse(offload.fits(1, 1000))
        self.assertTrue(offload.fits(1, 999))

    def test_can_be_switched_off(self) -> None:
        """For good."""
        self.assertFalse(Offload(wanted=False).fits(1, 12))

    def test_a_call_stays_within_the_kernels_bounds(self) -> None:
        """Never more than 64 segments or 65,507 bytes, and at least one datagram."""
        offload = Offload()
        for crowded in (False, True):
            offload.crowded = crowded
            for stride in (12, 516, 1472, 8196, 40000, 65468):
                count = offload.datagrams(stride)
                self.assertTrue(1 <= count <= 64)
                self.assertTrue(count * stride <= 65507)

    def test_where_many_want_something_a_call_sends_more(self) -> None:
        """A single client gains by having the first datagrams early."""
        offload = Offload()
        alone = offload.datagrams(516)
        offload.crowded = True
        self.assertTrue(offload.datagrams(516) > alone)
