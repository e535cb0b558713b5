"""
The ``autoinstall`` of Ubuntu's installer.

Facts: ``autoinstall-schema.json`` and ``doc/reference/autoinstall-reference.rst`` of
github.com/canonical/subiquity, releases 20.04 to 26.04. Keys that it does not know are warned
about; anything of a wrong type stops the installation.
"""

from collections.abc import Iterator, Mapping

from .finding import Finding, problem, warning
from .shape import (
    anything,
    by_kind,
    choice,
    flag,
    listed,
    perhaps,
    shown,
    table,
    tabled,
    text,
    words,
)

_AT = "autoinstall"
_TEXTS = listed(text)
_COMMANDS = listed(by_kind(text=text, list=_TEXTS))
_LAYOUTS = words("lvm direct zfs hybrid dd")


def _version(value: object, at: str) -> Iterator[Finding]:
    if isinstance(value, bool) or value != 1 or not isinstance(value, int):
        yield problem(f"want 1, not {shown(value)}", at)


def _password(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str) and not value.startswith(("$", "!", "*")):
        yield warning("want a hash, as mkpasswd prints it: it begins with $", at)


def _layout(value: object, at: str) -> Iterator[Finding]:
    if value not in _LAYOUTS:
        yield warning(f"want lvm, direct or zfs, not {shown(value)}", at)


def _network(value: object, at: str) -> Iterator[Finding]:
    if value is None:
        return
    yield from by_kind(table=anything)(value, at)
    if isinstance(value, Mapping):
        inner = value.get("network")
        if isinstance(inner, Mapping):
            value, at = inner, f"{at}.network"
        if value.get("version") != 2:
            yield problem("version: 2 is missing", at)


_INSTALL = table({"install": flag})
_SHAPE = table(
    {
        "version": _version,
        "interactive-sections": _TEXTS,
        **dict.fromkeys(words("early-commands late-commands error-commands"), _COMMANDS),
        **dict.fromkeys(words("locale timezone debconf-selections"), text),
        "refresh-installer": table({"update": flag, "channel": text}),
        "keyboard": table({"layout": text, "variant": text, "toggle": perhaps(text)}, ["layout"]),
        "source": table({"search_drivers": flag, "id": text}),
        "network": _network,
        "proxy": perhaps(text),
        "apt": table(
            {
                "preserve_sources_list": flag,
                "mirror-selection": by_kind(table=anything),
                "primary": by_kind(list=anything),
                "geoip": flag,
                "fallback": choice("abort", "offline-install", "continue-anyway"),
                "sources": by_kind(table=anything),
            },
            similar=True,
        ),
        "storage": table(
            {
                "layout": table({"name": _layout, "match": anything}, similar=True),
                "config": listed(by_kind(table=table({"type": text, "id": text}, similar=True))),
                "swap": by_kind(table=anything),
                "grub": by_kind(table=anything),
            },
            similar=True,
        ),
        "identity": table(
            {
                **dict.fromkeys(words("realname username hostname"), text),
                "password": _password,
                "groups": by_kind(list=_TEXTS, table=table({"override": _TEXTS, "append": _TEXTS})),
            },
            ("username", "hostname", "password"),
        ),
        "active-directory": table({"admin-name": text, "domain-name": text}),
        "ubuntu-pro": table({"token": text}),
        "ubuntu-advantage": table({"token": text}),
        "ssh": table({"install-server": flag, "authorized-keys": _TEXTS, "allow-pw": flag}),
        "codecs": _INSTALL,
        "drivers": _INSTALL,
        "oem": table({"install": by_kind(false=flag, text=choice("auto"))}),
        "snaps": listed(table({"name": text, "channel": text, "classic": flag}, ["name"])),
        "packages": _TEXTS,
        "kernel": table({"package": text, "flavor": text}),
        "kernel-crash-dumps": table({"enabled": perhaps(flag)}),
        "updates": choice("security", "all"),
        "shutdown": choice("reboot", "poweroff"),
        "reporting": tabled(table({"type": text}, ["type"], similar=True)),
        "user-data": by_kind(table=anything),
        "zdevs": listed(table({"id": text, "enabled": flag}, ["id"])),
    },
    ["version"],
)
#: Sections in which the installer asks who is to log in.
_ASKED = ("identity", "*")


def findings(value: object) -> Iterator[Finding]:
    """:param value: of the key ``autoinstall``."""
    yield from _SHAPE(value, _AT)
    if not isinstance(value, Mapping) or "identity" in value or "user-data" in value:
        return
    asked = value.get("interactive-sections")
    if isinstance(asked, list) and any(each in _ASKED for each in asked):
        return
    said = "identity or user-data is missing: nobody could log in, and the installer refuses it"
    # They may write the rest of it before it is read again.
    yield (warning if "early-commands" in value else problem)(said, _AT)
