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
from .ignitionspec import SPEC_2, SPEC_3
from .shape import shown, words

_VERSION = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+(-experimental)?")
_NODES = words("files directories links")

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
        return Checked.of(kind, SPEC_2(document, ""))
    if match[1] != "3":
        wrong = [problem(f"want a version of 2 or 3, not {version}", "ignition.version")]
        return Checked.of(kind, wrong)
    return Checked.of(kind, _third(document))


def _third(document: Mapping[str, object]) -> Iterator[Finding]:
    yield from SPEC_3(document, "")
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
