"""Kea: a document of plain JSON whose keys go into ``kea-dhcp4.conf`` or ``kea-dhcp6.conf``."""

import json
from collections.abc import Mapping

from ..boot.loaders import BIOS_LOADER
from .handoff import HTTP_CLASS, HTTP_CLASS_V6, USER_CLASS, Branch, Handoff

BIOS = BIOS_LOADER
_IPXE = "rescriptum-ipxe"

Json = Mapping[str, object]


def render(handoff: Handoff) -> str:
    """
    :returns: ``Dhcp4``, or ``Dhcp6`` where the host is an IPv6 address. There is no comment in
        it, since other tools read these files too: the heading is the ``user-context``.
    """
    server = {"Dhcp6": _v6(handoff)} if handoff.v6 else {"Dhcp4": _v4(handoff)}
    return json.dumps(server, indent=2) + "\n"


def _context(handoff: Handoff) -> Json:
    return {"comment": list(handoff.heading(BIOS))}


def _v4(handoff: Handoff) -> Json:
    server: dict[str, object] = {"user-context": _context(handoff)}
    if not handoff.one_loader:
        user_class = " or ".join(
            f"substring(option[77].hex, {at}, {len(USER_CLASS)}) == '{USER_CLASS}'" for at in (0, 1)
        )
        server["client-classes"] = [
            {"name": _IPXE, "test": user_class, **_boot(handoff, handoff.script_url)},
            *(
                {
                    "name": f"rescriptum-{branch.tag}",
                    "test": f"not member('{_IPXE}') and ({_is(branch)})",
                    **_boot(
                        handoff,
                        handoff.boot_file(branch),
                        *([_http_class()] if branch.http else []),
                    ),
                }
                for branch in handoff.branches
            ),
        ]
    server.update(_boot(handoff, handoff.default))
    return server


def _is(branch: Branch) -> str:
    codes = (f"substring(option[93].hex, 0, 2) == 0x{code:04x}" for code in branch.codes)
    classes = (
        f"(not option[93].exists and substring(option[60].hex, 0, {len(each)}) == '{each}')"
        for each in branch.vendor_classes
    )
    return " or ".join((*codes, *classes))


def _boot(handoff: Handoff, boot_file: str, *options: Json) -> Json:
    # The file field and option 67 are two things to Kea; ROMs read either.
    return {
        "next-server": str(handoff.host),
        "boot-file-name": boot_file,
        "option-data": [
            {"name": "tftp-server-name", "data": str(handoff.host)},
            {"name": "boot-file-name", "data": boot_file},
            *options,
        ],
    }


def _http_class() -> Json:
    return {"name": "vendor-class-identifier", "data": HTTP_CLASS, "always-send": True}


def _v6(handoff: Handoff) -> Json:
    user_class = f"substring(option[15].hex, 2, {len(USER_CLASS)}) == '{USER_CLASS}'"
    vendor_class = {
        "code": 16,
        "csv-format": False,
        "data": HTTP_CLASS_V6.hex(),
        "always-send": True,
    }
    classes: list[Json] = [
        {"name": _IPXE, "test": user_class, "option-data": [_url(handoff.script_url)]}
    ]
    for branch in handoff.branches:
        test = " or ".join(
            f"substring(option[61].hex, 0, 2) == 0x{code:04x}" for code in branch.codes
        )
        classes.append(
            {
                "name": f"rescriptum-{branch.tag}",
                "test": f"not member('{_IPXE}') and ({test})",
                "option-data": [
                    _url(handoff.boot_file(branch)),
                    *([vendor_class] if branch.http else []),
                ],
            }
        )
    return {"user-context": _context(handoff), "client-classes": classes}


def _url(url: str) -> Json:
    return {"name": "bootfile-url", "data": url}
