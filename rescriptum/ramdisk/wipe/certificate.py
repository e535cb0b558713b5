"""What is said of a wipe: what was done, how it was looked at, and what it leaves out."""

from typing import Final

from attrs import field, frozen

from ...contract.ramdisk import WipeMode
from ...contract.structure import JSON

#: What no method of ours reaches, by mode; the first is of all of them.
_LEFT_OUT: Final = "firmware's own store: TPM, UEFI variables, pstore (W286)"
_BEYOND: Final = {
    "quick": ("everything but what makes it boot, mount or assemble",),
    "overwrite": ("sectors that the drive keeps in reserve, or has hidden (HPA, DCO)",),
    "blkdiscard-secure": ("sectors that the drive does not own up to",),
    "ata-erase": ("sectors that the drive has hidden (HPA, DCO)",),
    "ata-enhanced-erase": (),
    "nvme-erase": (),
    "nvme-crypto-erase": (),
}


@frozen
class Try:
    """One method on one disk. :ivar outcome: ``done``, or why it was not, or did not do it."""

    method: str
    outcome: str


@frozen
class Sampled:
    """
    How it was looked at: whoever doubts can look at the same places again.

    :ivar seed: of the places: see :func:`rescriptum.ramdisk.wipe.places.samples`.
    :ivar wrong: of them that still hold what they held.
    """

    seed: int
    places: int
    wrong: int


@frozen
class DiskCertificate:
    """
    One disk.

    :ivar method: the one that did it; empty: none did.
    :ivar verified: whether what was there is gone, as far as was looked.
    :ivar abilities: what the drive said that it can do, in its own numbers.
    """

    name: str
    model: str
    serial: str
    wwn: str
    size: int
    mode: WipeMode
    method: str = ""
    verified: bool = False
    tries: tuple[Try, ...] = ()
    sampled: Sampled | None = None
    abilities: JSON = field(factory=dict)
    seconds: float = 0.0

    @property
    def leaves_out(self) -> tuple[str, ...]:
        """What it does *not* cover."""
        return (*_BEYOND.get(self.method, ("everything",)), _LEFT_OUT)

    @property
    def document(self) -> JSON:
        """As it travels."""
        return {
            "disk": self.name,
            "model": self.model,
            "serial": self.serial,
            "wwn": self.wwn,
            "size": self.size,
            "mode": self.mode.value,
            "method": self.method,
            "verified": self.verified,
            "tries": [{"method": each.method, "outcome": each.outcome} for each in self.tries],
            "sampled": None
            if self.sampled is None
            else {
                "seed": self.sampled.seed,
                "places": self.sampled.places,
                "wrong": self.sampled.wrong,
            },
            "abilities": self.abilities,
            "seconds": self.seconds,
            "leaves_out": list(self.leaves_out),
        }
