"""
THE table of installer families. Adding one is a module and a row.

The order is that of detection, the more specific first; the rows that are not here yet stand
between these (families.md 3), and each row says by itself what must be absent, so that their
images come out as ``unknown``.
"""

from ...boot.scripts import Stanza
from ..catalogue import Medium
from ..files import Files
from .debian import DEBIAN
from .family import Family, Found, Where
from .proxmox import PROXMOX
from .ramdisk import RAMDISK
from .rhel import RHEL
from .ubuntu import UBUNTU

FAMILIES: tuple[Family, ...] = (
    PROXMOX,
    RHEL,
    UBUNTU,
    DEBIAN,
    RAMDISK,
)
UNKNOWN = "unknown"

_MARK = "---"


def family(name: str) -> Family | None:
    """:returns: the row of that name, or None."""
    return next((each for each in FAMILIES if each.name == name), None)


def recognise(files: Files) -> tuple[Family, Found] | None:
    """
    :returns: the first row that holds, and what it found; None for an image nobody knows.
    :raises MalformedImage: when the image contradicts itself.
    """
    for each in FAMILIES:
        found = each.recognise(files)
        if found is not None:
            return each, found
    return None


def _joined(arguments: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """The operator's own words: for the installer, and behind ``---`` for what it installs."""
    if _MARK not in arguments:
        return (*arguments, *own)
    at = arguments.index(_MARK)
    split = own.index(_MARK) if _MARK in own else len(own)
    return (*arguments[:at], *own[:split], *arguments[at:], *own[split + 1 :])


def stanza(medium: Medium, media_url: str, answers_url: str, unattended: bool) -> Stanza:
    """
    How ``medium``, which must be bootable, is started.

    :param media_url: of the media listener, without a slash at the end; ``answers_url`` likewise.
    :param unattended: name the machine's answer; else whoever stands there is asked.
    """
    row = family(medium.family) or RAMDISK
    where = Where(medium.id, media_url, answers_url)
    base = row.boots(where, medium.variant, unattended)
    return Stanza(
        base.kernel,
        _joined(base.arguments, medium.arguments),
        base.initrds,
        tuple(filter(None, (f"{medium.family} {medium.version}".strip(),))),
    )
