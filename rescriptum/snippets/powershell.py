"""
Windows Server's DHCP, by PowerShell.

A policy there cannot test option 93, only the text of option 60 that repeats it: so a vendor class
per architecture, and a policy on each. Policies are server-wide; the first that matches wins.
"""

from collections.abc import Iterable

from ..boot.loaders import BIOS_LOADER
from .handoff import HTTP_CLASS, USER_CLASS, Handoff, commented

BIOS = BIOS_LOADER


def render(handoff: Handoff) -> str:
    """:returns: commands for an elevated PowerShell on the DHCP server. DHCPv4 only."""
    lines = commented(handoff.heading(BIOS))
    if not handoff.one_loader:
        lines += _policies(handoff)
    lines += [
        "# Firmware that does not say what it is." if handoff.branches else "# Every machine.",
        *_options(handoff, "", handoff.default),
    ]
    return "\n".join(lines) + "\n"


def _policies(handoff: Handoff) -> Iterable[str]:
    yield "# Windows does not know option 60 by itself."
    yield (
        "if (-not (Get-DhcpServerv4OptionDefinition -OptionId 60 -ErrorAction SilentlyContinue)) {"
        " Add-DhcpServerv4OptionDefinition -OptionId 60 -Name 'PXEClient' -Type String }"
    )
    # First, since iPXE still says PXEClient:Arch in option 60 (W036).
    yield "# iPXE itself, from our loader or a ROM: on to the script."
    name = "rescriptum iPXE"
    yield f"Add-DhcpServerv4Class -Name '{name}' -Type User -Data '{USER_CLASS}'"
    yield (
        f"Add-DhcpServerv4Policy -Name '{name}' -Condition OR -UserClass EQ,'{name}'"
        " -ProcessingOrder 1"
    )
    yield from _options(handoff, name, handoff.script_url)
    order = 1
    for branch in handoff.branches:
        for client, vendor_class in zip(branch.clients, branch.vendor_classes, strict=True):
            order += 1
            name = f"rescriptum {client}"
            yield f"# {client}"
            yield f"Add-DhcpServerv4Class -Name '{name}' -Type Vendor -Data '{vendor_class}'"
            yield (
                f"Add-DhcpServerv4Policy -Name '{name}' -Condition OR -VendorClass EQ,'{name}*'"
                f" -ProcessingOrder {order}"
            )
            if branch.http:
                yield _option(name, 60, HTTP_CLASS)
            yield from _options(handoff, name, handoff.boot_file(branch))


def _options(handoff: Handoff, policy: str, boot_file: str) -> Iterable[str]:
    # The server fills the header's fields from these two itself.
    yield _option(policy, 66, str(handoff.host))
    yield _option(policy, 67, boot_file)


def _option(policy: str, number: int, value: str) -> str:
    where = f" -PolicyName '{policy}'" if policy else ""
    return f"Set-DhcpServerv4OptionValue{where} -OptionId {number} -Value '{value}'"
