"""
What stands on a machine's disks in each case, and what is to be seen once they are emptied. All of
a case's names are of :data:`tests.lab.wipecase.DRIVES`.
"""

import os
import subprocess
from pathlib import Path

from rescriptum.contract.ramdisk import WipeMode
from rescriptum.contract.structure import JSON

from .command import Wiper
from .parts import (
    come_back,
    digest,
    encrypted,
    filesystem,
    found,
    group,
    named,
    part,
    partitions,
    raid,
    run,
    settle,
    standing,
    swap,
    table,
    volume,
)

FAKES = Path("/run/fakes")
#: Says of every controller that a format reaches all of its namespaces (W262); else the real one.
NVME = r"""#!/bin/sh
[ "$1" = id-ctrl ] || exec /usr/sbin/nvme "$@"
/usr/sbin/nvme "$@" | sed 's/"fna" *: *[0-9]*/"fna":1/'
"""
SIZES = ("+64M", "+8M", "+16M")


class Cases:
    """Each is a method that returns what is to be seen afterwards."""

    def __init__(self, wiper: Wiper) -> None:
        self._wiped = wiper.wiped
        #: By their serial numbers.
        self.disk = named()

    def _stack(self, name: str, one: str, two: str) -> None:
        """RAID 1 with LVM in it, which has LUKS in it; all of it mounted, one within the other."""
        for each in (one, two):
            table(each, *SIZES)
        whole = raid(f"{name}a", "1", "1.2", part(one, 1), part(two, 1))
        group(f"vg-{name}", whole)
        root = volume(f"vg-{name}", "root", "12M")
        filesystem(root, f"/mnt/{name}")
        inner = encrypted(volume(f"vg-{name}", "secret", "24M"), f"{name}-crypt")
        filesystem(inner, f"/mnt/{name}/inner")
        run("mount", "--bind", f"/mnt/{name}/inner", f"/mnt/{name}-again")
        swap(volume(f"vg-{name}", "swap", "8M"))
        swap(part(one, 2))
        swap(part(two, 2))
        filesystem(raid(f"{name}b", "1", "1.0", part(one, 3), part(two, 3)), f"/mnt/{name}/b")

    async def _emptied(self, name: str, mode: WipeMode, one: str, two: str) -> JSON:
        Path(f"/mnt/{name}-again").mkdir(parents=True)
        self._stack(name, one, two)
        return {
            "before": standing([one, two]),
            "wipe": await self._wiped(mode, one, two),
            "left": standing([one, two]),
            "partitions": partitions([one, two]),
            "back": come_back([one, two]),
            "found": found(f"/dev/{one}", f"/dev/{two}"),
        }

    async def secure(self) -> JSON:
        return await self._emptied("s", WipeMode.SECURE, self.disk["s1"], self.disk["s2"])

    async def quick(self) -> JSON:
        """D60: also what is there when the same tables, sets and volumes are made again."""
        one, two = self.disk["q1"], self.disk["q2"]
        seen = await self._emptied("q", WipeMode.QUICK, one, two)
        for each in (one, two):
            table(each, *SIZES)
        parts = [part(each, number) for each in (one, two) for number in (1, 2, 3)]
        seen["tables"] = found(*parts)
        seen["tables_back"] = come_back([one, two])
        first = raid("q2a", "1", "1.2", part(one, 1), part(two, 1))
        second = raid("q2b", "1", "1.0", part(one, 3), part(two, 3))
        seen["sets"] = found(first, second)
        group("vg-q2", first)
        again = (("root", "12M"), ("secret", "24M"), ("swap", "8M"))
        seen["volumes"] = found(*(volume("vg-q2", *each) for each in again))
        return seen

    async def bystanders(self) -> JSON:
        """A group on another disk goes on; of one on both, the other disk keeps its part."""
        mine, shared, other = self.disk["b1"], self.disk["b2"], self.disk["b3"]
        group("vg-other", f"/dev/{other}")
        filesystem(volume("vg-other", "data", "16M"), "/mnt/other")
        group("vg-both", f"/dev/{mine}", f"/dev/{shared}")
        both = volume("vg-both", "data", "64M")
        with Path(both).open("wb") as file:
            file.write(b"shared" * (10 << 20))
        before = digest(f"/dev/{shared}")
        return {
            "before": standing([mine, shared]),
            "wipe": await self._wiped(WipeMode.QUICK, mine),
            "left": standing([mine, shared]),
            "same": digest(f"/dev/{shared}") == before,
            "other": standing([other]),
            "file": len(Path("/mnt/other/file").read_bytes()),
        }

    async def large_sectors(self) -> JSON:
        """W283."""
        disk = self.disk["k1"]
        table(disk, "+20M", "+16M")
        filesystem(part(disk, 1), "/mnt/large")
        swap(part(disk, 2))
        seen: JSON = {"wipe": await self._wiped(WipeMode.QUICK, disk), "left": standing([disk])}
        table(disk, "+20M", "+16M")
        seen["tables"] = found(part(disk, 1), part(disk, 2))
        return seen

    async def btrfs(self) -> JSON:
        """Made by the test, with all its copies."""
        disk = self.disk["x1"]
        return {
            "before": found(part(disk, 1)),
            "wipe": await self._wiped(WipeMode.QUICK, disk),
            "left": standing([disk]),
        }

    async def sets(self) -> JSON:
        """Of other kinds, on whole disks: with firmware's tables, old tables, and by LVM itself."""
        disks = [self.disk[f"r{each}"] for each in range(1, 7)]
        paths = [f"/dev/{each}" for each in disks]
        container = raid("ddf", "container", "ddf", *paths[:2])
        run("mdadm", "--create", "/dev/md/member", "--run", "--level=1", "-n2", container)
        settle()
        run("mke2fs", "-q", "-F", os.path.realpath("/dev/md/member"))
        old = raid("old", "1", "0.90", *paths[2:4])
        filesystem(encrypted(old, "old-crypt"), "/mnt/old")
        group("vg-mirror", *paths[4:6])
        filesystem(volume("vg-mirror", "data", "16M", "--type", "raid1", "-m1"), "/mnt/mirror")
        return {
            "before": standing(disks),
            "wipe": await self._wiped(WipeMode.QUICK, *disks),
            "left": standing(disks),
            "back": come_back(disks),
            "found": found(*paths),
        }

    async def namespaces(self) -> JSON:
        """W262: of two, one is erased: by the drive, if that does not reach the other."""
        one, two = self.disk["n1"], self.disk["n1 again"]
        before = digest(f"/dev/{two}")
        alone = await self._wiped(WipeMode.SECURE, one)
        return {
            "alone": alone,
            "kept": digest(f"/dev/{two}") == before,
            "reaches": await self._reaching(one),
            "still": digest(f"/dev/{two}") == before,
        }

    async def controllers(self) -> JSON:
        """D57, W262: both of two, one that has another which nobody sees, and one that cannot."""
        both, hidden = (self.disk["m1"], self.disk["m1 again"]), self.disk["m2"]
        return {
            "both": await self._reaching(*both),
            "hidden": await self._reaching(hidden),
            "crypto": await self._wiped(WipeMode.CRYPTO, hidden),
        }

    async def _reaching(self, *disks: str) -> JSON:
        """A secure wipe where a format reaches all of a controller's namespaces."""
        FAKES.mkdir(exist_ok=True)
        (FAKES / "nvme").write_text(NVME)
        (FAKES / "nvme").chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{FAKES}:{path}"
        try:
            return await self._wiped(WipeMode.SECURE, *disks)
        finally:
            os.environ["PATH"] = path

    async def ata(self) -> JSON:
        """D61, W270, by a drive that has none of it."""
        return {"wipe": await self._wiped(WipeMode.SECURE, self.disk["a1"])}

    async def twins(self) -> JSON:
        """W276: two ways to one disk, which is in use by the second one."""
        ways = [self.disk["t1"], self.disk["t1 again"]]
        first, second = ways
        table(first, "+16M")
        run("blockdev", "--rereadpt", f"/dev/{second}")
        settle()
        filesystem(part(second, 1), "/mnt/twin")
        return {
            "wipe": await self._wiped(WipeMode.SECURE, *ways),
            "left": standing(ways),
            "partitions": partitions(ways),
        }

    async def held(self) -> JSON:
        """By a process, and by a mount that nobody sees; the third one is free."""
        volumes, mounted, free = (self.disk[f"h{each}"] for each in (1, 2, 3))
        group("vg-held", f"/dev/{volumes}")
        path = volume("vg-held", "data", "16M")
        table(mounted, "+16M")
        run("mke2fs", "-q", "-F", part(mounted, 1))
        Path("/mnt/hidden").mkdir()
        script = f"mount {part(mounted, 1)} /mnt/hidden && echo up && exec sleep infinity"
        argv = ["unshare", "--mount", "sh", "-c", script]
        with Path(path).open("rb"), subprocess.Popen(argv, stdout=subprocess.PIPE) as hiding:
            assert hiding.stdout is not None
            hiding.stdout.readline()
            try:
                seen: JSON = {"wipe": await self._wiped(WipeMode.SECURE, volumes, mounted, free)}
            finally:
                hiding.kill()
        seen["again"] = await self._wiped(WipeMode.SECURE, volumes, mounted)
        return seen

    async def taken_back(self) -> JSON:
        """Of two disks, in the middle of the first."""
        one, two = self.disk["c1"], self.disk["c2"]
        before = digest(f"/dev/{two}")
        seen: JSON = {"wipe": await self._wiped(WipeMode.SECURE, one, two, stop=True)}
        seen["touched"] = digest(f"/dev/{two}") != before
        seen["again"] = await self._wiped(WipeMode.SECURE, one, two)
        return seen

    async def everything(self) -> JSON:
        """W284, and the last case: it does not ask which. One is read-only, one is only said to."""
        run("blockdev", "--setro", f"/dev/{self.disk['e1']}")
        return {"wipe": await self._wiped(WipeMode.QUICK)}
