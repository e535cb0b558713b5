"""The disks of a machine as ``lsblk`` lists them, and which of them an operating system goes to."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self

from attrs import field, frozen

from ..contract.ramdisk import RootDisk
from ..contract.refusals import Rejected
from ..contract.structure import JSON, parsed
from ..errors import Malformed

#: What ``lsblk --json --bytes --output`` is asked for.
COLUMNS: Final = (
    "NAME,PATH,TYPE,SIZE,START,RO,RM,ROTA,TRAN,SERIAL,WWN,MODEL,VENDOR,LOG-SEC,FSTYPE,UUID,LABEL,"
    "PARTTYPE,MOUNTPOINTS"
)
#: Bytes that an operating system's disk has at least.
SMALLEST: Final = 4 << 30
#: Bytes that lsblk counts the beginning of a partition in.
_START: Final = 512
#: Disks of one machine, and what stands on one of them, one above the other.
_MOST, _DEEPEST = 4096, 16
#: What only looks like a disk: an eMMC's areas for firmware (W278), memory, floppies (W279).
_NO_DISK: Final = re.compile(r"mmcblk\d+(boot\d+|rpmb)|z?ram\d+|fd\d+")
#: What BMCs show as a drive of theirs, by vendor or model (W279); hypervisors' own are disks.
_VIRTUAL: Final = re.compile(
    r"\bAMI\b|(?<!VMware )(?<!Msft )\bvirtual\b|LCDRIVE|\bOEMDRV\b|SECUPD"
    r"|Linux.*(File-CD|Stor) Gadget|\bIDRAC\b",
    re.I,
)


@frozen
class BlockDevice:
    """
    A disk, a partition of one, or what was put together of some.

    :ivar name: of the kernel, which may be another one after the next boot (W280).
    :ivar kind: ``disk``, ``part``, ``raid1``, ``lvm``, ``crypt``, ``mpath``…
    :ivar start: of a partition, in bytes from where its disk begins.
    :ivar sector: bytes. :ivar uuid: and ``label``: of the file system.
    :ivar where: of the by-path links: stable for a slot; empty: unknown.
    :ivar holds: what stands on it.
    """

    name: str
    path: str
    kind: str
    size: int
    read_only: bool = False
    removable: bool = False
    rotational: bool = False
    transport: str = ""
    serial: str = ""
    wwn: str = ""
    model: str = ""
    vendor: str = ""
    sector: int = 512
    start: int = 0
    filesystem: str = ""
    uuid: str = ""
    label: str = ""
    part_type: str = ""
    mounts: tuple[str, ...] = ()
    where: str = ""
    holds: "tuple[BlockDevice, ...]" = field(default=())

    @classmethod
    def of(cls, row: JSON, where: Mapping[str, str], depth: int = 0) -> Self:
        """:raises Malformed: for what ``lsblk`` does not print."""
        children = row.get("children", [])
        mounts = row.get("mountpoints", [])
        name = row.get("name")
        if (
            not isinstance(name, str)
            or not isinstance(children, list)
            or not isinstance(mounts, list)
            or depth > _DEEPEST
        ):
            raise Malformed("not a list of block devices as lsblk prints it")

        def text(key: str) -> str:
            value = row.get(key)
            return value.strip() if isinstance(value, str) else ""

        def number(key: str, otherwise: int) -> int:
            value = row.get(key)
            return value if isinstance(value, int) and value >= 0 else otherwise

        return cls(
            name,
            text("path") or f"/dev/{name}",
            text("type"),
            number("size", 0),
            row.get("ro") is True,
            row.get("rm") is True,
            row.get("rota") is True,
            text("tran"),
            text("serial"),
            text("wwn"),
            text("model"),
            text("vendor"),
            number("log-sec", 512) or 512,
            number("start", 0) * _START,
            text("fstype"),
            text("uuid"),
            text("label"),
            text("parttype").lower(),
            tuple(each for each in mounts if isinstance(each, str)),
            where.get(name, ""),
            tuple(cls.of(each, where, depth + 1) for each in children if isinstance(each, dict)),
        )

    @property
    def all(self) -> "tuple[BlockDevice, ...]":
        """It and everything that stands on it, the highest first: the order of taking apart."""
        above = tuple(one for each in self.holds for one in each.all)
        return (*above, self)

    @property
    def identity(self) -> str:
        """The same for every path to one disk (W276); its name where it tells nothing of itself."""
        return normalised_wwn(self.wwn) or normalised(self.serial) or self.name

    @property
    def left_alone(self) -> str:
        """Why nothing is ever done to it; empty: it is one of the machine's own disks."""
        if _NO_DISK.fullmatch(self.name):
            return "it only looks like a disk (W278)"
        if self.kind != "disk":
            return f"no disk, but {self.kind or 'something unknown'}"
        if not self.size:
            return "it has no medium (W279)"
        if _VIRTUAL.search(f"{self.vendor} {self.model}"):
            return "a drive that the BMC shows (W279)"
        if self.read_only:
            return "it cannot be written (W284)"
        if self.removable:
            return "its medium can be taken out"
        return ""

    def unsuitable(self, smallest: int = SMALLEST) -> str:
        """:returns: why no operating system is put on it; empty: it may be."""
        if self.left_alone:
            return self.left_alone
        if self.filesystem == "linux_raid_member" or any(
            each.kind.startswith(("raid", "md")) for each in self.all
        ):
            return "it is part of a RAID set that runs"
        if self.size < smallest:
            return f"smaller than {smallest} bytes"
        return ""


def listed(output: bytes, where: Mapping[str, str]) -> tuple[BlockDevice, ...]:
    """
    :param output: of ``lsblk --json --bytes`` with :data:`COLUMNS`.
    :param where: the name of each by-path link, by the name that it leads to.
    :returns: in the order of the kernel.
    :raises Malformed: when it is something else.
    """
    # What drives and file systems call themselves need not be text: lsblk passes it on as it is.
    text = output.decode("utf-8", "replace")
    try:
        document = parsed(text.encode())
    except Rejected as e:
        raise Malformed(f"lsblk: {e}") from None
    rows = document.get("blockdevices") if isinstance(document, dict) else None
    if not isinstance(rows, list) or len(rows) > _MOST:
        raise Malformed("not a list of block devices as lsblk prints it")
    return tuple(BlockDevice.of(row, where) for row in rows if isinstance(row, dict))


def disks(devices: Iterable[BlockDevice]) -> tuple[BlockDevice, ...]:
    """:returns: each disk once, however many paths lead to it (W276)."""
    found: dict[str, BlockDevice] = {}
    for each in sorted(devices, key=_order):
        if each.kind == "disk" and not _NO_DISK.fullmatch(each.name):
            found.setdefault(each.identity, each)
    return tuple(found.values())


def chosen(devices: Sequence[BlockDevice], wanted: RootDisk) -> BlockDevice:
    """
    :param wanted: its first field that says something decides; with none, the smallest one.
    :returns: the disk that the operating system goes to: the same one each time it is asked.
    :raises Rejected: ``not-found``, naming what there is and why it is not that.
    """
    smallest = max(wanted.min_size_bytes, SMALLEST)
    suitable = [each for each in disks(devices) if not each.unsuitable(smallest)]
    hint, matches = _hint(wanted)
    matching = [each for each in devices if each.kind == "disk" and matches(each)]
    found = [each for each in suitable if each.identity in {one.identity for one in matching}]
    if hint and len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise Rejected("not-found", f"{hint} is that of several disks: {names}")
    if found:
        return min(found, key=lambda each: (each.size, _order(each)))
    why = "; ".join(f"{each.name}: {_why(each, smallest)}" for each in (matching or devices)[:20])
    raise Rejected("not-found", f"no disk {f'with {hint}' if hint else 'for it'}: {why or 'none'}")


class _Matches:
    def __init__(self, wanted: RootDisk) -> None:
        self._wanted = wanted

    def __call__(self, each: BlockDevice) -> bool:
        wanted = self._wanted
        if wanted.wwn:
            return _same(normalised_wwn(each.wwn), normalised_wwn(wanted.wwn))
        if wanted.serial:
            return normalised(each.serial) == normalised(wanted.serial)
        if wanted.device:
            name = wanted.device.removeprefix("/dev/").removeprefix("disk/by-path/")
            return name in (each.name, each.where)
        return True


def _hint(wanted: RootDisk) -> tuple[str, _Matches]:
    for name in ("wwn", "serial", "device"):
        value = getattr(wanted, name)
        if value:
            return f"{name} {value}", _Matches(wanted)
    return "", _Matches(wanted)


def _why(each: BlockDevice, smallest: int) -> str:
    return each.unsuitable(smallest) or "not the one that is wanted"


def _order(each: BlockDevice) -> tuple[object, ...]:
    """By the slot, and then by the kernel's name with its numbers as numbers (W280)."""
    parts = re.split(r"(\d+)", each.name)
    numbered = tuple(int(part) if at % 2 else part for at, part in enumerate(parts))
    return not each.where, each.where, numbered


def _same(one: str, other: str) -> bool:
    """One may have the vendor's extension, and the other not (W281)."""
    shorter, longer = sorted((one, other), key=len)
    return shorter == longer or (len(shorter) == 16 and longer.startswith(shorter))


def normalised(text: str) -> str:
    """:returns: a serial number without padding, in one case (W282)."""
    return re.sub(r"[\s_]+", "", text).lower()


def normalised_wwn(text: str) -> str:
    """:returns: one spelling of a world-wide name, whichever prefix it came with (W281)."""
    bare = normalised(text)
    for prefix in ("0x", "eui.", "naa.", "wwn-0x", "nvme."):
        bare = bare.removeprefix(prefix)
    return bare
