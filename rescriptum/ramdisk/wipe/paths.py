"""Which disks are wiped, and which names are only other paths to one of them."""

from collections.abc import Sequence

from attrs import evolve, field, frozen

from ...contract.refusals import Rejected
from ..disks import BlockDevice, normalised, normalised_wwn
from ..image.store import Disk
from .places import marker


@frozen
class Chosen:
    """
    :ivar wiped: every disk that was asked for, by whichever of its names (W276).
    :ivar others: disks that were not, and that stay as they are.
    :ivar left: names of disks that nothing is ever done to, and why.
    """

    wiped: tuple[BlockDevice, ...]
    others: tuple[BlockDevice, ...] = ()
    left: dict[str, str] = field(factory=dict)


def chosen(devices: Sequence[BlockDevice], names: Sequence[str]) -> Chosen:
    """
    :param names: of disks; none: all of the machine's own.
    :raises Rejected: ``not-found`` for a name that is no disk's, or a disk that nothing is ever
        done to; then nothing is.
    """
    own = [each for each in devices if not _left_alone(each)]
    wanted = {each.removeprefix("/dev/") for each in names}
    by_name = {each.name: each for each in devices}
    for name in sorted(wanted):
        if name not in by_name:
            there = ", ".join(each.name for each in own) or "none"
            raise Rejected("not-found", f"there is no disk {name[:40]!r}; there is {there}"[:500])
        if _left_alone(by_name[name]):
            raise Rejected("not-found", f"{name}: {_left_alone(by_name[name])}")
    wiped = [each for each in own if each.name in wanted or not wanted]
    # Whoever names one path means the disk. A serial number alone does not prove that it is one:
    # some bridges give the same to every drive.
    wiped += [
        each
        for each in own
        if each not in wiped and normalised_wwn(each.wwn) and any(alike(each, one) for one in wiped)
    ]
    names_of = {each.name for each in wiped}
    others = tuple(each for each in devices if each.name not in names_of)
    left = {each.name: _left_alone(each) for each in devices if _left_alone(each)}
    return Chosen(tuple(wiped), others, {} if wanted else left)


def _left_alone(device: BlockDevice) -> str:
    """
    :returns: why nothing is ever done to it. One that cannot be written has data all the same: it
        is asked for, and not verified unless it can be (W284).
    """
    return evolve(device, read_only=False).left_alone


def alike(one: BlockDevice, other: BlockDevice) -> bool:
    """
    :returns: whether they may be two paths to one disk, by what they say of themselves. That is no
        proof: namespaces of one controller have its serial number, and cheap drives one and the
        same world-wide name.
    """

    def said(each: BlockDevice) -> tuple[str, str, int]:
        return normalised_wwn(each.wwn), normalised(each.serial), each.size

    return said(one) == said(other) and said(one)[:2] != ("", "")


def proved(one: Disk, other: Disk, seed: int) -> bool:
    """
    :param one: is written to, where it begins: it is to be wiped in any case.
    :returns: whether both are one disk: what is written by the one path is read by the other.
    :raises DiskTrouble: when nobody can tell.
    """
    mark = marker(seed, 0)
    one.put(mark, 0)
    one.sync()
    return other.read(len(mark), 0) == mark


def namespaces(device: BlockDevice, devices: Sequence[BlockDevice]) -> list[str]:
    """:returns: what its NVMe controller shows, by name, itself too; of others: nothing."""
    controller, found, _ = device.name.rpartition("n")
    if not found or not device.name.startswith("nvme"):
        return []
    return [each.name for each in devices if each.name.rpartition("n")[0] == controller]
