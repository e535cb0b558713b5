"""Boot entries of an installed system, as the Boot Loader Specification has them (type 1)."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from ...errors import Malformed
from .files import checked
from .kernels import Kernel, order

#: Where they are, below the directory of kernels; how they are called, how many are looked at, and
#: bytes of one.
DIRECTORY: Final = "loader/entries"
MOST, LONGEST = 64, 64 * 1024
#: Characters of a version: as many as a file's name may have, which is the other one that counts.
_VERSION: Final = 255
NAME: Final = re.compile(r"\w[\w.+~@-]*\.conf")
#: What GRUB puts in their place, which is nothing where nobody has set it.
_EMPTY: Final = ("$tuned_params", "$tuned_initrd")
#: GRUB puts the word here as long as this file is beside the kernels.
STAMP: Final = "ignition.firstboot"
_VARIABLE: Final = re.compile(r"\$\{?\w")


@frozen
class BootEntry:
    """
    :ivar arguments: of the kernel; empty where only the boot loader could tell them.
    :ivar version: of the kernel.
    """

    kernel: Kernel
    arguments: str
    version: str


def entry(text: bytes, first_boot: bool) -> BootEntry | None:
    """
    :param first_boot: whether Ignition has not run there yet.
    :returns: None for one that starts no kernel of its own, or more than one initrd with it.
    """
    said: dict[str, list[str]] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        key, *value = line.split(None, 1)[:2] or [""]
        if value and not key.startswith("#"):
            said.setdefault(key, []).append(value[0].strip())
    kernel = _path(" ".join(said.get("linux", [])))
    initrds = [each for value in said.get("initrd", []) for each in value.split()]
    initrds = [each for each in initrds if each not in _EMPTY]
    if not kernel or len(initrds) > 1:
        return None
    initrd = _path(initrds[0]) if initrds else None
    if initrd == "":
        return None
    arguments = _arguments(" ".join(said.get("options", [])), first_boot)
    version = " ".join(said.get("version", []))[:_VERSION]
    return BootEntry(Kernel(kernel, initrd), arguments, version)


def _path(value: str) -> str:
    """:returns: from the top of the file system; empty for none, or what the loader would know."""
    path = f"/{value.lstrip('/')}"
    try:
        return "" if _VARIABLE.search(path) else "/" + "/".join(checked(path))
    except Malformed:
        return ""


def _arguments(options: str, first_boot: bool) -> str:
    words = options.split()
    firsts = {f"${STAMP.replace('.', '_')}": STAMP if first_boot else ""}
    words = [firsts.get(each, each) for each in words if each not in _EMPTY]
    line = " ".join(filter(None, words))
    return "" if _VARIABLE.search(line) or not line.isprintable() else line


def latest(entries: Mapping[str, BootEntry]) -> Iterable[BootEntry]:
    """
    :param entries: by the names of their files.
    :returns: those of the highest version first; the ones to rescue a system by last.
    """
    names = sorted(
        entries,
        key=lambda name: ("rescue" not in name, order(entries[name].version), order(name)),
        reverse=True,
    )
    return [entries[name] for name in names]
