"""What a certificate claims, read back, and what of it cannot be."""

from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

from ...contract.bounds import many, number
from ...contract.ramdisk import WipeMode
from ...contract.structure import JSON
from ..image.store import END
from .certificate import DONE, METHODS, NAMED, Try, leaves_out
from .places import SAMPLE, samples

#: Disks of one certificate, and everything else of which it has several.
_MOST: Final = 4096


@frozen
class Looked:
    """How it was looked at: see :class:`rescriptum.ramdisk.wipe.certificate.Sampled`."""

    seed: int
    count: int = field(validator=number(1, _MOST))
    bytes: int
    places: int
    unmarked: int
    wrong: int


@frozen
class LeftAlone:
    """A disk that nothing was done to."""

    disk: str
    reason: str


@frozen
class DiskClaim:
    """One disk. What has a default is not said of it where there are many."""

    disk: str
    serial: str
    size: int = field(validator=number())
    method: str
    verified: bool
    paths: tuple[str, ...] = field(default=(), validator=many(_MOST))
    model: str = ""
    wwn: str = ""
    tries: tuple[Try, ...] = field(default=(), validator=many(_MOST))
    sampled: Looked | None = None
    zeroed: tuple[tuple[int, ...], ...] = field(default=(), validator=many(_MOST))
    abilities: JSON = field(factory=dict)
    seconds: float = 0.0
    leaves_out: tuple[str, ...] = field(default=(), validator=many(_MOST))

    @property
    def why_not(self) -> str:
        """What came of the last method, of one that is not verified."""
        return self.tries[-1].outcome if self.tries else "nothing was done to it"

    def wrong(self, mode: WipeMode, shortened: bool) -> Iterator[str]:
        """:returns: field by field, what cannot be, and what would be right."""
        said = leaves_out(self.method)
        if said is None:
            known = ", ".join(each for each in METHODS if each)
            yield f"method: {self.method!r} is none that erases; there is {known}"
            return
        if not shortened and list(self.leaves_out) != said:
            yield f"leaves_out: what {self.method or 'no method'} does not reach is {said}"
        if not self.verified:
            return
        if not self.method:
            yield "verified: nothing was done to it; it is not verified"
        elif (self.method == "quick") != (mode is WipeMode.QUICK):
            yield f"method: {self.method}, and {mode.value} was asked for"
        if shortened:
            return
        if not self.tries or (self.tries[-1].method, self.tries[-1].outcome) != (self.method, DONE):
            yield f"tries: the last one of a disk that is verified is {self.method}: {DONE}"
        yield from self._not_looked()

    def _not_looked(self) -> Iterator[str]:
        end = min(END, self.size)
        whole = [each for each in self.zeroed if len(each) == 2]
        if len(whole) != len(self.zeroed):
            yield "zeroed: of each place, where it begins and how many bytes it has"
        elif not whole or whole[0][0] != 0 or whole[0][1] < end:
            yield f"zeroed: the first place begins at 0 and has {end} bytes or more"
        elif len(whole) < NAMED and not _reaches(whole[-1], self.size):
            yield f"zeroed: the last place ends where the disk does, at {self.size}"
        if self.method == "quick":
            return
        looked = self.sampled
        if looked is None:
            yield "sampled: without it nobody has looked"
            return
        places = len(samples(self.size, looked.seed, looked.count))
        if (looked.bytes, looked.places) != (SAMPLE, places):
            yield f"sampled: seed {looked.seed} has {places} places of {SAMPLE} bytes on it"
        if looked.wrong or not 0 <= looked.unmarked * 2 <= looked.places:
            yield "sampled: wrong is 0, and unmarked half of the places at the most"


@frozen
class Claims:
    """The data of a result of ``disk.wipe``."""

    version: int
    mode: WipeMode
    disks: tuple[DiskClaim, ...] = field(validator=many(_MOST))
    left_alone: tuple[LeftAlone, ...] = field(validator=many(_MOST))
    complaints: tuple[str, ...] = field(validator=many(_MOST))
    shortened: bool
    not_listed: int = field(validator=number())

    def wrong(self, ok: bool) -> Iterator[str]:
        """
        :param ok: whether its command succeeded.
        :returns: what cannot be, or is not verified, by disk.
        """
        for each in self.disks:
            if not each.verified:
                yield f"{each.disk}: not verified: {each.why_not}"
            for problem in each.wrong(self.mode, self.shortened):
                yield f"{each.disk}: {problem}"
        if not self.disks:
            yield "disks: none was wiped"
        elif not ok and all(each.verified for each in self.disks):
            yield "result.ok: the command failed, though every disk that is listed is verified"
        if self.not_listed and not ok:
            yield f"not_listed: {self.not_listed} disks of which nobody can tell"


def _reaches(place: tuple[int, ...], size: int) -> bool:
    return place[0] + place[1] == size and place[1] >= min(END, size)
