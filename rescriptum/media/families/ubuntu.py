"""Ubuntu, server and desktop: casper and cloud-init."""

# Its facts: families.md 4.2.

from ...boot.scripts import Stanza
from ..files import Files, first_line, has, text
from .family import MAC, Family, Found, Where

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64", "i386": "i386"}


def recognise(files: Files) -> Found | None:
    """
    By casper's kernel. 20.04 names no file after the server, its ``.disk/info`` does.

    casper downloads the whole image into memory: a tree without one cannot be booted.
    """
    if not has(files, "casper/vmlinuz"):
        return None
    info = first_line(text(files, ".disk/info"))
    names = files.names("casper")
    server = info.startswith("Ubuntu-Server") or any(
        "ubuntu-server" in each.lower() for each in names
    )
    initrd = next(
        (each for each in ("casper/initrd", "casper/initrd.gz") if has(files, each)), None
    )
    # "Ubuntu 24.04 LTS "Noble Numbat" - Release amd64 (20240423)"
    words = info.partition(" - ")[2].split()
    return Found(
        version=info.partition(" - ")[0],
        variant="server" if server else "desktop",
        kernel="casper/vmlinuz" if files.whole else None,
        initrd=initrd if files.whole else None,
        architecture=next((_ARCHITECTURES[each] for each in words if each in _ARCHITECTURES), None),
        missing="" if files.whole else "its installer downloads the image: put the .iso here",
    )


def boots(where: Where, variant: str, unattended: bool) -> Stanza:
    """
    ``url`` must end in ``.iso`` or casper does not see it (C2), and without
    ``cloud-config-url`` cloud-init downloads the image a second time.
    """
    answer = ("autoinstall", f"ds=nocloud;s={where.answers}/ubuntu/{MAC}/") if unattended else ()
    return where.stanza(
        "ip=dhcp", f"url={where.image}", "cloud-config-url=/dev/null", *answer, "---"
    )


UBUNTU = Family(
    "ubuntu",
    recognise,
    boots,
    memory=lambda variant: 16384 if variant == "desktop" else 8192,
    answer="user-data (autoinstall) as a .yaml document",
)
