"""Whether the kernel may cut windows into datagrams (UDP segmentation offload)."""

import errno

#: What the kernel says when it cannot: larger than the path's packets (EMSGSIZE; older kernels
#: EINVAL), no checksum offload below (EIO), no such option (ENOPROTOOPT, EOPNOTSUPP).
CANNOT = frozenset((errno.EMSGSIZE, errno.EINVAL, errno.EIO, errno.ENOPROTOOPT, errno.EOPNOTSUPP))
#: Datagrams and bytes of one call, well within what every kernel with the option takes. A client
#: reads the first ones while the kernel still cuts the next: so a window is several calls, and
#: shorter ones where no other transfer has use for the time that this costs.
ALONE, CROWDED, BYTES = 8, 16, 65507


class Offload:
    """
    What is known of each interface.

    :ivar crowded: whether several transfers are under way.
    """

    crowded = False

    def __init__(self, wanted: bool = True) -> None:
        """:param wanted: False sends block by block, always."""
        self._wanted = wanted
        self._too_large: dict[int, int] = {}

    def fits(self, interface: int, stride: int) -> bool:
        """Whether datagrams of ``stride`` bytes have not failed there."""
        return self._wanted and stride < self._too_large.get(interface, BYTES)

    def failed(self, interface: int, stride: int, why: OSError) -> None:
        """Remembered as long as the server runs: the fall-back is quiet and costs little."""
        least = stride if why.errno in (errno.EMSGSIZE, errno.EINVAL) else 0
        self._too_large[interface] = min(least, self._too_large.get(interface, BYTES))

    def datagrams(self, stride: int) -> int:
        """:returns: how many of ``stride`` bytes one call sends."""
        return max(1, min(CROWDED if self.crowded else ALONE, BYTES // stride))
