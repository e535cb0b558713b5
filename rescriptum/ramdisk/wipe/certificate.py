"""What is said of a wipe: what was done, how it was looked at, and what it leaves out."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import evolve, field, frozen

from ...contract.ramdisk import WipeMode
from ...contract.structure import JSON
from .places import SAMPLE, Place

#: Of the certificate, for those who read one years later.
VERSION: Final = 1
#: Bytes of a whole one: what a node signs has 48 KiB at the most, with what goes around it.
LONGEST: Final = 40 * 1024
#: Characters of one outcome; places of one disk that are named, and disks at the most.
OUTCOME: Final = 200
NAMED, _LISTED = 64, 240
#: What no method of ours reaches.
_LEFT_OUT: Final = "firmware's own store: TPM, UEFI variables, pstore (W286)"
#: THE table: what each method does not reach, beside that.
METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("everything",),
    "quick": (
        "everything but what makes it boot, mount or assemble",
        "partitions that its table did not have any more",
    ),
    "overwrite": ("sectors that the drive keeps in reserve, or has hidden (HPA, DCO)",),
    "blkdiscard-secure": ("sectors that the drive does not own up to",),
    "ata-erase": ("sectors that the drive has put away as bad, or has hidden (HPA, DCO)",),
    "ata-enhanced-erase": ("sectors that the drive has hidden (HPA, DCO)",),
    "nvme-erase": ("namespaces that are not attached to this machine",),
    "nvme-crypto-erase": ("namespaces that are not attached to this machine",),
}
#: The outcome of a method that did it.
DONE: Final = "done"


@frozen
class Try:
    """One method on one disk. :ivar outcome: ``done``, or why it was not, or did not do it."""

    method: str
    outcome: str


@frozen
class Sampled:
    """
    How it was looked at: whoever doubts can look at the same places again.

    :ivar seed: of the places, and ``count``: see :func:`rescriptum.ramdisk.wipe.places.samples`.
    :ivar places: how many that are.
    :ivar unmarked: of them that held nothing to be gone, since nothing could be written: no news.
    :ivar wrong: of them that still hold what they held.
    """

    seed: int
    count: int
    places: int
    unmarked: int
    wrong: int

    @property
    def document(self) -> JSON:
        return {
            "seed": self.seed,
            "count": self.count,
            "bytes": SAMPLE,
            "places": self.places,
            "unmarked": self.unmarked,
            "wrong": self.wrong,
        }


@frozen
class DiskCertificate:
    """
    One disk.

    :ivar paths: other names that it has (W276).
    :ivar method: the one that did it; empty: none did.
    :ivar verified: whether what was there is gone, as far as was looked.
    :ivar zeroed: what was read back as zeros at the end, all of it.
    :ivar abilities: what the drive said that it can do, in its own numbers.
    """

    name: str
    model: str
    serial: str
    wwn: str
    size: int
    paths: tuple[str, ...] = ()
    method: str = ""
    verified: bool = False
    tries: tuple[Try, ...] = ()
    sampled: Sampled | None = None
    zeroed: tuple[Place, ...] = ()
    abilities: JSON = field(factory=dict)
    seconds: float = 0.0

    @property
    def document(self) -> JSON:
        """As it travels."""
        return {
            "disk": self.name,
            "paths": list(self.paths),
            "model": self.model,
            "serial": self.serial,
            "wwn": self.wwn,
            "size": self.size,
            "method": self.method,
            "verified": self.verified,
            "tries": [
                {"method": each.method, "outcome": each.outcome[:OUTCOME]} for each in self.tries
            ],
            "sampled": None if self.sampled is None else self.sampled.document,
            "zeroed": [[each.at, each.size] for each in self.zeroed[:NAMED]],
            "abilities": self.abilities,
            "seconds": self.seconds,
            "leaves_out": [*METHODS[self.method], _LEFT_OUT],
        }


def leaves_out(method: str) -> list[str] | None:
    """:returns: what is said of a method; None: we have none of that name."""
    said = METHODS.get(method)
    return None if said is None else [*said, _LEFT_OUT]


def document(
    mode: WipeMode,
    made: Sequence[DiskCertificate],
    left: Mapping[str, str],
    complaints: Sequence[str],
) -> JSON:
    """
    :param left: names of disks that nothing was done to, and why.
    :returns: the whole certificate, with no more of each disk than there is room for.
    """
    whole: JSON = {}
    for cut in _CUTS:
        shortened = cut is not _documents
        most, long = (16, 60) if shortened else (256, OUTCOME)
        disks = cut(made)
        whole = {
            "version": VERSION,
            "mode": mode.value,
            "disks": disks,
            "left_alone": [
                {"disk": _short(name, 64), "reason": _short(why, long)}
                for name, why in list(left.items())[:most]
            ],
            "complaints": [_short(each, long) for each in complaints[:most]],
            "shortened": shortened,
            "not_listed": len(made) - len(disks),
        }
        if len(json.dumps(whole, separators=(",", ":"))) <= LONGEST:
            break
    return whole


def _documents(made: Sequence[DiskCertificate]) -> list[JSON]:
    return [each.document for each in made]


def _shorter(made: Sequence[DiskCertificate]) -> list[JSON]:
    """Outcomes in a few words, and no places by name."""
    said = (
        evolve(
            each,
            model=each.model[:40],
            paths=each.paths[:4],
            tries=tuple(Try(one.method, one.outcome[:40]) for one in each.tries[-3:]),
            zeroed=(),
            abilities={},
        ).document
        for each in made
    )
    return [{**each, "leaves_out": []} for each in said]


def _shortest(made: Sequence[DiskCertificate]) -> list[JSON]:
    """Which disk, and whether it is verified: those that are not first."""
    return [
        {
            "disk": _short(each.name, 16),
            "serial": _short(each.serial, 24),
            "size": each.size,
            "method": each.method,
            "verified": each.verified,
        }
        for each in sorted(made, key=lambda each: each.verified)[:_LISTED]
    ]


def _short(text: str, most: int) -> str:
    """In ASCII: anything else takes six times the room."""
    return text[:most].encode("ascii", "replace").decode()


_CUTS: Final[Sequence[Callable[[Sequence[DiskCertificate]], list[JSON]]]] = (
    _documents,
    _shorter,
    _shortest,
)
