"""Which partition of a disk is what."""

from typing import Final

from ...contract.refusals import Rejected
from ..disks import BlockDevice

#: File systems that a root is on, and how a file gets into each.
EXT: Final = frozenset({"ext2", "ext3", "ext4"})
#: What may hold a root that is not seen.
_CLOSED: Final = frozenset({"crypto_LUKS", "LVM2_member", "linux_raid_member", "zfs_member"})
BTRFS: Final = "btrfs"
MOUNTED: Final = frozenset({"xfs", BTRFS})
#: Of btrfs, what systems are put into: Fedora's name, and that of Ubuntu, Arch and openSUSE.
SUBVOLUMES: Final = ("root", "@")
FAT: Final = "vfat"
#: Types of root partitions: the Discoverable Partitions Specification.
_ROOTS: Final = frozenset(
    {
        "4f68bce3-e8cd-4db1-96e7-fbcaf984b709",  # x86-64
        "b921b045-1df0-41c3-af44-4c6f280d3fae",  # AArch64
        "44479540-f297-41b2-9af7-d131d5f0458a",  # x86
    }
)
_NO_ROOTS: Final = ("boot", "efi", "esp", "bios", "home", "swap", "oem", "cidata", "config-2")


def parts(disk: BlockDevice) -> tuple[BlockDevice, ...]:
    """:returns: its partitions; the disk itself, where it has a file system and no table."""
    found = tuple(each for each in disk.holds if each.kind == "part")
    return found or ((disk,) if disk.filesystem else ())


def root_of(disk: BlockDevice) -> BlockDevice:
    """
    :returns: where the operating system is: by its type, by its label, else the largest one that
        one can be on.
    :raises Rejected: ``not-found``, saying what there is.
    """
    able = [each for each in parts(disk) if each.filesystem in EXT | MOUNTED]
    rooted = [each for each in able if each.part_type in _ROOTS]
    labelled = [each for each in able if "root" in each.label.lower()]
    other = [each for each in able if each.label.lower() not in _NO_ROOTS]
    sure = rooted or labelled
    found = max(sure or other or able, key=lambda each: each.size, default=None)
    for each in parts(disk):
        hidden = each.part_type in _ROOTS or (found is not None and each.size > found.size)
        if each.filesystem in _CLOSED and hidden and not sure:
            why = (
                f"its root may be in {each.name}, a {each.filesystem}, which nothing is written to"
            )
            raise Rejected("not-found", f"{disk.name}: {why}")
    if found is not None:
        return found
    there = ", ".join(f"{each.name} ({each.filesystem or 'nothing'})" for each in parts(disk))
    raise Rejected("not-found", f"{disk.name}: no root file system: {there or 'no partition'}")


def boots_of(disk: BlockDevice, root: BlockDevice) -> tuple[tuple[BlockDevice, str], ...]:
    """:returns: where kernels may be: partitions, and the directory in each."""
    own = [
        each for each in parts(disk) if each != root and each.filesystem in EXT | MOUNTED | {FAT}
    ]
    own.sort(key=lambda each: "boot" not in each.label.lower())
    return ((root, "/boot"), *((each, "/") for each in own))


def labelled(disk: BlockDevice, *labels: str) -> BlockDevice | None:
    """:param labels: in lower case: cloud-init takes either case (W298)."""
    for each in parts(disk):
        if each.label.lower() in labels:
            return each
    return None
