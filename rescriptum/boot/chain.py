"""
The chain that ``boot check`` walks, as a machine would: what was found at each link, what it
means, and what somebody standing before the machine would see.

Nothing here asks anything: observations come in, findings go out.
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from attrs import frozen

from .loaders import ONE_LOADER, ONE_LOADER_PARTS, SERVED
from .scripts import CONTRACT_PORT

#: Where firmware asks, whatever a configuration says.
TFTP_PORT = 69
MAX_SUMS = 1 << 16


class Verdict(Enum):
    """How a link is."""

    OK = "ok"
    NOTE = "note"
    WARNING = "WARNING"
    MISSING = "MISSING"
    BROKEN = "BROKEN"

    @property
    def fails(self) -> bool:
        """Whether ``boot check`` exits 1 for it."""
        return self not in (Verdict.OK, Verdict.NOTE)


class Link(Enum):
    """One station of the way, in the order that a machine comes through."""

    SETTINGS = "settings"
    LOADER = "loader"
    TFTP = "tftp"
    HTTP = "http"
    SCRIPT = "script"
    ANSWER = "answer"
    KERNEL = "kernel"


@frozen
class Finding:
    """
    One thing that was looked at.

    :ivar subject: a file, an address, a URL.
    :ivar text: what it is, and where it is not well, what to do about it.
    :ivar seen: what the person at the machine would see; empty where it is well.
    """

    link: Link
    verdict: Verdict
    subject: str
    text: str
    seen: str = ""


def fails(findings: Iterable[Finding]) -> bool:
    """:returns: whether a machine could not boot by this chain."""
    return any(each.verdict.fails for each in findings)


_HEADINGS = {
    Link.SETTINGS: "settings",
    Link.LOADER: "loaders on the disk",
    Link.TFTP: "over TFTP",
    Link.HTTP: "over HTTP",
    Link.SCRIPT: "scripts",
    Link.ANSWER: "answers",
    Link.KERNEL: "kernels and initrds",
}


def as_text(findings: Sequence[Finding]) -> str:
    """:returns: a line for each finding under its link, and one for what would be seen."""
    lines = []
    for before, each in zip((None, *findings), findings, strict=False):
        if before is None or before.link is not each.link:
            lines.append(_HEADINGS[each.link])
        lines.append(f"  {each.verdict.value:<7} {each.subject}: {each.text}")
        if each.seen:
            lines.append(f"          the machine shows: {each.seen}")
    return "".join(f"{line}\n" for line in lines)


def as_json(findings: Sequence[Finding]) -> dict[str, object]:
    """:returns: what ``--json`` prints; ``boots`` is the exit code's other half."""
    return {
        "boots": not fails(findings),
        "findings": [
            {
                "link": each.link.value,
                "verdict": each.verdict.value.lower(),
                "subject": each.subject,
                "text": each.text,
                "seen": each.seen or None,
            }
            for each in findings
        ],
    }


@frozen
class Wanted:
    """
    One file that machines ask for.

    :ivar clients: which ones, for people.
    :ivar required: by the table; the others only some sites need.
    """

    name: str
    clients: str
    required: bool = True


def wanted() -> tuple[Wanted, ...]:
    """:returns: the table's loaders, then the parts of the chain for one loader."""
    by_loader: dict[str, list[str]] = {}
    for row in SERVED:
        assert row.loader is not None  # SERVED
        by_loader.setdefault(row.loader, []).append(row.client)
    pxelinux = "BIOS machines whose DHCP server names one loader for all"
    return (
        *(Wanted(name, ", ".join(clients)) for name, clients in by_loader.items()),
        *(Wanted(name, pxelinux, required=False) for name in (ONE_LOADER, *ONE_LOADER_PARTS)),
    )


_SUM = re.compile(r"(?P<digest>[0-9a-f]{64}) [ *](?:\./)?(?P<name>[^/\0]{1,255})")


def digests(text: str) -> dict[str, str]:
    """:returns: SHA-256 by name, of the lines of a ``SHA256SUMS`` that are such lines."""
    found = (_SUM.fullmatch(line) for line in text[:MAX_SUMS].splitlines())
    return {match["name"]: match["digest"] for match in found if match}


def on_disk(file: Wanted, size: int | None, digest: str | None, promised: str | None) -> Finding:
    """
    What the boot directory holds.

    :param size: None: it is not there.
    :param digest: of its bytes; None where nothing is promised.
    :param promised: what SHA256SUMS says.
    """
    if size is None and file.required:
        text = (
            f"every machine the snippet sends here ({file.clients}) will ask for it, get nothing, "
            "and stop; rescriptum boot loaders install"
        )
        return Finding(Link.LOADER, Verdict.MISSING, file.name, text, "PXE-T01: File not found")
    if size is None:
        text = f"not there; only {file.clients} need it"
        return Finding(Link.LOADER, Verdict.NOTE, file.name, text)
    if promised is not None and digest != promised:
        text = (
            "not the bytes that SHA256SUMS promises: a copy that was cut off, or a newer file "
            "beside an older list; rescriptum boot loaders install"
        )
        seen = "a loader that hangs, or 'not a valid boot image'"
        return Finding(Link.LOADER, Verdict.BROKEN, file.name, text, seen)
    known = ", as SHA256SUMS says" if promised is not None else ""
    return Finding(Link.LOADER, Verdict.OK, file.name, f"{size} bytes{known}, for {file.clients}")


def settings(
    media_port: int, tftp_port: int | None, doubts: Iterable[str], logo: bool
) -> tuple[Finding, ...]:
    """
    What the configuration alone says.

    :param tftp_port: None: TFTP is off.
    :param doubts: about the public host.
    :param logo: whether there is a picture for the menu.
    """
    found = [Finding(Link.SETTINGS, Verdict.NOTE, "public host", each) for each in doubts]
    if media_port != CONTRACT_PORT:
        text = (
            f"the media listener is on {media_port}; a loader with our script inside asks on "
            f"{CONTRACT_PORT} and nowhere else; put RESCRIPTUM_MEDIA_ADDR back or forward the port"
        )
        seen = "Connection refused, or a time-out, at http://…:8001/ipxe/bootstrap"
        found.append(Finding(Link.SETTINGS, Verdict.WARNING, "media port", text, seen))
    if tftp_port is None:
        text = "off: another server hands the loaders over; they are served under /boot/ only"
        found.append(Finding(Link.SETTINGS, Verdict.NOTE, "TFTP", text))
    elif tftp_port != TFTP_PORT:
        text = f"on port {tftp_port}; firmware asks on {TFTP_PORT}: forward it, or it asks in vain"
        found.append(Finding(Link.SETTINGS, Verdict.NOTE, "TFTP", text))
    if not logo:
        text = "no picture: the menu comes without; RESCRIPTUM_BOOT_LOGO, or logo.png"
        found.append(Finding(Link.SETTINGS, Verdict.NOTE, "logo", text))
    return tuple(found)
