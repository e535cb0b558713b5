"""Which kernel of an installed system is started, and which initrd belongs to it."""

import re
from collections.abc import Sequence

from attrs import frozen

from .files import Entry

#: How a kernel is called; whatever follows is its version.
_KERNEL = re.compile(r"(?:vmlinuz|vmlinux|Image|kernel)(?:-(.+))?")


@frozen
class Kernel:
    """:ivar initrd: None: it needs none, or has none that is called as others are."""

    kernel: str
    initrd: str | None


def newest(entries: Sequence[Entry], directory: str) -> Kernel | None:
    """
    :param entries: of ``directory``.
    :returns: ``vmlinuz`` itself, else the one of the highest version; None: there is none. Links
        are passed by: the files that they lead to are there, too.
    """
    names = {each.name for each in entries if each.regular}
    found = [(match[1] or "", name) for name in names if (match := _KERNEL.fullmatch(name))]
    usual = [each for each in found if not each[0]]
    able = usual or [each for each in found if "rescue" not in each[0]] or found
    if not able:
        return None
    version, name = max(able, key=lambda each: order(each[0]))
    above = directory.rstrip("/")
    return Kernel(f"{above}/{name}", _initrd(names, version, above))


def _initrd(names: set[str], version: str, directory: str) -> str | None:
    tried = (
        (f"initrd.img-{version}", f"initramfs-{version}.img", f"initrd-{version}")
        if version
        else ("initrd.img", "initrd", "initramfs.img", "initramfs-linux.img")
    )
    return next((f"{directory}/{each}" for each in tried if each in names), None)


def order(version: str) -> tuple[tuple[int, int, str], ...]:
    """:returns: what versions are sorted by: 6.10 above 6.9, a number above a word."""
    parts = re.findall(r"\d+|[a-z]+", version)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)
