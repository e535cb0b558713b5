"""A tree that somebody made: a kernel and an initrd, and nothing that says more."""

import re

from ...boot.scripts import Stanza
from ..files import Files
from .family import Family, Found, Where

_KERNEL = re.compile(r"(?:vmlinuz|linux|kernel|bzimage)(?:[-._].*)?", re.I)
_INITRD = re.compile(r"(?:initrd|initramfs)(?:[-._].*)?", re.I)
_EXACT = ("vmlinuz", "linux", "kernel", "bzimage", "initrd", "initrd.img", "initrd.gz", "initramfs")


def pick(names: tuple[str, ...], pattern: re.Pattern[str]) -> str | None:
    """:returns: the one name that fits, the plainly named one of several; else None."""
    fitting = sorted(each for each in names if pattern.fullmatch(each))
    plain = [each for each in fitting if each.lower() in _EXACT]
    chosen = fitting if len(fitting) == 1 else plain
    return chosen[0] if len(chosen) == 1 else None


def recognise(files: Files) -> Found | None:
    """A tree whose top has one kernel and one initrd; never an image: those are somebody's."""
    if files.whole:
        return None
    names = files.names("")
    kernel, initrd = pick(names, _KERNEL), pick(names, _INITRD)
    if kernel is None or initrd is None:
        return None
    return Found(kernel=kernel, initrd=initrd)


def boots(where: Where, variant: str, unattended: bool) -> Stanza:
    """Nothing but its own arguments, which its sidecar holds."""
    return where.stanza()


RAMDISK = Family("ramdisk", recognise, boots, memory=lambda _: None)
