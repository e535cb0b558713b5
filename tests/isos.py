"""
Installer images for tests: the layouts of real ones, with kernels that are only headers.

Made by xorriso and pycdlib, so that our reader is not tested by our own idea of the format; what
no tool will write, since it is wrong, is laid out by hand here.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pycdlib
from attrs import frozen

SECTOR = 2048


def _pattern(size: int) -> bytes:
    return bytes(each * 7 % 251 for each in range(size))


def x86_kernel() -> bytes:
    """4096 bytes that begin like a bzImage with an EFI stub."""
    data = bytearray(_pattern(4096))
    data[0:2] = b"MZ"
    data[0x1FE:0x208] = b"\x55\xaa\0\0HdrS\x0f\x02"
    return bytes(data)


def arm64_kernel() -> bytes:
    """4096 bytes that begin like an uncompressed arm64 Image."""
    data = bytearray(_pattern(4096))
    data[0:2], data[56:60] = b"MZ", b"ARM\x64"
    return bytes(data)


def zboot_kernel(machine: int = 0xAA64) -> bytes:
    """4096 bytes that begin like an EFI zboot kernel."""
    data = bytearray(4096)
    data[0:8], data[60:64] = b"MZ\0\0zimg", (0x80).to_bytes(4, "little")
    data[0x80:0x86] = b"PE\0\0" + machine.to_bytes(2, "little")
    return bytes(data)


def initrd(magic: bytes = b"\x1f\x8b\x08\0") -> bytes:
    """64 KiB and a few bytes, no multiple of a sector."""
    return magic + _pattern(65536)


ZSTD = b"\x28\xb5\x2f\xfd"
XZ = b"\xfd7zXZ\0"


@frozen
class Layout:
    """
    An image to be made.

    :ivar files: by path; a string is the target of a symbolic link.
    """

    label: str
    files: Mapping[str, bytes | str]

    def minus(self, *paths: str) -> "Layout":
        """The same without some files, or directories."""
        left = {
            path: data
            for path, data in self.files.items()
            if not any(path == gone or path.startswith(f"{gone}/") for gone in paths)
        }
        return Layout(self.label, left)

    def plus(self, **files: bytes | str) -> "Layout":
        return self.also(files)

    def also(self, files: Mapping[str, bytes | str]) -> "Layout":
        """The same with further files."""
        return Layout(self.label, {**self.files, **files})


def plant(directory: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write ``files`` below ``directory``."""
    for path, data in files.items():
        at = directory / path
        at.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            at.symlink_to(data)
        else:
            at.write_bytes(data)
    return directory


def build(path: Path, layout: Layout, *flags: str) -> Path:
    """
    Make an image by xorriso: Rock Ridge and Joliet, unless ``flags`` say otherwise.

    :param path: of the image; a directory beside it holds the files while it is made.
    """
    source = path.with_suffix(".d")
    plant(source, layout.files)
    source.mkdir(exist_ok=True)
    options: Sequence[str] = flags or ("-R", "-J", "-joliet-long")
    subprocess.run(
        ["xorriso", "-as", "mkisofs", "-quiet", *options, "-V", layout.label, "-o", path, source],
        check=True,
        capture_output=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    subprocess.run(["rm", "-r", source], check=True)
    return path


def built_by_pycdlib(files: Mapping[str, bytes], **options: Any) -> bytes:
    """:returns: an image by pycdlib; ``files`` by upper-case ISO 9660 path, ``/DIR/NAME.;1``."""
    iso = pycdlib.PyCdlib()
    iso.new(vol_ident="PYCDLIB", **options)
    directories = {
        "/".join(parts[:depth])
        for parts in (path.split("/")[:-1] for path in files)
        for depth in range(2, len(parts) + 1)
    }
    rock = "rock_ridge" in options
    for each in sorted(directories):
        rr_name = each.rpartition("/")[2].lower() if rock else None
        iso.add_directory(each, rr_name=rr_name)
    for path, data in files.items():
        name = path.rpartition("/")[2].partition(";")[0].rstrip(".").lower()
        iso.add_fp(BytesIO(data), len(data), path, rr_name=name if rock else None)
    out = BytesIO()
    iso.write_fp(out)
    iso.close()
    return out.getvalue()


def both(number: int) -> bytes:
    """A number the way ECMA-119 7.3.3 writes it."""
    return number.to_bytes(4, "little") + number.to_bytes(4, "big")


def record(
    name: bytes, sector: int, length: int, flags: int = 0, system_use: bytes = b"", gap: int = 0
) -> bytes:
    """A directory record (ECMA-119 9.1)."""
    pad = b"" if len(name) % 2 else b"\0"
    body = (
        b"\0"
        + both(sector)
        + both(length)
        + bytes(7)
        + bytes((flags, gap, gap))
        + b"\x01\0\0\x01"
        + bytes((len(name),))
        + name
        + pad
        + system_use
    )
    return bytes((len(body) + 1,)) + body


SP = b"SP\x07\x01\xbe\xef\0"


def nm(name: bytes, flags: int = 0) -> bytes:
    """Rock Ridge's name field."""
    return b"NM" + bytes((5 + len(name), 1, flags)) + name


def ce(sector: int, offset: int, length: int) -> bytes:
    """A continuation of the system use area."""
    return b"CE\x1c\x01" + both(sector) + both(offset) + both(length)


def sl(*components: tuple[int, bytes]) -> bytes:
    """Rock Ridge's symbolic link; components are flags and text."""
    body = b"".join(bytes((flags, len(text))) + text for flags, text in components)
    return b"SL" + bytes((5 + len(body), 1, 0)) + body


def by_hand(
    *root: bytes, sectors: Mapping[int, bytes] | None = None, rock: bool = True, root_at: int = 20
) -> bytes:
    """
    An image whose root directory holds these records beside its own.

    :param sectors: further content, by sector; the root is sector 20, one long.
    """
    own = record(b"\0", root_at, SECTOR, 2, SP if rock else b"")
    parent = record(b"\1", root_at, SECTOR, 2)
    directory = (own + parent + b"".join(root)).ljust(SECTOR, b"\0")
    highest = max([root_at, *(sectors or {})])
    end = (highest + 1) * SECTOR + max((len(each) for each in (sectors or {}).values()), default=0)
    image = bytearray(-(-end // SECTOR) * SECTOR)
    primary = bytearray(SECTOR)
    primary[0:7] = b"\x01CD001\x01"
    primary[40:72] = b"BY HAND".ljust(32)
    primary[80:88] = both(len(image) // SECTOR)
    primary[128:132] = (SECTOR).to_bytes(2, "little") + (SECTOR).to_bytes(2, "big")
    primary[156:190] = record(b"\0", root_at, SECTOR, 2)
    image[16 * SECTOR : 17 * SECTOR] = primary
    image[17 * SECTOR : 17 * SECTOR + 7] = b"\xffCD001\x01"
    image[20 * SECTOR : 20 * SECTOR + SECTOR] = directory
    for sector, data in (sectors or {}).items():
        image[sector * SECTOR : sector * SECTOR + len(data)] = data
    return bytes(image)


_X86 = x86_kernel()
_TREEINFO = (
    b"[general]\nfamily = Rocky Linux\nname = Rocky Linux 9.4\nversion = 9.4\narch = x86_64\n"
    b"[images-x86_64]\nkernel = images/pxeboot/vmlinuz\ninitrd = images/pxeboot/initrd.img\n"
    b"[stage2]\nmainimage = images/install.img\n"
)
_PROXMOX = (
    b"RELEASE='9.2'\nISORELEASE='1'\nISONAME='proxmox-ve'\nPRODUCT='pve'\n"
    b"PRODUCTLONG='Proxmox VE'\n"
)

DEBIAN_NETINST = Layout(
    "Debian 12.11.0 amd64 n",
    {
        ".disk/info": b'Debian GNU/Linux 12.11.0 "Bookworm" - Official amd64 NETINST 20250517\n',
        ".disk/cd_type": b"full_cd\n",
        "install.amd/vmlinuz": _X86,
        "install.amd/initrd.gz": initrd(),
        "install.amd/gtk/vmlinuz": _X86,
        "install.amd/gtk/initrd.gz": initrd(),
        "dists/bookworm/Release": b"Suite: stable\n",
        "dists/stable": "bookworm",
        "isolinux/isolinux.cfg": b"default vesamenu.c32\n",
        "EFI/boot/bootx64.efi": _X86,
        "pool/main/b/base-files/base-files_12.4+deb12u11_amd64.deb": b"!<arch>\n",
    },
)
DEBIAN_ARM64 = Layout(
    "Debian 12.11.0 arm64 n",
    {
        ".disk/info": b'Debian GNU/Linux 12.11.0 "Bookworm" - Official arm64 NETINST 20250517\n',
        "install.a64/vmlinuz": arm64_kernel(),
        "install.a64/initrd.gz": initrd(),
    },
)
KALI = DEBIAN_NETINST.also({".disk/info": b'Kali GNU/Linux 2025.2 "Kali-last" - Official amd64\n'})
DEBIAN_NETBOOT: Mapping[str, bytes | str] = {
    "debian-installer/amd64/linux": _X86,
    "debian-installer/amd64/initrd.gz": initrd(),
    "debian-installer/amd64/bootnetx64.efi": b"MZ" + bytes(1000),
    "debian-installer/amd64/pxelinux.0": bytes(42430),
    "pxelinux.0": "debian-installer/amd64/pxelinux.0",
    "version.info": b"Debian version: 12 (bookworm)\nInstaller build: 20230607+deb12u15\n",
}
UBUNTU_SERVER = Layout(
    "Ubuntu-Server 24.04.3 LTS amd64",
    {
        ".disk/info": b'Ubuntu-Server 24.04.3 LTS "Noble Numbat" - Release amd64 (20250805.1)\n',
        ".disk/casper-uuid-generic": b"0123\n",
        "casper/vmlinuz": _X86,
        "casper/initrd": b"070701" + initrd(ZSTD),
        "casper/install-sources.yaml": b"- default: true\n",
        "casper/ubuntu-server-minimal.squashfs": b"hsqs" + bytes(3000),
        "boot/memtest86+x64.bin": _X86,
    },
)
UBUNTU_2004 = Layout(
    "Ubuntu-Server 20.04.6 LTS amd64",
    {
        ".disk/info": b'Ubuntu-Server 20.04.6 LTS "Focal Fossa" - Release amd64 (20230314)\n',
        "casper/vmlinuz": _X86,
        "casper/initrd": initrd(),
        "casper/hwe-vmlinuz": _X86,
        "casper/hwe-initrd": initrd(),
        "casper/filesystem.squashfs": b"hsqs",
        "casper/installer.squashfs": b"hsqs",
    },
)
UBUNTU_DESKTOP = Layout(
    "Ubuntu 24.04.4 LTS amd64",
    {
        ".disk/info": b'Ubuntu 24.04.4 LTS "Noble Numbat" - Release amd64 (20260210)\n',
        ".disk/release_notes_url": b"https://example.net/\n",
        "casper/vmlinuz": _X86,
        "casper/initrd": initrd(ZSTD),
        "casper/minimal.squashfs": b"hsqs",
        "casper/minimal.standard.live.squashfs": b"hsqs",
    },
)
ROCKY_DVD = Layout(
    "Rocky-9-4-x86_64-dvd",
    {
        ".treeinfo": _TREEINFO,
        ".discinfo": b"1714000000.000000\nRocky Linux 9.4\nx86_64\n",
        "media.repo": b"[InstallMedia]\n",
        "images/install.img": b"hsqs" + bytes(5000),
        "images/pxeboot/vmlinuz": _X86,
        "images/pxeboot/initrd.img": initrd(XZ),
        "BaseOS/repodata/repomd.xml": b"<repomd/>\n",
        "AppStream/repodata/repomd.xml": b"<repomd/>\n",
        "BaseOS/Packages/l/libstdc++-11.4.1-3.el9.x86_64.rpm": b"\xed\xab\xee\xdb",
        "EFI/BOOT/BOOTX64.EFI": b"MZ",
    },
)
ALMA_BOOT = ROCKY_DVD.minus("BaseOS", "AppStream", "media.repo")
FEDORA_SERVER = Layout(
    "Fedora-S-dvd-x86_64-44",
    {
        ".treeinfo": _TREEINFO.replace(b"Rocky Linux 9.4", b"Fedora 44").replace(b"9.4", b"44"),
        "images/install.img": b"hsqs",
        "images/pxeboot/vmlinuz": _X86,
        "images/pxeboot/initrd.img": initrd(XZ),
        "repodata/repomd.xml": b"<repomd/>\n",
        "Packages/a/a.rpm": b"",
    },
)
PROXMOX = Layout(
    "PVE",
    {
        ".disk/info": _PROXMOX,
        ".cd-info": _PROXMOX,
        "boot/linux26": _X86,
        "boot/initrd.img": initrd(ZSTD),
        "boot/grub/grub.cfg": b"set timeout=5\n",
        "pve-base.squashfs": b"hsqs",
        "proxmox/packages/a.deb": b"!<arch>\n",
    },
)

#: Images of families that have no row yet, and others that nobody can boot: all ``unknown``.
UNKNOWN = {
    "fedora-live-38": Layout(
        "Fedora-WS-Live-38-1-6",
        {
            "LiveOS/squashfs.img": b"hsqs",
            "images/pxeboot/vmlinuz": _X86,
            "images/pxeboot/initrd.img": initrd(XZ),
            "boot/grub2/grub.cfg": b"",
        },
    ),
    "fedora-live-44": Layout(
        "Fedora-WS-Live-44",
        {
            "LiveOS/squashfs.img": b"",
            "boot/x86_64/loader/linux": _X86,
            "boot/x86_64/loader/initrd": initrd(XZ),
            "boot/mbrid": b"0x503d6c7e\n",
        },
    ),
    "fcos": Layout(
        "fedora-coreos-42.20250901.3.0",
        {
            "images/pxeboot/vmlinuz": _X86,
            "images/pxeboot/initrd.img": initrd(),
            "images/pxeboot/rootfs.img": b"070701",
            "images/ignition.img": bytes(262144),
            "coreos/igninfo.json": b"{}",
        },
    ),
    "leap-15": Layout(
        "openSUSE-Leap-15.6-DVD-x86_64",
        {
            ".treeinfo": b"[general]\nfamily = openSUSE Leap\nversion = 15.6\narch = x86_64\n",
            "media.1/products": b"/ openSUSE-Leap 15.6\n",
            "boot/x86_64/loader/linux": _X86,
            "boot/x86_64/loader/initrd": initrd(XZ),
            "boot/x86_64/root": b"hsqs",
            "boot/x86_64/common": b"hsqs",
            "repodata/repomd.xml": b"<repomd/>\n",
        },
    ),
    "leap-16": Layout(
        "Install-Leap-x86_64",
        {
            ".signature": b"",
            "LiveOS/squashfs.img": b"hsqs",
            "boot/x86_64/loader/linux": _X86,
            "boot/x86_64/loader/initrd": initrd(XZ),
            "install/.treeinfo": _TREEINFO,
            "install/repodata/repomd.xml": b"<repomd/>\n",
        },
    ),
    "xenserver": Layout(
        "XenServer-7.0",
        {
            ".treeinfo": b"[general]\nfamily = XenServer\nversion = 7.0\narch = x86_64\n",
            "boot/xen.gz": b"\x1f\x8b",
            "boot/vmlinuz": _X86,
            "install.img": b"\x1f\x8b",
        },
    ),
    "leap-micro-packages": Layout(
        "Leap-Micro-6.1",
        {
            ".treeinfo": b"[general]\nfamily = openSUSE\nversion = 6.1\n",
            "repodata/repomd.xml": b"",
        },
    ),
    "ubuntu-1604-server": Layout(
        "Ubuntu-Server 16.04 LTS amd64",
        {"install/vmlinuz": _X86, "install/netboot/ubuntu-installer/amd64/linux": _X86},
    ),
    "talos": Layout("TALOS", {"boot/vmlinuz": _X86, "boot/initramfs.xz": initrd(XZ)}),
    "alpine": Layout(
        "alpine-std 3.22.0 x86_64",
        {
            "boot/vmlinuz-lts": _X86,
            "boot/initramfs-lts": initrd(),
            "boot/modloop-lts": b"hsqs",
            "apks/.boot_repository": b"",
        },
    ),
    "debian-live": Layout(
        "d-live 12.11.0 st amd64",
        {
            ".disk/info": b'Official Debian GNU/Linux Live 12.11.0 standard "bookworm"\n',
            "live/vmlinuz-6.1.0-1-amd64": _X86,
            "live/initrd.img-6.1.0-1-amd64": initrd(),
            "live/filesystem.squashfs": b"hsqs",
        },
    ),
    "arch": Layout(
        "ARCH_202606",
        {
            "arch/boot/x86_64/vmlinuz-linux": _X86,
            "arch/boot/x86_64/initramfs-linux.img": initrd(),
        },
    ),
    "data": Layout("BACKUP", {"vmlinuz": _X86, "initrd.img": initrd(), "photos/1.jpg": b"\xff"}),
}
ESXI = Layout(
    "ESXI-7.0U3D-19482537",
    {
        "BOOT.CFG": b"kernel=/b.b00\nmodules=/jumpstrt.gz --- /useropts.gz\nprefix=\n",
        "B.B00": bytes(3000),
        "EFI/BOOT/BOOTX64.EFI": b"MZ",
    },
)
