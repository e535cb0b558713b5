"""What ipmitool prints, as values: whatever it prints, nothing but BmcRefusal is raised."""

import csv
import re
from collections.abc import Mapping
from typing import Final

from ...contract.bmc import BmcRefusal, BootTarget, PowerState

#: Entries of an event log, and characters of each text in it.
MOST_EVENTS, LONGEST_TEXT = 500, 200

_DATA: Final = re.compile(r"^Boot parameter data: ([0-9a-f]{10})", re.I | re.M)
_POWER: Final = re.compile(r"^Chassis Power is (on|off)\s*$", re.I | re.M)
#: Bits 5 to 2 of the second byte of boot flags: IPMI 2.0 table 28-14.
_DEVICES: Final[Mapping[int, BootTarget]] = {
    0: BootTarget.NONE,
    1: BootTarget.PXE,
    2: BootTarget.HDD,
    5: BootTarget.CD,
}
_VALID, _PERSISTENT, _EFI = 0x80, 0x40, 0x20


def power(printed: str) -> PowerState:
    """:returns: of ``chassis power status``."""
    found = _POWER.search(printed)
    return PowerState(found[1].lower()) if found else PowerState.UNKNOWN


def override(printed: str) -> dict[str, object]:
    """
    :returns: of ``chassis bootparam get 5``: where nothing is set, target ``none``.
    :raises BmcRefusal: ``bad-response``.
    """
    flags = _flags(printed)
    valid = bool(flags[0] & _VALID)
    return {
        "target": _target(flags) if valid else BootTarget.NONE.value,
        "once": valid and not flags[0] & _PERSISTENT,
        "uefi": bool(flags[0] & _EFI) if valid else None,
    }


def selected(printed: str) -> str:
    """
    :returns: of the same, the target alone, whether the BMC calls it valid or not: some never do.
    :raises BmcRefusal: ``bad-response``.
    """
    return _target(_flags(printed))


def _flags(printed: str) -> bytes:
    found = _DATA.search(printed)
    if found is None:
        raise BmcRefusal("bad-response", "ipmitool shows no boot flags")
    return bytes.fromhex(found[1])


def _target(flags: bytes) -> str:
    device = _DEVICES.get(flags[1] >> 2 & 0x0F)
    return "unknown" if device is None else device.value


def fields(printed: str) -> dict[str, str]:
    """:returns: of ``mc info`` and ``fru print``: the first of each name counts."""
    found: dict[str, str] = {}
    for line in printed.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() and value.strip():
            found.setdefault(name.strip(), value.strip()[:LONGEST_TEXT])
    return found


def inventory(controller: str, fru: str) -> dict[str, object]:
    """
    :param controller: of ``mc info``. :param fru: of ``fru print 0``; empty: there is none.
    :returns: what IPMI knows of a machine; what it does not know is left out.
    """
    mc, board = fields(controller), fields(fru)
    wanted = {
        "manufacturer": board.get("Product Manufacturer") or board.get("Board Mfg"),
        "model": board.get("Product Name") or board.get("Board Product"),
        "serial": board.get("Product Serial") or board.get("Chassis Serial"),
        "board_serial": board.get("Board Serial"),
        "bmc_version": mc.get("Firmware Revision"),
        "bmc_manufacturer": mc.get("Manufacturer Name"),
        "ipmi_version": mc.get("IPMI Version"),
    }
    return {name: value for name, value in wanted.items() if value}


def events(printed: str) -> list[dict[str, object]]:
    """:returns: of ``-c sel list``: the newest, in the order of the log."""
    names = ("id", "date", "time", "sensor", "event", "direction")
    found: list[dict[str, object]] = []
    lines = [line for line in printed.splitlines() if line.strip() and "\0" not in line]
    for line in lines[-MOST_EVENTS:]:
        try:
            [row] = csv.reader([line[: 6 * LONGEST_TEXT]])
        except (csv.Error, ValueError):
            continue
        if len(row) >= 2 and row[0].strip().isalnum():
            values = (each.strip()[:LONGEST_TEXT] for each in row)
            found.append(dict(zip(names, values, strict=False)))
    return found


def user_id(printed: str, username: str) -> int:
    """
    :param printed: of ``user list``.
    :raises BmcRefusal: ``not-found``.
    """
    for line in printed.splitlines():
        number, name = line[:4].strip(), line[4:21].strip()
        if number.isascii() and number.isdigit() and name == username:
            return int(number)
    raise BmcRefusal("not-found", "the BMC lists no such user")
