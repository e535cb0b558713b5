"""ISC dhcpd: statements for the global scope of ``dhcpd.conf`` or ``dhcpd6.conf``."""

from collections.abc import Iterable

from ..boot.loaders import BIOS_LOADER
from .handoff import HTTP_CLASS, USER_CLASS, Branch, Handoff, commented

BIOS = BIOS_LOADER


def render(handoff: Handoff) -> str:
    """:returns: DHCPv4 statements, or DHCPv6 ones where the host is an IPv6 address."""
    lines = [*commented(handoff.heading(BIOS)), *(_v6(handoff) if handoff.v6 else _v4(handoff))]
    return "\n".join(lines) + "\n"


def _v4(handoff: Handoff) -> list[str]:
    lines = [
        "option arch code 93 = array of unsigned integer 16;",
        f"next-server {handoff.host};",
        f'option tftp-server-name "{handoff.host}";',
    ]
    default = _boot(handoff.default)
    if handoff.one_loader:
        return [*lines, *default]
    branches = [
        (
            f'option user-class = "{USER_CLASS}"'
            f' or substring(option user-class, 1, {len(USER_CLASS)}) = "{USER_CLASS}"',
            "iPXE itself, from our loader or a ROM",
            _boot(handoff.script_url),
        )
    ]
    for branch in handoff.branches:
        body = _boot(handoff.boot_file(branch))
        if branch.http:
            body.insert(0, f'option vendor-class-identifier "{HTTP_CLASS}";')
        branches.append((_is(branch), str(branch), body))
    return [
        *lines,
        *_chain(branches),
        "else {",
        "  # Firmware that does not say what it is",
        *(f"  {line}" for line in default),
        "}",
    ]


def _is(branch: Branch) -> str:
    codes = (f"substring(option arch, 0, 2) = {_pair(code)}" for code in branch.codes)
    classes = (
        f'not exists arch and substring(option vendor-class-identifier, 0, {len(each)}) = "{each}"'
        for each in branch.vendor_classes
    )
    return " or ".join((*codes, *(f"({each})" for each in classes)))


def _pair(code: int) -> str:
    return f"{code >> 8:02x}:{code & 255:02x}"


def _boot(boot_file: str) -> list[str]:
    # The file field and option 67 are two things to dhcpd; ROMs read either.
    return [f'filename "{boot_file}";', f'option bootfile-name "{boot_file}";']


def _chain(branches: Iterable[tuple[str, str, list[str]]]) -> Iterable[str]:
    word = "if"
    for test, comment, body in branches:
        yield f"{word} {test} {{"
        yield f"  # {comment}"
        yield from (f"  {line}" for line in body)
        yield "}"
        word = "elsif"


def _v6(handoff: Handoff) -> list[str]:
    branches = [
        (
            f'substring(option dhcp6.user-class, 2, {len(USER_CLASS)}) = "{USER_CLASS}"',
            "iPXE itself, from our loader or a ROM",
            [f'option dhcp6.bootfile-url "{handoff.script_url}";'],
        )
    ]
    for branch in handoff.branches:
        body = [f'option dhcp6.bootfile-url "{handoff.boot_file(branch)}";']
        if branch.http:
            body.insert(0, f'option dhcp6.vendor-class 343 {len(HTTP_CLASS)} "{HTTP_CLASS}";')
        test = " or ".join(
            f"substring(option dhcp6.client-arch, 0, 2) = {_pair(code)}" for code in branch.codes
        )
        branches.append((test, str(branch), body))
    return [
        "option dhcp6.bootfile-url code 59 = string;",
        "option dhcp6.client-arch code 61 = array of unsigned integer 16;",
        "option dhcp6.user-class code 15 = string;",
        "option dhcp6.vendor-class code 16 = {integer 32, integer 16, string};",
        *_chain(branches),
    ]
