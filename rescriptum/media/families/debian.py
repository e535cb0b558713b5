"""Debian, and Kali's installer, which is built with the same tools."""

# Its facts: families.md 4.1.

import re

from ...boot.scripts import Stanza
from ..files import Files, first_line, has, text
from .family import BOOTIF, MAC, Family, Found, Where

#: Debian's names of architectures, and iPXE's.
ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64", "i386": "i386", "riscv64": "riscv64"}
_DISCS = {"install.amd": "x86_64", "install.a64": "arm64", "install.386": "i386"}
_VERSION = re.compile(r"^Debian version:\s*(.+)$", re.M)


def recognise_disc(files: Files) -> Found | None:
    """
    An installer disc. Its initrd looks for a disc and has no network retriever (C4), so it boots
    only with the netboot files of the same release.
    """
    found = next((each for each in _DISCS if has(files, f"{each}/vmlinuz")), None)
    if found is None or "casper" in {each.lower() for each in files.names("")}:
        return None
    return Found(
        version=first_line(text(files, ".disk/info").partition(" - ")[0]),
        variant="disc",
        architecture=_DISCS[found],
        missing=(
            "its own initrd only installs from a disc: unpack netboot.tar.gz of the same release"
            " into the directory of this id"
        ),
    )


def recognise_netboot(files: Files) -> Found | None:
    """What ``netboot.tar.gz`` unpacks to, or Debian's package of it."""
    for name in sorted(files.names("debian-installer")):
        kernel, initrd = (f"debian-installer/{name}/{each}" for each in ("linux", "initrd.gz"))
        if has(files, kernel) and has(files, initrd):
            version = _VERSION.search(text(files, "version.info"))
            return Found(
                version=first_line(f"Debian {version[1]}") if version else "",
                variant="netboot",
                kernel=kernel,
                initrd=initrd,
                architecture=ARCHITECTURES.get(name),
            )
    return None


def recognise(files: Files) -> Found | None:
    """The netboot tree, or the disc."""
    return recognise_netboot(files) or recognise_disc(files)


def boots(where: Where, variant: str, unattended: bool) -> Stanza:
    """
    ``url`` names the answer; d-i sends nothing that identifies the machine, so the URL does.

    What follows ``---`` goes to the installed system.
    """
    answer = ("auto=true", "priority=critical") if unattended else ()
    url = (f"url={where.answers}/debian/{MAC}/preseed.cfg",) if unattended else ()
    return where.stanza(*answer, "interface=auto", BOOTIF, *url, "---")


DEBIAN = Family(
    "debian",
    recognise,
    boots,
    memory=lambda _: 1024,
    answer="a preseed document",
)
