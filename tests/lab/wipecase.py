"""One boot of a ramdisk that empties disks, for all tests that look at what became of them."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase

from .assets import CHECKOUT
from .guests import MIB, Drive, Guest, Seen, btrfs, filled

VIRTIO = "virtio-blk-pci,serial={}"
LARGE = f"{VIRTIO},logical_block_size=4096,physical_block_size=4096"
SCSI = "scsi-hd,bus=scsi0.0,serial={},wwn=0x5000c50012345678"
BUSES = (
    "virtio-scsi-pci,id=scsi0",
    *("nvme,id=nvme1,serial=n1", "nvme,id=nvme2,serial=m1"),
    *("nvme-subsys,id=subsystem", "nvme,id=nvme3,serial=m2,subsys=subsystem"),
)
#: Of each case that a guest knows.
DRIVES: Mapping[str, Sequence[Drive]] = {
    "quick": [Drive(each, 96 * MIB, VIRTIO) for each in ("q1", "q2")],
    "secure": [Drive(each, 96 * MIB, VIRTIO) for each in ("s1", "s2")],
    "bystanders": [Drive(each, 40 * MIB, VIRTIO) for each in ("b1", "b2", "b3")],
    "large_sectors": [Drive("k1", 64 * MIB, LARGE)],
    "btrfs": [Drive("x1", 256 * MIB, VIRTIO)],
    "sets": [Drive(f"r{each}", 64 * MIB, VIRTIO) for each in range(1, 7)],
    "namespaces": [
        Drive("n1", 32 * MIB, "nvme-ns,bus=nvme1,nsid=1"),
        Drive("n1b", 32 * MIB, "nvme-ns,bus=nvme1,nsid=2"),
    ],
    "controllers": [
        Drive("m1", 32 * MIB, "nvme-ns,bus=nvme2,nsid=1"),
        Drive("m1b", 32 * MIB, "nvme-ns,bus=nvme2,nsid=2"),
        Drive("m2", 32 * MIB, "nvme-ns,bus=nvme3,nsid=1"),
        Drive("m2b", 32 * MIB, "nvme-ns,bus=nvme3,nsid=2,detached=on"),
    ],
    "ata": [Drive("a1", 32 * MIB, "ide-hd,bus=ide.0,serial={}")],
    "twins": [
        Drive("t1", 32 * MIB, SCSI, ",file.locking=off"),
        Drive("t1", 32 * MIB, SCSI, ",file.locking=off", "b"),
    ],
    "held": [Drive(each, 32 * MIB, VIRTIO) for each in ("h1", "h2", "h3")],
    "taken_back": [Drive(each, 32 * MIB, VIRTIO) for each in ("c1", "c2")],
    "everything": [Drive("e1", 32 * MIB, VIRTIO), Drive("o1", 32 * MIB, VIRTIO, ",readonly=on")],
}


class WipeCase(SynchronousTestCase):
    """
    The machine is powered on once for all tests of a class: each asks for what it is about.

    :ivar cases: that the machine goes through. :ivar seconds: until it has powered itself off.
    :ivar tools: programs that it needs.
    """

    tools: ClassVar[tuple[str, ...]] = ("qemu-system-x86_64", "cpio", "mmdebstrap", "zstd")
    cases: ClassVar[tuple[str, ...]]
    seconds: ClassVar[float]
    _seen: ClassVar[dict[str, dict[str, Seen] | Exception]] = {}

    def setUp(self) -> None:
        missing = [each for each in self.tools if shutil.which(each) is None]
        if missing:
            self.fail(f"not installed: {', '.join(missing)}; lab.md says which packages")
        work = Path(os.environ.get("LAB_WORK") or CHECKOUT / "lab-work")
        self.directory = work / "run" / type(self).__name__
        self.maxDiff = None

    def seen(self, case: str) -> dict[str, Any]:
        """:returns: what the machine has seen in a case, which did not go wrong before its end."""
        name = type(self).__name__
        if name not in self._seen:
            try:
                self._seen[name] = self._booted()
            except Exception as e:
                self._seen[name] = e  # once is enough
        every = self._seen[name]
        if isinstance(every, Exception):
            raise every
        seen = dict(every.get(case) or {"trouble": f"the machine never got to it: {every}"})
        if "trouble" in seen:
            serial = (self.directory / "serial.log").read_text("utf-8", "replace")
            self.fail(f"{seen['trouble']}\n{serial[-3000:]}")
        return seen

    def _booted(self) -> dict[str, Seen]:
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        drives = [each for case in self.cases for each in DRIVES[case]]
        for each in drives:
            make = btrfs if each.name == "x1" else filled
            make(each.path(self.directory), each.size)
        return Guest(self.directory, drives, BUSES).cases(self.cases, self.seconds)

    def drive(self, name: str) -> Path:
        """:returns: the file that it is, as the machine has left it."""
        return self.directory / f"{name}.img"

    def assert_verified(self, wipe: Mapping[str, Any], *methods: str) -> None:
        """That all is well, and by which method each disk was emptied."""
        self.assertEqual((wipe["code"], wipe["detail"]), ("", ""), wipe)
        made = [(each["method"], each["verified"]) for each in wipe["disks"]]
        self.assertEqual(made, [(each, True) for each in methods], wipe)

    def tries(self, wipe: Mapping[str, Any], number: int = 0) -> dict[str, str]:
        """:returns: the outcome of each method that was tried on one disk."""
        return {each["method"]: each["outcome"] for each in wipe["disks"][number]["tries"]}
