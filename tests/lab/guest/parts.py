"""What a test does to the disks of the machine that it runs on, by the tools of the ramdisk."""

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

MIB = 1 << 20


def ran(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """:returns: whatever it exits with."""
    return subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)


def run(*argv: str, stdin: str = "") -> str:
    """:raises RuntimeError: with the tool's words."""
    done = ran(*argv, stdin=stdin)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def settle() -> None:
    run("udevadm", "settle", "--timeout=60")


def named() -> dict[str, str]:
    """:returns: what the kernel calls disks, by their serial numbers; a second one is ``again``."""
    rows = json.loads(run("lsblk", "--json", "--nodeps", "--output", "NAME,SERIAL"))["blockdevices"]
    found: dict[str, str] = {}
    for each in sorted(rows, key=lambda row: str(row["name"])):
        serial = str(each["serial"]).strip()
        found[f"{serial} again" if serial in found else serial] = each["name"]
    return found


def part(disk: str, number: int) -> str:
    return f"/dev/{disk}p{number}" if disk[-1].isdigit() else f"/dev/{disk}{number}"


def table(disk: str, *sizes: str) -> None:
    """A GUID partition table with partitions of these sizes, at the same places each time."""
    new = [f"--new={number}:0:{size}" for number, size in enumerate(sizes, 1)]
    run("sgdisk", "--clear", *new, f"/dev/{disk}")
    settle()
    # udev has looked meanwhile, or is at it: then the kernel knows already.
    ran("blockdev", "--rereadpt", f"/dev/{disk}")
    settle()


def digest(path: str) -> str:
    """:returns: of what is on the disk itself, whatever is cached."""
    run("sync")
    Path("/proc/sys/vm/drop_caches").write_text("3")
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def found(*paths: str) -> dict[str, str]:
    """:returns: what is recognised on those devices, where something is."""
    argv = ("blkid", "--probe", "--output", "value", "--match-tag", "TYPE", "--match-tag", "PTTYPE")
    told = {each: ran(*argv, each).stdout.split() for each in paths}
    return {path: " ".join(said) for path, said in told.items() if said}


def standing(disks: Sequence[str]) -> list[str]:
    """:returns: names of everything that stands on the disks, and what of it is in use."""
    paths = [f"/dev/{each}" for each in disks]
    tree = json.loads(run("lsblk", "--json", "--output", "NAME,TYPE,MOUNTPOINTS", *paths))
    names: dict[str, None] = {}

    def walk(rows: Sequence[dict[str, object]]) -> None:
        for row in rows:
            mounts = [each for each in row["mountpoints"] or () if each]  # type: ignore[attr-defined]
            if row["type"] not in ("disk", "part") or mounts:
                names[f"{row['name']} {' '.join(mounts)}".strip()] = None
            walk(row.get("children", ()))  # type: ignore[arg-type]

    walk(tree["blockdevices"])
    return list(names)


def partitions(disks: Sequence[str]) -> list[str]:
    return [each.name for name in disks for each in Path(f"/sys/block/{name}").glob(f"{name}*")]


def come_back(disks: Sequence[str]) -> list[str]:
    """Ask everything that puts devices together. :returns: as :func:`standing` does."""
    for each in disks:
        ran("blockdev", "--rereadpt", f"/dev/{each}")
    run("udevadm", "trigger", "--type=devices", "--subsystem-match=block", "--action=add")
    settle()
    ran("mdadm", "--assemble", "--scan", "--run")
    ran("vgscan")
    ran("vgchange", "--activate", "y")
    settle()
    return standing(disks)


def raid(name: str, level: str, metadata: str, *members: str) -> str:
    """:returns: its path. Nothing is synchronised: what is there is what it has."""
    path = f"/dev/md/{name}"
    run(
        *("mdadm", "--create", path, "--run", "--force", f"--level={level}"),
        *(f"--metadata={metadata}", f"--raid-devices={len(members)}"),
        *(["--assume-clean"] if level == "1" else []),
        *members,
        stdin="y\n",
    )
    settle()
    return os.path.realpath(path)


def group(name: str, *members: str) -> None:
    run("pvcreate", "--yes", "-ff", *members)
    run("vgcreate", "--yes", name, *members)


def volume(vg: str, name: str, size: str, *more: str) -> str:
    """Nothing in its place is emptied. :returns: its path."""
    keep = ("--wipesignatures", "n", "--zero", "n", "--yes")
    run("lvcreate", "--name", name, "--size", size, *keep, *more, vg)
    settle()
    return f"/dev/{vg}/{name}"


def encrypted(path: str, name: str) -> str:
    """:returns: the path of what is inside."""
    run(
        *("cryptsetup", "luksFormat", "--batch-mode", "--pbkdf=pbkdf2"),
        *("--pbkdf-force-iterations=1000", "--luks2-keyslots-size=512k"),
        *("--luks2-metadata-size=16k", "--key-file=-", path),
        stdin="secret",
    )
    run("cryptsetup", "open", "--key-file=-", path, name, stdin="secret")
    settle()
    return f"/dev/mapper/{name}"


def filesystem(path: str, where: str) -> None:
    """ext4, mounted, with a file."""
    run("mke2fs", "-q", "-F", "-t", "ext4", path)
    Path(where).mkdir(parents=True, exist_ok=True)
    run("mount", path, where)
    Path(where, "file").write_text("was here\n" * 1000)


def swap(path: str) -> None:
    run("mkswap", path)
    run("swapon", path)
