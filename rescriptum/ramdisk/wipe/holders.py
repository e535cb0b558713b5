"""What stands on disks, taken apart from the top: else they are busy, or live again (W274)."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from attrs import frozen

from ...contract.refusals import Rejected
from ..disks import BlockDevice

#: File systems that other machines may be writing to at this moment (W277).
SHARED: Final = frozenset({"gfs2", "ocfs2", "gpfs", "vmfs", "vmfs_volume_member", "lustre"})
_SWAP: Final = "[SWAP]"
_RAID_MEMBER: Final = "linux_raid_member"
#: What the device mapper has put together, and md, by how lsblk calls it.
_MAPPED: Final = ("lvm", "crypt", "dm", "mpath")
_MAPPER: Final = "/dev/mapper/"
_SETS: Final = ("raid", "linear", "md", "container")


@frozen
class Blank:
    """
    A step: zeros to both ends of what is still together. A set keeps its data behind room of its
    own, often 128 MiB of it: put together again, it would have what it had.
    """

    device: BlockDevice


#: What is run, or emptied.
Step: TypeAlias = tuple[str, ...] | Blank


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


def taken_apart(
    devices: Iterable[BlockDevice], others: Iterable[BlockDevice] = ()
) -> tuple[Step, ...]:
    """
    :param devices: every path to the disks that are to be wiped.
    :param others: disks that are not: what stands on them as well is stopped, and its contents
        left as they are; what stands on them alone is not touched.
    :returns: what is to be done, in order. Each may fail where it was done already.
    """
    every: dict[str, BlockDevice] = {}
    for device in devices:
        every |= {each.name: each for each in device.all if each.name not in every}
    mounts = {mount: each.path for each in every.values() for mount in each.mounts}
    # What is mounted within another mount goes first.
    below = sorted(set(mounts) - {_SWAP}, key=len, reverse=True)
    steps: list[Step] = [("umount", mount) for mount in below]
    steps += [("swapoff", each.path) for each in every.values() if _SWAP in each.mounts]
    kept = {each.name for device in others for each in device.all}
    for each in every.values():
        # Partitions that the device mapper has made of a disk with several paths, too.
        mapped = each.kind in _MAPPED or each.path.startswith(_MAPPER)
        joined = each.kind.startswith(_SETS)
        if (mapped or joined) and each.size and not each.read_only and each.name not in kept:
            steps.append(Blank(each))
        if mapped:
            steps.append(("dmsetup", "remove", "--retry", each.name))
        elif joined:
            steps.append(("mdadm", "--stop", each.path))
    # Members last, when no set is left that would write its own copy again; and before anybody
    # reads a table anew, since udev would put the set together at once (W275).
    steps += [
        ("mdadm", "--zero-superblock", "--force", each.path)
        for each in every.values()
        if each.filesystem == _RAID_MEMBER
    ]
    return tuple(steps)


def together(devices: Iterable[BlockDevice]) -> tuple[str, ...]:
    """:returns: names of what stands on the disks still, beside their partitions, or is mounted."""
    found = {
        each.name: None
        for device in devices
        for each in device.all
        if each.mounts or each.kind not in ("disk", "part")
    }
    return tuple(found)
