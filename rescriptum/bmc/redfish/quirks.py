"""What is known of one BMC: read once, so that later operations begin where earlier ones ended."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from attrs import evolve, field, frozen

#: In place of a path of sessions: there are none, every request carries the credential.
BASIC: Final = "basic"
#: BMCs of which something is kept in memory.
KEPT: Final = 4096


@frozen
class QuirkProfile:
    """
    How one BMC goes about Redfish. Every field is a hint: empty means "find out".

    :ivar vendor: as the BMC calls itself. :ivar version: of Redfish.
    :ivar sessions: path at which sessions are opened, or ``basic``.
    :ivar system: path of the machine. :ivar manager: path of the BMC itself.
    :ivar etag: which ETag a change wants (W213-W217).
    :ivar resets: reset types that it allows. :ivar reset_target: where they are posted.
    :ivar boot_targets: what it lets override the boot. :ivar boot_modes: how.
    :ivar boot_settings: path of the resource that takes changes for the next boot (W221).
    :ivar boot_mode_fixed: whether it refuses to be told the mode (W219).
    :ivar media: path of the slot that images go into. :ivar media_form: what inserting takes.
    :ivar accounts: path of the accounts. :ivar updates: path of the update service.
    """

    vendor: str = ""
    version: str = ""
    sessions: str = ""
    system: str = ""
    manager: str = ""
    etag: str = ""
    resets: tuple[str, ...] = ()
    reset_target: str = ""
    boot_targets: tuple[str, ...] = ()
    boot_modes: tuple[str, ...] = ()
    boot_settings: str = ""
    boot_mode_fixed: bool = False
    media: str = ""
    media_form: str = ""
    accounts: str = ""
    updates: str = ""

    def told(self, masked: Callable[[str], str]) -> "QuirkProfile":
        """
        :param masked: takes secrets out of a text.
        :returns: the same, whatever the BMC repeats in what it calls itself and its choices. Paths
            stay as they are: they are asked for.
        """
        return evolve(
            self,
            vendor=masked(self.vendor),
            version=masked(self.version),
            resets=tuple(map(masked, self.resets)),
            boot_targets=tuple(map(masked, self.boot_targets)),
            boot_modes=tuple(map(masked, self.boot_modes)),
        )


@frozen
class Profiles:
    """Of all BMCs, by address; the one that was not learnt of for the longest time is forgotten."""

    _kept: "OrderedDict[tuple[str, str], QuirkProfile]" = field(factory=OrderedDict)

    def of(self, address: str, system: str = "") -> QuirkProfile:
        """
        :param system: as the operator named it, where a BMC has several.
        :returns: an empty one for a BMC that nothing is known of.
        """
        return self._kept.get((address.lower(), system), QuirkProfile())

    def keep(self, address: str, profile: QuirkProfile, system: str = "") -> None:
        """In place of what was known."""
        key = (address.lower(), system)
        self._kept[key] = profile
        self._kept.move_to_end(key)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
