"""
What the lab boots: fetched or made once, kept under a name that is a digest of its recipe.

``LAB_CACHE`` says where; by default ``lab-work/cache`` in the checkout.
``python -m tests.lab.assets [all]`` makes everything beforehand.
"""

import fcntl
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SUITE = "trixie"
ARCHITECTURES = ("amd64", "arm64")
INSTALLER = "debian-installer-12-netboot-amd64"
INSTALLER_SUITE = "bookworm"
OLDER_SUITE = "bookworm"
FETCH_SECONDS = 300
BUILD_SECONDS = 1200
#: What is laid over a built ramdisk as it is now, or is no part of it.
_NOT_BUILT = ("init", "boot.py")
MARKER = "RESCRIPTUM-LAB-KERNEL-UP"

_INIT = f"""#!/bin/sh
mount -t proc proc /proc
echo "{MARKER} $(cat /proc/cmdline)"
poweroff -f
"""
_LINKS = ("sh", "mount", "cat", "echo", "poweroff")


def cache() -> Path:
    return Path(os.environ.get("LAB_CACHE") or CHECKOUT / "lab-work" / "cache")


def _made(name: str, recipe: Iterable[bytes | str], make: Callable[[Path], None]) -> Path:
    """:returns: the directory that ``make`` filled, now or in an earlier run of this recipe."""
    digest = hashlib.sha256()
    for part in recipe:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    path = cache() / f"{name}-{digest.hexdigest()[:16]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two test processes may want it at once: one makes it, the other waits.
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            making = path.with_suffix(".making")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            make(making)
            making.rename(path)
    return path


def _call(*argv: str | Path, seconds: float = FETCH_SECONDS, **environment: str) -> str:
    done = subprocess.run(
        [str(each) for each in argv],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stdout}{done.stderr}")
    return done.stdout


def loaders(*options: str) -> Path:
    """The boot directory, as ``ipxe/build.sh OPTIONS`` makes it."""
    sources = [CHECKOUT / "ipxe" / name for name in ("build.sh", "unpack.sh", "embedded.ipxe")]
    sources.append(CHECKOUT / "rescriptum" / "boot" / "loaders.toml")

    def make(path: Path) -> None:
        _call(CHECKOUT / "ipxe" / "build.sh", "--out", path, *options)

    return _made("loaders", [*options, *(each.read_bytes() for each in sources)], make)


def _archive(files: Iterable[tuple[str, int, bytes]]) -> bytes:
    """:returns: a *newc* cpio archive, as a kernel takes it for an initramfs."""
    parts = []
    for number, (name, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        header = b"070701" + b"".join(b"%08x" % each for each in fields) + name.encode() + b"\0"
        parts += [header, bytes(-len(header) % 4), data, bytes(-len(data) % 4)]
    return b"".join(parts)


def _initrd(busybox: bytes) -> bytes:
    directories = [(name, 0o040755, b"") for name in ("bin", "proc", "dev")]
    links = [(f"bin/{name}", 0o120777, b"busybox") for name in _LINKS]
    return gzip.compress(
        _archive(
            [
                *directories,
                ("bin/busybox", 0o100755, busybox),
                *links,
                ("init", 0o100755, _INIT.encode()),
            ]
        ),
        mtime=0,
    )


def tree(architecture: str = "amd64") -> Path:
    """A kernel and an initrd that says :data:`MARKER` and its command line, and powers off."""
    unpack = CHECKOUT / "ipxe" / "unpack.sh"
    kernel = f"linux-image-cloud-{architecture}"

    def make(path: Path) -> None:
        work = path / "work"
        wanted = (f"{each}:{architecture}" for each in ("busybox-static", kernel))
        _call(unpack, work, SUITE, *wanted)
        # The metapackage was unpacked; it names the package that has the kernel.
        [meta] = (work / "apt" / "debs").glob(f"{kernel}_*.deb")
        depends = _call("dpkg-deb", "-f", meta, "Depends")
        [image] = re.findall(rf"linux-image-\d[\w.+-]*-cloud-{architecture}", depends)
        download = work / "kernel"
        download.mkdir()
        subprocess.run(
            ["apt-get", "-qq", "download", f"{image}:{architecture}"],
            cwd=download,
            env={**os.environ, "APT_CONFIG": str(work / "apt" / "apt.conf")},
            timeout=FETCH_SECONDS,
            check=True,
        )
        [package] = download.glob("*.deb")
        _call("dpkg-deb", "-x", package, download / "root")
        [found] = (download / "root" / "boot").glob("vmlinuz-*")
        shutil.copy(found, path / "vmlinuz")
        [busybox] = [
            each
            for each in (work / "root").rglob("busybox")
            if each.is_file() and not each.is_symlink() and each.stat().st_size > 100_000
        ]
        (path / "initrd.img").write_bytes(_initrd(busybox.read_bytes()))
        shutil.rmtree(work)

    return _made("tree", (architecture, unpack.read_bytes(), Path(__file__).read_bytes()), make)


def older_packages() -> Path:
    """Debian 12's own packages of loaders, unpacked: what somebody has who installed those."""

    def make(path: Path) -> None:
        work = path.with_suffix(".work")
        shutil.rmtree(work, ignore_errors=True)
        unpack = CHECKOUT / "ipxe" / "unpack.sh"
        _call(unpack, work, OLDER_SUITE, "ipxe", "pxelinux", "syslinux-common")
        shutil.copytree(work / "root", path, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(work)

    return _made("older", (OLDER_SUITE,), make)


def relay_agent() -> Path:
    """ISC's DHCP relay, out of its package: installed it would start by itself."""

    def make(path: Path) -> None:
        work = path / "work"
        _call(CHECKOUT / "ipxe" / "unpack.sh", work, OLDER_SUITE, "isc-dhcp-relay")
        shutil.copy(work / "root" / "usr" / "sbin" / "dhcrelay", path)
        shutil.rmtree(work)

    return _made("relay", (OLDER_SUITE,), make) / "dhcrelay"


def installer() -> Path:
    """Debian's own network installer, as ``netboot.tar.gz`` unpacks."""

    def make(path: Path) -> None:
        work = path / "work"
        _call(CHECKOUT / "ipxe" / "unpack.sh", work, INSTALLER_SUITE, INSTALLER)
        [text] = (work / "root").rglob("text/debian-installer")
        for name in ("linux", "initrd.gz"):
            [file] = text.rglob(name)
            target = path / "debian-installer" / file.relative_to(text)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        for each in text.parent.glob("version.info"):
            shutil.copy(each, path)
        shutil.rmtree(work)

    return _made("installer", (INSTALLER, INSTALLER_SUITE, "text"), make)


def ramdisk() -> Path:
    """
    The ramdisk as ``ramdisk/build.sh`` makes it, kept for as long as its recipe is the same, and
    this package as it is now laid over it: a kernel takes one archive after the other.
    """
    recipes = [
        path
        for path in sorted((CHECKOUT / "ramdisk").iterdir())
        if path.is_file() and path.name not in _NOT_BUILT
    ]
    requirements = (CHECKOUT / "setup.cfg").read_text().partition("install_requires")[2]

    def make(path: Path) -> None:
        # Packed quickly: it is made for one run as often as not.
        build = CHECKOUT / "ramdisk" / "build.sh"
        options = ("--python", sys.executable, "--level", "3")
        _call(build, "--out", path, *options, seconds=BUILD_SECONDS)

    recipe: list[bytes | str] = [*(each.read_bytes() for each in recipes), requirements]
    return _made("ramdisk", recipe, make)


def ramdisk_of_today(directory: Path) -> Path:
    """:param directory: gets a kernel and an initrd. :returns: it."""
    built = ramdisk()
    top = "usr/lib/python3/dist-packages"
    files = []
    for below in ("rescriptum", "twisted/plugins"):
        for path in sorted((CHECKOUT / below).rglob("*")):
            name = f"{top}/{path.relative_to(CHECKOUT)}"
            if path.is_dir() and path.name != "__pycache__":
                files.append((name, 0o040755, b""))
            elif path.suffix in (".py", ".toml"):
                files.append((name, 0o100644, path.read_bytes()))
    shutil.copy(built / "vmlinuz", directory / "vmlinuz")
    with (directory / "initrd.img").open("wb") as file:
        file.write((built / "initrd.img").read_bytes())
        file.write(bytes(-file.tell() % 4))
        init = ("init", 0o100755, (CHECKOUT / "ramdisk" / "init").read_bytes())
        file.write(_archive([(f"{top}/rescriptum", 0o040755, b""), *files, init]))
    return directory


if __name__ == "__main__":
    trees = [partial(tree, each) for each in ARCHITECTURES]
    rest = [older_packages, relay_agent, installer] if "all" in sys.argv[1:] else []
    wanted: list[Callable[[], Path]] = [loaders, *trees, ramdisk, *rest]
    for each in wanted:
        sys.stdout.write(f"{each()}\n")
