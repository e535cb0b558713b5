"""
Ignition's configurations, for Fedora CoreOS, RHEL CoreOS and Flatcar.

Facts: the configuration specifications 3.0 to 3.6 and 2.x and the validation in
``config/v3_*/types`` of github.com/coreos/ignition. Ignition warns of keys that it does not know
and fails on anything of a wrong type; an installation then ends in an emergency shell.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from .finding import Checked, Finding, problem, warning
from .shape import Shape, anything, by_kind, flag, listed, shown, table, text, whole, words

_VERSION = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+(-experimental)?")
_SCHEMES = words("http https tftp s3 arn gs data")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_HASH = re.compile(r"sha512-[0-9a-fA-F]{128}|sha256-[0-9a-fA-F]{64}")
_UNITS = words("service socket device mount automount swap target path timer snapshot slice scope")
_NODES = words("files directories links")
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
_SPEC_3 = table(
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
_SPEC_2 = table(
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

#: Lists whose entries are told apart by one key, which none may share (specification 3).
_UNIQUE = (
    ("storage.disks", "device"),
    ("storage.raid", "name"),
    ("storage.filesystems", "device"),
    ("storage.luks", "name"),
    ("systemd.units", "name"),
    ("passwd.users", "name"),
    ("passwd.groups", "name"),
)


def check(data: bytes) -> Checked:
    """What ends in ``.ign`` is for Ignition."""
    return _checked(data, always=True)


def check_json(data: bytes) -> Checked:
    """JSON may be anybody's: it is for Ignition where it says so."""
    return _checked(data, always=False)


def _checked(data: bytes, always: bool) -> Checked:
    try:
        document = _without_nothing(json.loads(data))
    except (ValueError, RecursionError) as e:
        return Checked.of("JSON", [problem(f"not JSON: {e}")])
    if not isinstance(document, Mapping):
        wrong = [problem(f"want a table, not {shown(document)}")]
        return Checked.of("Ignition", wrong) if always else Checked("")
    if "ignition" not in document and not always:
        return Checked("")
    version = _dig(document, "ignition.version")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        wanted = 'want a version, as "3.4.0"'
        said = (
            f"{wanted}, not {shown(version)}" if version is not None else f"{wanted}; it has none"
        )
        return Checked.of("Ignition", [problem(said, "ignition.version")])
    kind = f"Ignition {version}"
    if match[1] == "2":
        return Checked.of(kind, _SPEC_2(document, ""))
    if match[1] != "3":
        wrong = [problem(f"want a version of 2 or 3, not {version}", "ignition.version")]
        return Checked.of(kind, wrong)
    return Checked.of(kind, _third(document))


def _third(document: Mapping[str, object]) -> Iterator[Finding]:
    yield from _SPEC_3(document, "")
    for where, key in _UNIQUE:
        yield from _repeated([(where, each) for each in _entries(document, where)], key)
    nodes = [
        (f"storage.{kind}", e) for kind in _NODES for e in _entries(document, f"storage.{kind}")
    ]
    yield from _repeated(nodes, "path")
    for at, entry in _numbered(document, "storage.files"):
        if entry.get("overwrite") is True and _dig(entry, "contents.source") is None:
            yield problem("overwrite needs contents with a source", at)
    for at, entry in _numbered(document, "storage.filesystems"):
        if "format" not in entry:
            yield problem("format is missing", at)
    for at, entry in _numbered(document, "storage.links"):
        if "target" not in entry:
            yield problem("target is missing", at)
    for at, entry in _numbered(document, "systemd.units"):
        yield from _repeated([(f"{at}.dropins", e) for e in _entries(entry, "dropins")], "name")
        contents = entry.get("contents")
        if (
            entry.get("enabled") is True
            and isinstance(contents, str)
            and "[Install]" not in contents
        ):
            yield warning("enabled, and its contents have no [Install]: nothing starts it", at)


def _without_nothing(value: object) -> object:
    """:returns: ``value`` without the keys that are null, which are as good as not there."""
    if isinstance(value, dict):
        return {key: _without_nothing(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nothing(each) for each in value]
    return value


def _dig(document: Mapping[str, object], path: str) -> object:
    value: object = document
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _entries(document: Mapping[str, object], path: str) -> Sequence[Mapping[str, object]]:
    found = _dig(document, path)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _numbered(
    document: Mapping[str, object], path: str
) -> Iterator[tuple[str, Mapping[str, object]]]:
    return ((f"{path}[{at}]", each) for at, each in enumerate(_entries(document, path)))


def _repeated(entries: Sequence[tuple[str, Mapping[str, object]]], key: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for where, entry in entries:
        name = entry.get(key)
        if not isinstance(name, str):
            continue
        if name in seen:
            yield problem(f"{key} {shown(name)} is there twice", where)
        seen.add(name)
