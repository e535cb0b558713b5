"""Tests for ``rescriptum.tftp.offload``."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.offload import Offload, blocks_a_call


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
        """64 segments, 65,507 bytes, and at least one datagram."""
        for stride, count in ((12, 64), (516, 64), (1023, 64), (1472, 44), (8196, 7), (65468, 1)):
            self.assertEqual(blocks_a_call(stride), count)
            self.assertTrue(count * stride <= 65507)
