"""What a machine boots from next, as Redfish has it: a triple that goes and comes as a whole."""

from collections.abc import Mapping
from typing import Final

from ...contract.bmc import BmcRefusal, BootTarget, SetOverride
from .documents import Document, inner, link, text, texts

TARGET: Final = "BootSourceOverrideTarget"
ENABLED: Final = "BootSourceOverrideEnabled"
MODE: Final = "BootSourceOverrideMode"
_ALLOWED: Final = "@Redfish.AllowableValues"

#: What each target is called: the first that the machine allows. A CD that the BMC emulates is
#: ``UsbCd`` at some (W235).
TARGETS: Final[Mapping[BootTarget, tuple[str, ...]]] = {
    BootTarget.PXE: ("Pxe",),
    BootTarget.HTTP: ("UefiHttp",),
    BootTarget.HDD: ("Hdd",),
    BootTarget.CD: ("Cd", "UsbCd"),
    BootTarget.NONE: ("None",),
}
_BY_NAME: Final = {name: target for target, names in TARGETS.items() for name in names}
_UEFI: Final = {"UEFI": True, "Legacy": False}
_MODES: Final = {True: "UEFI", False: "Legacy"}


def boot_of(system: Document) -> Document:
    """:param system: or its settings."""
    return inner(system, "Boot")


def settings_of(system: Document) -> str:
    """:returns: where changes for the next boot go, if not to the machine itself (W221)."""
    return link(system, "@Redfish.Settings", "SettingsObject")


def described(boot: Document) -> dict[str, object]:
    """:returns: the data of ``boot.getOverride``."""
    name, enabled = text(boot, TARGET), text(boot, ENABLED)
    off = enabled == "Disabled" or name in ("None", "")
    target = BootTarget.NONE.value if off else _named(name)
    return {
        "target": target,
        "once": enabled == "Once" and not off,
        "uefi": _UEFI.get(text(boot, MODE)),
        "reported": {TARGET: name, ENABLED: enabled, MODE: text(boot, MODE)},
    }


def _named(name: str) -> str:
    found = _BY_NAME.get(name)
    return found.value if found else "other"


def triple(boot: Document, args: SetOverride, mode: bool = True) -> dict[str, object]:
    """
    :param boot: as it is. :param mode: whether the machine can be told the mode at all (W219).
    :returns: what is sent: always all of it, since what is not sent may be reset (W218, W222).
    :raises BmcRefusal: ``unsupported-operation`` for what the machine does not allow.
    """
    if args.target is BootTarget.HTTP and args.uefi is False:
        raise BmcRefusal("unsupported-operation", f"{TARGET} by HTTP is UEFI's alone")
    off = args.target is BootTarget.NONE
    wanted = "Disabled" if off else "Once" if args.once else "Continuous"
    _allowed(boot, ENABLED, (wanted,))  # Lenovo's know no Continuous (W220)
    made: dict[str, object] = {
        ENABLED: wanted,
        TARGET: "None" if off else _allowed(boot, TARGET, TARGETS[args.target]),
    }
    uefi = True if args.target is BootTarget.HTTP else args.uefi
    now = text(boot, MODE)
    spelt = _MODES[uefi] if uefi is not None else now
    if mode and spelt:
        made[MODE] = spelt if uefi is None else _allowed(boot, MODE, (spelt,))
    if args.url:
        made["HttpBootUri"] = args.url
    return made


def _allowed(boot: Document, name: str, wanted: tuple[str, ...]) -> str:
    allowed = texts(boot, name + _ALLOWED)
    if not allowed:
        return wanted[0]
    for each in wanted:
        if each in allowed:
            return each
    raise BmcRefusal(
        "unsupported-operation",
        f"{name} cannot be {' or '.join(wanted)} here, but {', '.join(allowed)}",
    )


def holds(boot: Document, args: SetOverride) -> bool:
    """
    Whether what reads back is what was asked.

    A machine that reports ``Continuous`` where ``Once`` was asked has taken the target: the data
    say so, and the caller is to clear it.
    """
    read = described(boot)
    if read["target"] != args.target.value:
        return False
    if args.target is BootTarget.NONE:
        return True
    return args.once or not read["once"]


def mode_differs(boot: Document, args: SetOverride) -> bool:
    """:returns: whether the machine boots in another mode than it was told."""
    now = _UEFI.get(text(boot, MODE))
    return args.uefi is not None and now is not None and now is not args.uefi
