"""
Proxmox's answer file, for the installers of VE, Backup Server, Mail Gateway and Datacenter Manager.

Facts: ``proxmox-installer-types/src/answer.rs`` and ``proxmox-auto-installer/src/utils.rs`` of
Proxmox's own repositories, as of the installers 8.2 to 9.2; families C6 and C7 for the two
spellings of keys. The installer refuses a file with a key that it does not know.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_interface

from .finding import Checked, Finding, nearest, problem, warning
from .shape import (
    Shape,
    by_kind,
    choice,
    flag,
    listed,
    number,
    shown,
    table,
    tabled,
    text,
    whole,
    words,
)

_KEYBOARDS = words(
    "de de-ch dk en-gb en-us es fi fr fr-be fr-ca fr-ch hu is it jp lt mk nl no pl pt pt-br se si "
    "tr"
)
_RAID = words("raid0 raid1 raid10 RAID0 RAID1 RAID10")
_RAIDZ = words("raidz-1 raidz-2 raidz-3 RAIDZ-1 RAIDZ-2 RAIDZ-3")
#: Sections of options, and the file systems that they are for.
_OPTIONS = {"lvm": ("ext4", "xfs"), "zfs": ("zfs",), "btrfs": ("btrfs",)}
_MIN_PASSWORD = 8
_COUNTRY = re.compile(r"[a-z]{2}")


def _country(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str) and not _COUNTRY.fullmatch(value):
        yield problem(f"want two small letters, as at, not {shown(value)}", at)


def _fqdn(value: object, at: str) -> Iterator[Finding]:
    if isinstance(value, str) and "." not in value.strip("."):
        yield problem(
            f"want a host name with its domain, as pve1.example.org, not {shown(value)}", at
        )


def _address(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str):
        try:
            ip_address(value)
        except ValueError:
            yield problem(f"want an address, as 192.0.2.1, not {shown(value)}", at)


def _cidr(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str):
        try:
            if "/" not in value:
                raise ValueError
            ip_interface(value)
        except ValueError:
            yield problem(f"want an address and its mask, as 192.0.2.10/24, not {shown(value)}", at)


def _keys(known: Mapping[str, Shape], *required: str) -> Shape:
    return table(known, required, folded=True)


_FILTER = tabled(text)
_FILE = table(
    {
        "global": _keys(
            {
                "country": _country,
                "fqdn": by_kind(
                    text=_fqdn, table=_keys({"source": choice("from-dhcp"), "domain": text})
                ),
                "keyboard": choice(*_KEYBOARDS),
                "mailto": text,
                "timezone": text,
                "root-password": text,
                "root-password-hashed": text,
                "reboot-on-error": flag,
                "reboot-mode": choice("reboot", "power-off"),
                "root-ssh-keys": listed(text),
            },
            *("country", "fqdn", "keyboard", "mailto", "timezone"),
        ),
        "network": _keys(
            {
                "source": choice("from-dhcp", "from-answer"),
                "cidr": _cidr,
                "dns": _address,
                "gateway": _address,
                "filter": _FILTER,
                "interface-name-pinning": _keys(
                    {"enabled": flag, "mapping": tabled(text)}, "enabled"
                ),
            }
        ),
        "disk-setup": _keys(
            {
                "filesystem": choice("ext4", "xfs", "zfs", "btrfs"),
                "disk-list": listed(text),
                "filter": _FILTER,
                "filter-match": choice("any", "all"),
                "lvm": _keys(
                    dict.fromkeys(("hdsize", "swapsize", "maxroot", "maxvz", "minfree"), number)
                ),
                "zfs": _keys(
                    {
                        "raid": choice(*_RAID, *_RAIDZ),
                        "ashift": whole,
                        "arc-max": whole,
                        "checksum": choice("on", "fletcher4", "sha256"),
                        "compress": choice("on", "off", "lzjb", "lz4", "zle", "gzip", "zstd"),
                        "copies": whole,
                        "hdsize": number,
                    }
                ),
                "btrfs": _keys(
                    {
                        "raid": choice(*_RAID),
                        "compress": choice("on", "off", "zlib", "lzo", "zstd"),
                        "hdsize": number,
                    }
                ),
            },
            "filesystem",
        ),
        "first-boot": _keys(
            {
                "source": choice("from-url", "from-iso"),
                "ordering": choice("before-network", "network-online", "fully-up"),
                "url": text,
                "cert-fingerprint": text,
            },
            "source",
        ),
        "post-installation-webhook": _keys(
            {"url": text, "cert-fingerprint": text, "auth-token": text}, "url"
        ),
    },
    ("global", "network", "disk-setup"),
)
_SECTIONS = ("global", "network", "disk-setup", "first-boot", "post-installation-webhook")


def check(data: bytes) -> Checked:
    """TOML with one of the sections is an answer file; any other is nobody's."""
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        return Checked.of("TOML", [problem(f"not TOML: {e}")])
    if not any(nearest(key, _SECTIONS) for key in document):
        return Checked("")
    return Checked.of("Proxmox answer file", _findings(document))


def _findings(document: Mapping[str, object]) -> Iterator[Finding]:
    yield from _FILE(document, "")
    yield from _passwords(_section(document, "global"))
    if "network" in document:
        yield from _network(_section(document, "network"))
    if "disk-setup" in document:
        yield from _disks(_section(document, "disk-setup"))
    hook = _section(document, "first-boot")
    if hook.get("source") == "from-url" and "url" not in hook:
        yield problem("url is missing: the source is from-url", "first-boot")


def _section(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    """:returns: what is in it, keys as they are spelled today."""
    section = document.get(name)
    if not isinstance(section, Mapping):
        return {}
    return {str(key).replace("_", "-"): value for key, value in section.items()}


def _passwords(section: Mapping[str, object]) -> Iterator[Finding]:
    plain, hashed = section.get("root-password"), section.get("root-password-hashed")
    if section and plain is None and hashed is None:
        yield problem("root-password or root-password-hashed is missing", "global")
    if plain is not None and hashed is not None:
        yield problem("want root-password or root-password-hashed, not both", "global")
    if isinstance(plain, str) and len(plain) < _MIN_PASSWORD:
        text_ = f"want {_MIN_PASSWORD} characters or more"
        yield problem(text_, "global.root-password")
    if isinstance(hashed, str) and not hashed.startswith("$"):
        text_ = "want a hash, as mkpasswd prints it: it begins with $"
        yield problem(text_, "global.root-password-hashed")


def _network(section: Mapping[str, object]) -> Iterator[Finding]:
    source = section.get("source")
    fixed = [each for each in ("cidr", "dns", "gateway", "filter") if each in section]
    if source is None:
        yield warning('source is missing: newer installers want source = "from-dhcp"', "network")
    if source == "from-answer":
        for each in ("cidr", "dns", "gateway"):
            if each not in section:
                yield problem(f"{each} is missing: the source is from-answer", "network")
    elif fixed and source in (None, "from-dhcp"):
        text_ = f'{fixed[0]} is only for source = "from-answer"'
        yield problem(text_, f"network.{fixed[0]}")


def _disks(section: Mapping[str, object]) -> Iterator[Finding]:
    disks, filters = section.get("disk-list"), section.get("filter")
    if not disks and not filters:
        yield problem("disk-list or filter is missing: which disks?", "disk-setup")
    if disks and filters:
        yield problem("want disk-list or filter, not both", "disk-setup")
    filesystem = section.get("filesystem")
    if isinstance(disks, list):
        if filesystem in _OPTIONS["lvm"] and len(disks) > 1:
            yield problem(f"want one disk for {filesystem}", "disk-setup.disk-list")
        if len({str(each) for each in disks}) < len(disks):
            yield problem("a disk is there twice", "disk-setup.disk-list")
    for name, filesystems in _OPTIONS.items():
        options = section.get(name)
        if options is not None and isinstance(filesystem, str) and filesystem not in filesystems:
            yield problem(f"not for filesystem {filesystem}", f"disk-setup.{name}")
        if filesystem == name and not (isinstance(options, Mapping) and "raid" in options):
            yield problem(f"{name}.raid is missing", "disk-setup")
