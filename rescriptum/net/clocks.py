"""The clock that the boot lease goes by."""

import time


def boottime() -> float:
    """
    :returns: seconds of a clock that nobody sets and that goes on while the machine sleeps: Linux
        has one. There is no substitute: a fence that stands still with its machine is no fence.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)
