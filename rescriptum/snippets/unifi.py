"""UniFi: what to type. One loader for a network, whatever its machines are."""

from ..boot.loaders import BIOS_LOADER, ONE_LOADER
from .handoff import Handoff, commented

BIOS = ONE_LOADER


def render(handoff: Handoff) -> str:
    """:returns: the page, its fields and their values. DHCPv4 only."""
    lines = [
        *commented(handoff.heading(BIOS)),
        "Settings > Networks > (the network) > DHCP Service Management:",
        f"  Network Boot   on, server {handoff.host}, file {ONE_LOADER}",
        f"  TFTP Server    {handoff.host}",
    ]
    others = [each for each in handoff.branches if not each.http and each.loader != BIOS_LOADER]
    if others:
        lines += [
            "There is one file for all: the one above starts BIOS machines and no others.",
            *(f"For a network of {each}: file {handoff.boot_file(each)}" for each in others),
            "UEFI HTTP boot cannot be set here: type a URL into the firmware instead.",
        ]
    return "\n".join(lines) + "\n"
