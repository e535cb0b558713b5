"""A machine that boots the ramdisk straight away, with programs of a test in place of its agent."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen

from . import assets
from .network import run

MIB = 1 << 20
MEMORY, PROCESSORS = 2048, 2
#: What a case of the guest has seen.
Seen: TypeAlias = Mapping[str, Any]
_GUEST = Path(__file__).resolve().parent / "guest"


@frozen
class Drive:
    """
    :ivar name: its serial number, and of the file that it is.
    :ivar device: as QEMU calls it, with its options. :ivar options: of the file.
    :ivar way: of several to one disk.
    """

    name: str
    size: int
    device: str = "virtio-blk-pci,serial={}"
    options: str = ""
    way: str = ""

    def arguments(self, directory: Path) -> list[str]:
        name = f"{self.name}{self.way}"
        file = f"if=none,id={name},format=raw,cache=unsafe,file={self.path(directory)}"
        device = f"{self.device.format(self.name)},drive={name}"
        return ["-drive", f"{file}{self.options}", "-device", device]

    def path(self, directory: Path) -> Path:
        return directory / f"{self.name}.img"


@frozen
class Guest:
    """
    :ivar directory: has the drives, and gets what is said.
    :ivar buses: devices that drives hang on.
    """

    directory: Path
    drives: Sequence[Drive]
    buses: Sequence[str] = field(default=())

    def cases(self, asked: Sequence[str], seconds: float) -> dict[str, Seen]:
        """
        :param asked: names of cases. :param seconds: until the machine has to have powered off.
        :returns: what each has seen.
        """
        said = self.directory / "said.jsonl"
        with (self.directory / "qemu.log").open("wb") as log:
            subprocess.run(
                self._command(said, asked), stdout=log, stderr=log, timeout=seconds, check=True
            )
        lines = [json.loads(each) for each in said.read_text().splitlines() if each.strip()]
        return {str(each.pop("case")): each for each in lines}

    def _command(self, said: Path, asked: Sequence[str]) -> list[str]:
        kernel, initrd = self._boots()
        argv = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-m", str(MEMORY)]
        argv += ["-smp", str(PROCESSORS), "-accel", "tcg,thread=multi", "-no-reboot"]
        argv += ["-display", "none", "-nodefaults", "-monitor", "none", "-net", "none"]
        argv += ["-serial", f"file:{self.directory / 'serial.log'}", "-serial", f"file:{said}"]
        argv += ["-device", "virtio-rng-pci", "-kernel", str(kernel), "-initrd", str(initrd)]
        line = "console=ttyS0 panic=-1 quiet mitigations=off rdinit=/lab/guest/init"
        argv += ["-append", f"{line} lab.cases={','.join(asked)}"]
        for each in self.buses:
            argv += ["-device", each]
        for drive in self.drives:
            argv += drive.arguments(self.directory)
        return argv

    def _boots(self) -> tuple[Path, Path]:
        """:returns: a kernel, and the ramdisk of today with the guest's programs beside it."""
        made = assets.ramdisk_of_today(self.directory)
        tree = self.directory / "guest"
        shutil.copytree(_GUEST, tree / "lab" / "guest", ignore=shutil.ignore_patterns("__py*"))
        names = "\n".join(str(each.relative_to(tree)) for each in sorted(tree.rglob("*")))
        packed = subprocess.run(
            ["cpio", "--quiet", "--create", "--format=newc", "--owner=0:0"],
            input=f"{names}\n".encode(),
            cwd=tree,
            capture_output=True,
            check=True,
        ).stdout
        with (made / "initrd.img").open("ab") as file:
            file.write(bytes(-os.stat(file.fileno()).st_size % 4) + packed)
        return made / "vmlinuz", made / "initrd.img"


def filled(path: Path, size: int) -> None:
    """What was there: not one sector of it is zeros."""
    with path.open("wb") as file:
        for _ in range(size // MIB):
            file.write(b"was here" * (MIB // 8))


def zeros(path: Path, *places: tuple[int, int]) -> bool:
    """:param places: beginning and end, in bytes; none: all of it."""
    with path.open("rb") as file:
        for start, stop in places or ((0, path.stat().st_size),):
            file.seek(start)
            left = stop - start
            while left:
                piece = file.read(min(MIB, left))
                if not piece or piece.count(0) != len(piece):
                    return False
                left -= len(piece)
    return True


def btrfs(path: Path, size: int) -> None:
    """A table, and a file system of btrfs in its partition."""
    inner = path.with_suffix(".btrfs")
    with inner.open("wb") as file:
        file.truncate(size - 2 * MIB)
    run("mkfs.btrfs", "-q", inner)
    with path.open("wb") as file:
        file.truncate(size)
    run("sgdisk", "--clear", f"--new=1:{MIB // 512}:{(size - MIB) // 512 - 1}", path)
    run("dd", f"if={inner}", f"of={path}", "bs=1M", "seek=1", "conv=notrunc,sparse", "status=none")
    inner.unlink()
