"""
MikroTik's RouterOS: one loader for a network, and matchers where RouterOS 7 has them.

Two matchers that both match have no documented order, so iPXE cannot be told from its firmware
here: BIOS machines are sent through pxelinux.
"""

from collections.abc import Iterable

from ..boot.loaders import BIOS_LOADER, ONE_LOADER
from .handoff import HTTP_CLASS, Branch, Handoff, commented

BIOS = ONE_LOADER


def render(handoff: Handoff) -> str:
    """:returns: commands for RouterOS's terminal. DHCPv4 only."""
    lines = [
        *commented(handoff.heading(BIOS)),
        "# Every network of the router; for one of them: [find address=192.0.2.0/24]",
        "/ip dhcp-server network set [find]"
        f" next-server={handoff.host} boot-file-name={ONE_LOADER}",
    ]
    others = [each for each in handoff.branches if each.loader != BIOS_LOADER]
    if others:
        lines += [
            "# RouterOS 7: take the first # of these away, and put in the names of your DHCP",
            "# server and pool for dhcp1 and pool1.",
            *commented(line for branch in others for line in _matchers(handoff, branch)),
        ]
    return "\n".join(lines) + "\n"


def _matchers(handoff: Handoff, branch: Branch) -> Iterable[str]:
    name = f"rescriptum-{branch.tag}"
    options = [name]
    yield f"# {branch}"
    if branch.http:
        options.append(f"{name}-class")
        yield _option(options[-1], 60, HTTP_CLASS)
    yield _option(name, 67, handoff.boot_file(branch))
    yield f"/ip dhcp-server option sets add name={name} options={','.join(options)}"
    for code in branch.codes:
        yield (
            f"/ip dhcp-server matcher add name={name}-{code} server=dhcp1 address-pool=pool1"
            f" code=93 value=0x{code:04x} option-set={name}"
        )


def _option(name: str, code: int, value: str) -> str:
    return f"/ip dhcp-server option add name={name} code={code} value=\"s'{value}'\""
