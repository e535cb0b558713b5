"""Proxmox: VE, Backup Server, Mail Gateway, Datacenter Manager."""

# Its facts: families.md 4.7.

import re

from ...boot.scripts import Initrd, Stanza
from ..files import Files, first_line, has, text
from .family import Family, Found, Where

_FIELD = re.compile(r"^([A-Z]+)='([^'\n]*)'", re.M)
_ZSTD = b"\x28\xb5\x2f\xfd"
_PACKED = (
    "its initrd is packed by zstd: where the installer does not find its image, use what the"
    " vendor's assistant prepares for PXE, which is packed by gzip"
)
_ARCHITECTURES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


def _fields(files: Files) -> dict[str, str]:
    for path in (".disk/info", ".cd-info"):
        if found := dict(_FIELD.findall(text(files, path))):
            return found
    return {}


def recognise(files: Files) -> Found | None:
    """By what ``.disk/info`` says: the vendor's own PXE preparation strips ``/boot``."""
    fields = _fields(files)
    product = fields.get("PRODUCTLONG", "")
    if not product.startswith("Proxmox"):
        return None
    release = "-".join(filter(None, (fields.get("RELEASE"), fields.get("ISORELEASE"))))
    inside = has(files, "boot/linux26") and has(files, "boot/initrd.img")
    packed = inside and files.read("boot/initrd.img", 4) == _ZSTD
    return Found(
        version=first_line(f"{product} {release}"),
        variant=first_line(fields.get("PRODUCT", "")),
        kernel="boot/linux26" if inside else None,
        initrd="boot/initrd.img" if inside else None,
        architecture=_ARCHITECTURES.get(fields.get("ARCH", "amd64")),
        missing=(
            ""
            if inside
            else "it has no /boot: put the vmlinuz and initrd.img that were prepared with it"
            " in a directory of this id"
        ),
        notes=(_PACKED,) if packed else (),
    )


def boots(where: Where, variant: str, unattended: bool) -> Stanza:
    """
    The installer finds its own image in the initramfs, as the file ``proxmox.iso``.

    Only a name *after* the URL makes iPXE wrap the image in an archive (C9); UEFI kernels see
    such archives in ``initrd.magic`` alone, all parts joined, and not under the image's own name.
    """
    return Stanza(
        where.kernel,
        (
            "ramdisk_size=16777216",
            "rw",
            "quiet",
            "initrd=initrd.magic",
            "splash=silent",
            *(("proxmox-start-auto-installer",) if unattended else ()),
        ),
        (Initrd(where.initrd), Initrd(where.image, member="proxmox.iso")),
    )


PROXMOX = Family(
    "proxmox",
    recognise,
    boots,
    memory=lambda _: 8192,
    answer="the URL in the image, in DHCP option 250, or in DNS; none is on the kernel's line",
)
