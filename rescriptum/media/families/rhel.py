"""Anaconda: RHEL, AlmaLinux, Rocky, CentOS Stream, Fedora's installers."""

# Its facts: families.md 4.3.

import re

from ...boot.scripts import Stanza
from ...errors import NotFound
from ..files import Files, first_line, has, text
from .family import BOOTIF, MAC, Family, Found, Where

KERNEL, INITRD = "images/pxeboot/vmlinuz", "images/pxeboot/initrd.img"
_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64", "riscv64": "riscv64"}
_SECTION = re.compile(r"^\[([^\]\n]+)\]\s*$")
_REPOSITORIES = ("", "BaseOS", "AppStream", "Minimal", "Server")


def _treeinfo(files: Files) -> dict[tuple[str, str], str] | None:
    """:returns: values by (section, key), both lower case; None where there is no such file."""
    try:
        files.find(".treeinfo")
    except NotFound:
        return None
    found: dict[tuple[str, str], str] = {}
    section = ""
    for line in text(files, ".treeinfo").splitlines():
        if heading := _SECTION.match(line.strip()):
            section = heading[1].lower()
        else:
            key, sign, value = line.partition("=")
            if sign:
                found.setdefault((section, key.strip().lower()), value.strip())
    return found


def recognise(files: Files) -> Found | None:
    """
    By ``.treeinfo`` with a kernel and a second stage. Fedora Live up to 41 has this kernel and
    no ``.treeinfo``; CoreOS has it and a root filesystem beside it; XenServer has a ``.treeinfo``
    and no such kernel.
    """
    info = _treeinfo(files)
    if info is None or has(files, "images/pxeboot/rootfs.img"):
        return None
    arch = info.get(("general", "arch"), "")
    kernel, initrd = (
        path
        if (path := info.get((f"images-{arch.lower()}", key), "")) and has(files, path)
        else usual
        for key, usual in (("kernel", KERNEL), ("initrd", INITRD))
    )
    staged = has(files, "images/install.img") or bool(info.get(("stage2", "mainimage")))
    if not staged or not has(files, KERNEL) or not has(files, initrd):
        return None
    name = info.get(("general", "name")) or " ".join(
        info.get(("general", key), "") for key in ("family", "version")
    )
    source = any(has(files, f"{each}/repodata/repomd.xml".lstrip("/")) for each in _REPOSITORIES)
    return Found(
        version=first_line(name) or first_line(text(files, ".discinfo").partition("\n")[2]),
        variant="dvd" if source else "boot",
        kernel=kernel,
        initrd=initrd,
        architecture=_ARCHITECTURES.get(arch),
    )


def boots(where: Where, variant: str, unattended: bool) -> Stanza:
    """
    Over HTTP Anaconda wants the image's *tree*, never its ISO (C1): a DVD is the whole source,
    a boot image only the second stage, and the kickstart names the source.
    """
    source = f"inst.repo={where.tree}" if variant == "dvd" else f"inst.stage2={where.tree}"
    answer = (
        (f"inst.ks={where.answers}/rhel/{MAC}/ks.cfg", "inst.ks.sendmac", "inst.ks.sendsn")
        if unattended
        else ()
    )
    return where.stanza(source, *answer, BOOTIF)


RHEL = Family(
    "rhel",
    recognise,
    boots,
    # 3 GB by network up to 9, 4 GB from 10 and for Fedora: the higher is safe for both.
    memory=lambda _: 4096,
    answer="a kickstart (.ks) document",
)
