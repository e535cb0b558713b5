"""What stands on disks, taken apart from the top: else they are busy, or live again (W274)."""

from collections.abc import Iterable
from typing import Final

from ...contract.refusals import Rejected
from ..disks import BlockDevice

#: File systems that other machines may be writing to at this moment (W277).
SHARED: Final = frozenset({"gfs2", "ocfs2", "gpfs", "vmfs", "vmfs_volume_member", "lustre"})
_SWAP: Final = "[SWAP]"
_RAID_MEMBER: Final = "linux_raid_member"


def refuse_shared(devices: Iterable[BlockDevice]) -> None:
    """
    :param devices: with all that stands on them.
    :raises Rejected: ``conflict``: nothing at all is wiped then (W277).
    """
    for device in devices:
        for each in device.all:
            if each.filesystem.lower() in SHARED:
                raise Rejected(
                    "conflict",
                    f"{each.name} has {each.filesystem}, which other machines may be using:"
                    " detach it from them first",
                )


def taken_apart(devices: Iterable[BlockDevice]) -> tuple[tuple[str, ...], ...]:
    """
    :param devices: that are to be wiped: nothing that stands on others alone is touched.
    :returns: what is to be run, in order. Each may fail where it was done already.
    """
    every: dict[str, BlockDevice] = {}
    for device in devices:
        every |= {each.name: each for each in device.all if each.name not in every}
    steps: list[tuple[str, ...]] = []
    for each in every.values():
        for mount in reversed(each.mounts):
            steps.append(("swapoff", each.path) if mount == _SWAP else ("umount", mount))
        if each.kind in ("lvm", "crypt", "dm", "mpath"):
            steps.append(("dmsetup", "remove", "--retry", each.name))
        elif each.kind.startswith(("raid", "linear", "md")):
            steps.append(("mdadm", "--stop", each.path))
    # Members last, when no set is left that would write its own copy again; and before anybody
    # reads a table anew, since udev would put the set together at once (W275).
    steps += [
        ("mdadm", "--zero-superblock", "--force", each.path)
        for each in every.values()
        if each.filesystem == _RAID_MEMBER
    ]
    return tuple(steps)
