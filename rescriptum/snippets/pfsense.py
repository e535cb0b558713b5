"""
pfSense: what to type, since its pages are where the settings are kept.

The pages test option 93 and cannot test option 77, so BIOS machines are sent through pxelinux.
"""

from ..boot.loaders import ARM64_LOADER, ONE_LOADER, X64_LOADER, Transport
from .handoff import Handoff, commented

BIOS = ONE_LOADER

_FIELDS = {
    (X64_LOADER, Transport.TFTP): "UEFI 64 bit File Name",
    (ARM64_LOADER, Transport.TFTP): "ARM 64 bit File Name",
    (X64_LOADER, Transport.HTTP): "UEFI HTTPBoot URL",
}


def render(handoff: Handoff) -> str:
    """:returns: the page, its fields and their values. DHCPv4 only."""
    fields = {
        "Enable": "checked",
        "Next Server": str(handoff.host),
        "Default BIOS File Name": ONE_LOADER,
    }
    for branch in handoff.branches:
        if (field := _FIELDS.get((branch.loader, branch.transport))) is not None:
            fields[field] = handoff.boot_file(branch)
    width = max(map(len, fields))
    lines = [
        *commented(handoff.heading(BIOS)),
        "Services > DHCP Server > (the interface) > Network Booting:",
        *(f"  {name:<{width}}  {value}" for name, value in fields.items()),
    ]
    if not handoff.one_loader:
        lines += [
            "Fields that your release does not have: leave them, those machines then need",
            "another DHCP server or a URL typed into their firmware.",
        ]
    return "\n".join(lines) + "\n"
