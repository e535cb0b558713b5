"""Bytes of media that left, as events: one a transfer, and one for many ranges of one part."""

from collections.abc import Iterable

from attrs import evolve, frozen

from ..boot.events import ImageSent, InitrdSent, KernelSent
from ..values import MAC
from .catalogue import Part

Address = tuple[str, int]
Event = KernelSent | InitrdSent | ImageSent
#: Parts whose ranges are being counted, over all connections.
MAX_COUNTED = 4096

_EVENTS: dict[Part, type[Event]] = {Part.KERNEL: KernelSent, Part.INITRD: InitrdSent}


@frozen
class Served:
    """
    What a reply was about.

    :ivar path: ``kernel``, ``iso``, ``file/…``.
    :ivar mac: of the machine, where the request named one.
    """

    image: str
    part: Part
    path: str
    mac: MAC | None = None

    def event(
        self,
        peer: Address,
        status: int,
        size: int,
        sent: int,
        seconds: float,
        outcome: str,
    ) -> Event:
        return _EVENTS.get(self.part, ImageSent)(
            peer=peer,
            image=self.image,
            path=self.path,
            mac=self.mac,
            size=size,
            sent=sent,
            seconds=seconds,
            outcome=outcome,
            status=status,
        )


class Tally:
    """
    iPXE's ``sanboot``, and controllers that offer an image as a drive, read it by thousands of
    ranges on one connection (W163): those are counted, and told when the connection ends.
    """

    def __init__(self) -> None:
        self._counted: dict[Address, dict[tuple[str, str], Event]] = {}
        self._count = 0

    def add(self, served: Served, event: Event) -> Iterable[Event]:
        """
        :param event: of one exchange.
        :returns: what is to be told now: whole replies, and what there is no room to count.
        """
        if event.status != 206:
            return [event]
        told: list[Event] = []
        if self._count >= MAX_COUNTED:
            told += self.closed(next(iter(self._counted)))
        counted = self._counted.setdefault(event.peer, {})
        key = served.image, served.path
        before = counted.get(key)
        if before is None:
            self._count += 1
            counted[key] = event
        else:
            counted[key] = evolve(
                before,
                sent=before.sent + event.sent,
                requests=before.requests + 1,
                seconds=before.seconds + event.seconds,
                outcome=event.outcome,
                mac=before.mac or event.mac,
            )
        return told

    def closed(self, peer: Address) -> list[Event]:
        """:returns: what was counted for a connection that is gone."""
        told = list(self._counted.pop(peer, {}).values())
        self._count -= len(told)
        return told
