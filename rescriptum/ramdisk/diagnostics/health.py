"""What a drive says of itself, as smartctl and nvme print it."""

import json
from typing import Final

from attrs import frozen

from ..tools import Ran
from .outcome import Verdict

#: Of ATA: sectors that wait to be written elsewhere, and those that could not be read.
_PENDING, _UNREADABLE, _REALLOCATED = 197, 198, 5
#: smartctl(8), exit status: the drive says that it fails, or soon will.
_FAILING: Final = 8


@frozen
class Health:
    """:ivar detail: one clause, for people."""

    verdict: Verdict
    detail: str


def nvme(ran: Ran) -> Health:
    """:param ran: ``nvme smart-log --output-format=json``."""
    log = _document(ran.stdout)
    warning = _number(log.get("critical_warning"))
    if warning is None:
        return Health(Verdict.SKIPPED, "the drive tells nothing of its health")
    spare, least = _number(log.get("avail_spare")), _number(log.get("spare_thresh"))
    told = _told(
        used=log.get("percent_used", log.get("percentage_used")),
        spare=log.get("avail_spare"),
        media_errors=log.get("media_errors"),
    )
    if warning:
        return Health(Verdict.FAILED, f"critical warning 0x{warning:02x}{told}")
    if spare is not None and least is not None and spare < least:
        return Health(Verdict.FAILED, f"less spare than the {least} % that it needs{told}")
    return Health(Verdict.PASSED, f"no warning{told}")


def smartctl(ran: Ran) -> Health:
    """:param ran: ``smartctl --json --all``."""
    said = _document(ran.stdout)
    whole = _object(said.get("smart_status")).get("passed")
    table = _object(said.get("ata_smart_attributes")).get("table")
    raw: dict[object, int] = {}
    for each in table if isinstance(table, list) else ():
        row = _object(each)
        number = _number(_object(row.get("raw")).get("value"))
        if isinstance(row.get("id"), int) and number is not None:
            raw[row["id"]] = number
    told = _told(
        reallocated=raw.get(_REALLOCATED),
        grown_defects=said.get("scsi_grown_defect_list"),
    )
    if whole is False or (ran.status > 0 and ran.status & _FAILING):
        return Health(Verdict.FAILED, f"the drive says that it fails{told}")
    for attribute, what in ((_PENDING, "waiting"), (_UNREADABLE, "unreadable")):
        if raw.get(attribute):
            return Health(Verdict.FAILED, f"{raw[attribute]} {what} sectors{told}")
    if whole is not True:
        return Health(Verdict.SKIPPED, "the drive tells nothing of its health")
    return Health(Verdict.PASSED, f"the drive says that it is well{told}")


def _document(output: bytes) -> dict[str, object]:
    try:
        return _object(json.loads(output))
    except (ValueError, RecursionError):
        return {}


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int | None:
    """Some releases write long numbers as texts, or take them apart beside ``value``."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 40:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _told(**values: object) -> str:
    numbers = {name: _number(value) for name, value in values.items()}
    found = [f"{name} {value}" for name, value in numbers.items() if value is not None]
    return "".join(f", {each.replace('_', ' ')}" for each in found)
