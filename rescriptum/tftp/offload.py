"""Whether the kernel may cut windows into datagrams (UDP segmentation offload)."""

import errno

#: What the kernel says when it cannot: larger than the path's packets (EMSGSIZE; older kernels
#: EINVAL), no checksum offload below (EIO), no such option (ENOPROTOOPT, EOPNOTSUPP).
CANNOT = frozenset((errno.EMSGSIZE, errno.EINVAL, errno.EIO, errno.ENOPROTOOPT, errno.EOPNOTSUPP))
#: Segments and bytes of one call: what every kernel with the option takes.
SEGMENTS, BYTES = 64, 65507


class Offload:
    """What is known of each interface."""

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


def blocks_a_call(stride: int) -> int:
    """:returns: how many datagrams of ``stride`` bytes one call takes."""
    return max(1, min(SEGMENTS, BYTES // stride))
