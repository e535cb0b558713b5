"""
What the values of Ignition's configurations have to be.

Facts: the configuration specifications 3.0 to 3.6 and 2.x of github.com/coreos/ignition.
"""

import re
from collections.abc import Iterator

from .finding import Finding, problem, warning
from .shape import Shape, anything, by_kind, flag, listed, shown, table, text, whole, words

_SCHEMES = words("http https tftp s3 arn gs data")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_HASH = re.compile(r"sha512-[0-9a-fA-F]{128}|sha256-[0-9a-fA-F]{64}")
_UNITS = words("service socket device mount automount swap target path timer snapshot slice scope")
_PERMISSIONS = 0o7777
_OCTAL = re.compile(r"[0-7]{3}")


def _source(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if not isinstance(value, str) or not value:
        return
    scheme = _SCHEME.match(value)
    if scheme is None:
        yield problem(f"want a URL, as data:,text or https://…, not {shown(value)}", at)
    elif scheme[1].lower() not in _SCHEMES:
        yield problem(f"want a URL of {', '.join(_SCHEMES)}, not of {scheme[1]}", at)


def _path(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str) and not value.startswith("/"):
        yield problem(f"want an absolute path, not {shown(value)}", at)


def _mode(value: object, at: str) -> Iterator[Finding]:
    yield from whole(value, at)
    if not isinstance(value, int) or isinstance(value, bool):
        return
    if not 0 <= value <= _PERMISSIONS:
        yield problem(f"want 0 to {_PERMISSIONS}, in decimal, not {value}", at)
    elif value > 0o777 and _OCTAL.fullmatch(str(value)):
        meant = int(str(value), 8)
        yield warning(f"{value} is decimal, octal {value:o}: for octal {value} write {meant}", at)


def _hash(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str) and not _HASH.fullmatch(value):
        yield problem("want sha512- and 128 hexadecimal digits, or sha256- and 64", at)


def _unit(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str) and value.rpartition(".")[2] not in _UNITS:
        yield problem(f"want a unit's name, as a.service, not {shown(value)}", at)


def _dropin(value: object, at: str) -> Iterator[Finding]:
    yield from text(value, at)
    if isinstance(value, str) and not value.endswith(".conf"):
        yield problem(f"want a name that ends in .conf, not {shown(value)}", at)


_TEXTS = listed(text)
_RESOURCE = table(
    {
        "source": _source,
        "compression": text,
        "httpHeaders": listed(table({"name": text, "value": text}, ["name"])),
        "verification": table({"hash": _hash}),
    }
)
_OWNER = table({"id": whole, "name": text})
_NODE: dict[str, Shape] = {"path": _path, "overwrite": flag, "user": _OWNER, "group": _OWNER}
_PARTITION = table(
    {
        **dict.fromkeys(words("label guid typeGuid"), text),
        **dict.fromkeys(words("number sizeMiB startMiB"), whole),
        **dict.fromkeys(words("resize shouldExist wipePartitionEntry"), flag),
    }
)
_LUKS = table(
    {
        "name": text,
        "device": _path,
        "keyFile": _RESOURCE,
        "clevis": table(
            {
                "custom": table({"config": text, "needsNetwork": flag, "pin": text}),
                "tang": listed(
                    table({"advertisement": text, "thumbprint": text, "url": text}, ["url"])
                ),
                "threshold": whole,
                "tpm2": flag,
            }
        ),
        "cex": table({"enabled": flag}),
        **dict.fromkeys(words("label uuid"), text),
        **dict.fromkeys(words("options openOptions"), _TEXTS),
        **dict.fromkeys(words("discard wipeVolume"), flag),
    },
    ["name"],
)
_STORAGE = table(
    {
        "disks": listed(
            table(
                {"device": _path, "wipeTable": flag, "partitions": listed(_PARTITION)}, ["device"]
            )
        ),
        "raid": listed(
            table(
                {
                    "name": text,
                    "level": text,
                    "devices": listed(_path),
                    "spares": whole,
                    "options": _TEXTS,
                },
                ["name"],
            )
        ),
        "filesystems": listed(
            table(
                {
                    "device": _path,
                    "path": _path,
                    "wipeFilesystem": flag,
                    **dict.fromkeys(words("format label uuid"), text),
                    **dict.fromkeys(words("options mountOptions"), _TEXTS),
                },
                ["device"],
            )
        ),
        "files": listed(
            table(
                {**_NODE, "mode": _mode, "contents": _RESOURCE, "append": listed(_RESOURCE)},
                ["path"],
            )
        ),
        "directories": listed(table({**_NODE, "mode": _mode}, ["path"])),
        "links": listed(table({**_NODE, "target": text, "hard": flag}, ["path"])),
        "luks": listed(_LUKS),
    }
)
_UNIT = table(
    {
        "name": _unit,
        "contents": text,
        "enabled": flag,
        "mask": flag,
        "dropins": listed(table({"name": _dropin, "contents": text}, ["name"])),
    },
    ["name"],
)
_USER = table(
    {
        **dict.fromkeys(words("name gecos homeDir passwordHash primaryGroup shell"), text),
        **dict.fromkeys(words("groups sshAuthorizedKeys"), _TEXTS),
        **dict.fromkeys(words("noCreateHome noLogInit noUserGroup shouldExist system"), flag),
        "uid": whole,
    },
    ["name"],
)
_GROUP = table(
    {
        **dict.fromkeys(words("name passwordHash"), text),
        **dict.fromkeys(words("shouldExist system"), flag),
        "gid": whole,
    },
    ["name"],
)
#: Versions 3.0 to 3.6: what any of them knows.
SPEC_3 = table(
    {
        "ignition": table(
            {
                "version": text,
                "config": table({"merge": listed(_RESOURCE), "replace": _RESOURCE}),
                "timeouts": table({"httpResponseHeaders": whole, "httpTotal": whole}),
                "security": table({"tls": table({"certificateAuthorities": listed(_RESOURCE)})}),
                "proxy": table({"httpProxy": text, "httpsProxy": text, "noProxy": _TEXTS}),
            }
        ),
        "storage": _STORAGE,
        "systemd": table({"units": listed(_UNIT)}),
        "passwd": table({"users": listed(_USER), "groups": listed(_GROUP)}),
        "kernelArguments": table({"shouldExist": _TEXTS, "shouldNotExist": _TEXTS}),
    }
)
_TABLES = listed(by_kind(table=anything))
#: Versions 2.x: which lists there are, and no more.
SPEC_2 = table(
    {
        "ignition": by_kind(table=anything),
        "storage": table(
            dict.fromkeys(words("disks raid filesystems files directories links"), _TABLES)
        ),
        "systemd": table({"units": _TABLES}),
        "networkd": table({"units": _TABLES}),
        "passwd": table({"users": _TABLES, "groups": _TABLES}),
    }
)
