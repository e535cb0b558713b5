"""A process without file descriptors, for tests of what is done then."""

import os
import resource

from twisted.trial.unittest import SynchronousTestCase


def without_descriptors(test: SynchronousTestCase) -> None:
    """None can be opened until ``test`` ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    test.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
    least = os.dup(0)  # the lowest that is free: at and past the limit, none can be had
    os.close(least)
    resource.setrlimit(resource.RLIMIT_NOFILE, (least, hard))
