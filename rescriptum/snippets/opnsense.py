"""OPNsense: its Dnsmasq takes dnsmasq's own lines from a directory that survives updates."""

from . import dnsmasq
from .handoff import Handoff, commented

BIOS = dnsmasq.BIOS

_HOW = (
    "OPNsense, Services > Dnsmasq DNS & DHCP: put this file at",
    "/usr/local/etc/dnsmasq.conf.d/rescriptum.conf and restart the service there.",
    "With its ISC service instead: --format pfsense names much the same fields.",
)


def render(handoff: Handoff) -> str:
    """:returns: a file for OPNsense's Dnsmasq service."""
    return "\n".join(commented(_HOW)) + "\n" + dnsmasq.render(handoff)
