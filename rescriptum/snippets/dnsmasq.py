"""dnsmasq: lines for a file of its own in ``/etc/dnsmasq.d``."""

from ..boot.loaders import BIOS_LOADER
from .handoff import HTTP_CLASS, HTTP_CLASS_V6, USER_CLASS, Branch, Handoff, commented

BIOS = BIOS_LOADER
_NAME = "option:bootfile-name"
_URL = "option6:bootfile-url"


def render(handoff: Handoff) -> str:
    """:returns: DHCPv4 lines, or DHCPv6 lines where the host is an IPv6 address."""
    lines = [*commented(handoff.heading(BIOS)), *(_v6(handoff) if handoff.v6 else _v4(handoff))]
    return "\n".join(lines) + "\n"


def _v4(handoff: Handoff) -> list[str]:
    host, default = handoff.host, handoff.default
    lines = [
        "# The file field of the answer and option 67, both: some ROMs read only one of them.",
        "dhcp-no-override",
        f"dhcp-option=option:tftp-server,{host}",
    ]
    if not handoff.one_loader:
        lines += ["# iPXE itself, from our loader or a ROM: on to the script.", _tag_ipxe()]
        lines += _boot(handoff, "tag:ipxe,", handoff.script_url)
    for branch in handoff.branches:
        lines += [f"# {branch}", *_tags(branch)]
        only = f"tag:{branch.tag},tag:!ipxe,"
        if branch.http:
            lines.append(f"dhcp-option-force={only}60,{HTTP_CLASS}")
        lines += _boot(handoff, only, handoff.boot_file(branch))
    # Untagged lines are dnsmasq's last resort wherever they stand.
    last = "Every machine." if handoff.one_loader else "Firmware that does not say what it is."
    return [*lines, f"# {last}", *_boot(handoff, "", default)]


def _tag_ipxe() -> str:
    return f"dhcp-userclass=set:ipxe,{USER_CLASS}"


def _tags(branch: Branch) -> list[str]:
    by_class = [f"dhcp-vendorclass=set:{branch.tag},{each}" for each in branch.vendor_classes]
    if branch.http:
        return by_class
    return [
        *(f"dhcp-match=set:{branch.tag},option:client-arch,{code}" for code in branch.codes),
        *by_class,
    ]


def _boot(handoff: Handoff, tags: str, boot_file: str) -> list[str]:
    # dhcp-boot alone leaves the file field empty for a client that asks for option 67.
    return [
        f"dhcp-option={tags}{_NAME},{boot_file}",
        f"dhcp-boot={tags}{boot_file},,{handoff.host}",
    ]


def _v6(handoff: Handoff) -> list[str]:
    lines = [
        "# DHCPv6: option 59. Names without option6: would do nothing there (W088).",
        _tag_ipxe(),
        f"dhcp-option=tag:ipxe,{_URL},{handoff.script_url}",
    ]
    for branch in handoff.branches:
        only = f"tag:{branch.tag},tag:!ipxe,"
        lines.append(f"# {branch}")
        lines += (
            f"dhcp-match=set:{branch.tag},option6:61,{code >> 8:02x}:{code & 255:02x}"
            for code in branch.codes
        )
        if branch.http:
            lines.append(f"dhcp-option-force={only}option6:16,{HTTP_CLASS_V6.hex(':')}")
        lines.append(f"dhcp-option={only}{_URL},{handoff.boot_file(branch)}")
    return lines
