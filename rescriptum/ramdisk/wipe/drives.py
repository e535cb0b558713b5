"""What a drive says that it can do about itself: NVMe by its controller, SATA by its identity."""

import re
from typing import Final, Self

from attrs import frozen

from ...contract.refusals import Rejected
from ...contract.structure import parsed

#: Bits of OACS and of FNA: NVM Express base specification 2.0, figure 275.
_FORMATS: Final = 1 << 1
_ERASE_OF_ALL: Final = 1 << 1
_CRYPTO: Final = 1 << 2
#: Minutes that a SATA drive says when it is that or longer (W269).
_OR_LONGER: Final = 508


@frozen
class NvmeAbilities:
    """
    :ivar formats: whether it has the command at all (W261).
    :ivar crypto: whether it can throw its key away.
    :ivar all_namespaces: whether an erase empties every namespace of the controller (W262).
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
        try:
            document = parsed(output)
        except Rejected:
            return None
        if not isinstance(document, dict):
            return None
        oacs, fna = document.get("oacs"), document.get("fna")
        if not isinstance(oacs, int) or not isinstance(fna, int):
            return None
        return cls(bool(oacs & _FORMATS), bool(fna & _CRYPTO), bool(fna & _ERASE_OF_ALL), oacs, fna)


@frozen
class AtaAbilities:
    """
    :ivar supported: whether it can erase itself: what ``hdparm`` exits with says nothing of it.
    :ivar enhanced: whether it can do so with a pattern of its own (W268), reallocated sectors too.
    :ivar enabled: whether a password is set. :ivar locked: whether it wants that first (W267).
    :ivar frozen: whether the firmware has forbidden it until the next power cycle (W266).
    :ivar minutes: that an erase takes, by its own word (W269).
    """

    supported: bool
    enhanced: bool
    enabled: bool
    locked: bool
    frozen: bool
    minutes: int

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
        flags = {}
        for line in section.splitlines():
            words = line.split()
            for name in ("supported", "enabled", "locked", "frozen"):
                if words and words[-1] == name and len(words) <= 2:
                    flags[name] = words[0] != "not"
        enhanced = "supported: enhanced erase" in section and "not\tsupported: enh" not in section
        times = [int(each) for each in re.findall(r"(\d+)min for", section)]
        minutes = max(times[-1 if enhanced else 0], 1) if times else _OR_LONGER
        return cls(
            flags.get("supported", False),
            enhanced,
            flags.get("enabled", False),
            flags.get("locked", False),
            flags.get("frozen", False),
            minutes,
        )

    @property
    def seconds(self) -> float:
        """Until it may be given up: twice its own word, and half a day where that has no end."""
        return 12 * 3600.0 if self.minutes >= _OR_LONGER else self.minutes * 60.0 * 2 + 60
