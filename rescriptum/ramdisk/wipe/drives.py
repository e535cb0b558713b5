"""What a drive says that it can do about itself: NVMe by its controller, SATA by its identity."""

import re
from typing import Final, Self

from attrs import frozen

from ...contract.refusals import Rejected
from ...contract.structure import JSON, parsed

#: Bits of OACS and of FNA: NVM Express base specification 2.0, figure 275.
_FORMATS: Final = 1 << 1
_OF_ALL: Final = 1 << 0 | 1 << 1
_CRYPTO: Final = 1 << 2
#: Minutes that a SATA drive says when it is that or longer (W269).
_OR_LONGER: Final = 508
#: Sectors that are there for us, of those that the drive has.
_SECTORS: Final = re.compile(r"max sectors\s*=\s*(\d+)/(\d+)")


@frozen
class NvmeAbilities:
    """
    :ivar formats: whether it has the command at all (W261).
    :ivar crypto: whether it can throw its key away.
    :ivar all_namespaces: whether a format, or the erase that comes with one, reaches every
        namespace of the controller (W262).
    """

    formats: bool
    crypto: bool
    all_namespaces: bool
    oacs: int
    fna: int

    @classmethod
    def of(cls, output: bytes) -> Self | None:
        """
        :param output: of ``nvme id-ctrl --output-format=json``.
        :returns: None: it does not say.
        """
        document = _document(output)
        oacs, fna = document.get("oacs"), document.get("fna")
        if type(oacs) is not int or type(fna) is not int:
            return None
        return cls(bool(oacs & _FORMATS), bool(fna & _CRYPTO), bool(fna & _OF_ALL), oacs, fna)


def namespaces(output: bytes) -> int:
    """
    :param output: of ``nvme list-ns --all --output-format=json``.
    :returns: how many the controller has, the ones that no machine sees too; 0: it does not say.
    """
    listed = _document(output).get("nsid_list")
    return len(listed) if isinstance(listed, list) else 0


@frozen
class AtaAbilities:
    """
    :ivar supported: whether it can erase itself: what ``hdparm`` exits with says nothing of it.
    :ivar enhanced: whether it can do so with a pattern of its own (W268), reallocated sectors too.
    :ivar enabled: whether a password is set. :ivar locked: whether it wants that first (W267).
    :ivar frozen: whether the firmware has forbidden it until the next power cycle (W266).
    :ivar minutes: that an erase takes, by its own word (W269).
    :ivar enhanced_minutes: that an enhanced one does.
    """

    supported: bool
    enhanced: bool
    enabled: bool
    locked: bool
    frozen: bool
    minutes: int
    enhanced_minutes: int

    @classmethod
    def of(cls, output: bytes) -> Self | None:
        """
        :param output: of ``hdparm -I``.
        :returns: None: it has no such section: a bridge (W270), or no drive that can.
        """
        text = output.decode("utf-8", "replace")
        _, found, section = text.partition("\nSecurity:")
        if not found:
            return None
        section = re.split(r"\n\S", section, maxsplit=1)[0]
        flags: dict[str, bool] = {}
        for line in section.splitlines():
            words = line.split()
            name = " ".join(each for each in words if each != "not")
            if name in ("supported", "enabled", "locked", "frozen", "supported: enhanced erase"):
                flags[name] = "not" not in words

        def minutes(what: str) -> int:
            said = re.search(rf"(\d{{1,9}})min for {what}", section)
            return max(int(said[1]), 1) if said else _OR_LONGER

        return cls(
            flags.get("supported", False),
            flags.get("supported: enhanced erase", False),
            flags.get("enabled", False),
            flags.get("locked", False),
            flags.get("frozen", False),
            minutes("SECURITY"),
            minutes("ENHANCED"),
        )

    def took(self, enhanced: bool) -> float:
        """:returns: seconds that an erase takes, by the drive's own word."""
        return 60.0 * (self.enhanced_minutes if enhanced else self.minutes)

    def allowed(self, enhanced: bool) -> float:
        """:returns: seconds until it may be given up: twice its word, which may have no end."""
        took = self.took(enhanced)
        return 12 * 3600.0 if took >= 60 * _OR_LONGER else took * 2 + 60

    @property
    def document(self) -> JSON:
        """What a certificate keeps of it."""
        named = ("supported", "enhanced", "enabled", "locked", "frozen")
        bits = [name for name in named if getattr(self, name)]
        return {"security": bits, "minutes": self.minutes}


def hidden(output: bytes, sectors: int) -> int:
    """
    :param output: of ``hdparm -N``. :param sectors: that the kernel sees: where those are others,
        it is no ATA drive that has answered.
    :returns: sectors that the drive keeps from everybody, as a host protected area.
    """
    said = _SECTORS.search(output.decode("utf-8", "replace"))
    if said is None or int(said[1][:18]) != sectors:
        return 0
    return max(int(said[2][:18]) - sectors, 0)


def _document(output: bytes) -> JSON:
    try:
        document = parsed(output)
    except Rejected:
        return {}
    return document if isinstance(document, dict) else {}
