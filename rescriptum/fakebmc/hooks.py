"""What a program is told of a machine whose part it plays."""

from collections.abc import Mapping

from .state import Changed

#: What a machine boots from, as a program is told it.
_BOOT = {"Pxe": "pxe", "UefiHttp": "http", "Hdd": "hdd", "Cd": "cd", "UsbCd": "cd"}


def variables(change: Changed) -> Mapping[str, str]:
    """:returns: of the program's environment."""
    override = change.override
    held = override.enabled != "Disabled"
    return {
        "BMC_EVENT": change.what,
        "BMC_POWER": "on" if change.on else "off",
        "BMC_BOOT": _BOOT.get(override.target, "") if held else "",
        "BMC_BOOT_MODE": override.mode.lower(),
        "BMC_BOOT_URI": override.uri if held else "",
        "BMC_MEDIA": change.media,
    }
