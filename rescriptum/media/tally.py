"""Bytes of media that left, as events: one a transfer, and one for many ranges of one part."""

from collections.abc import Sequence

from attrs import frozen

from ..boot.events import ImageSent, InitrdSent, KernelSent
from ..values import MAC
from .catalogue import Part

Address = tuple[str, int]
Event = KernelSent | InitrdSent | ImageSent
#: Parts whose ranges are being counted, over all connections.
MAX_COUNTED = 4096


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


class _Count:
    """Ranges of one part on one connection, so far."""

    __slots__ = ("mac", "outcome", "requests", "seconds", "sent", "served", "size")

    def __init__(self, served: Served, size: int) -> None:
        self.served = served
        self.mac = served.mac
        self.size = size
        self.requests = 0
        self.sent = 0
        self.seconds = 0.0
        self.outcome = ""

    def add(self, sent: int, seconds: float, outcome: str) -> None:
        self.requests += 1
        self.sent += sent
        self.seconds += seconds
        self.outcome = outcome

    def event(self, peer: Address, status: int) -> Event:
        part = self.served.part
        kind: type[Event] = ImageSent
        if part is Part.KERNEL:
            kind = KernelSent
        elif part is Part.INITRD:
            kind = InitrdSent
        return kind(
            peer=peer,
            image=self.served.image,
            path=self.served.path,
            mac=self.mac,
            size=self.size,
            sent=self.sent,
            requests=self.requests,
            seconds=self.seconds,
            outcome=self.outcome,
            status=status,
        )


class Tally:
    """
    iPXE's ``sanboot``, and controllers that offer an image as a drive, read it by thousands of
    ranges on one connection (W163): those are counted, and told when the connection ends.
    """

    def __init__(self) -> None:
        self._counted: dict[Address, dict[tuple[str, str], _Count]] = {}
        self._count = 0

    def add(
        self,
        served: Served,
        peer: Address,
        status: int,
        size: int,
        sent: int,
        seconds: float,
        outcome: str,
    ) -> Sequence[Event]:
        """
        Take note of one exchange.

        :param size: of the whole file; ``sent`` what left of it.
        :returns: what is to be told now: whole replies, and what there is no room to count.
        """
        if status != 206:
            count = _Count(served, size)
            count.add(sent, seconds, outcome)
            return (count.event(peer, status),)
        key = served.image, served.path
        counted = self._counted.get(peer)
        known = counted.get(key) if counted is not None else None
        told: Sequence[Event] = ()
        if known is None:
            if self._count >= MAX_COUNTED:
                told = self.closed(next(iter(self._counted)))
            known = self._counted.setdefault(peer, {}).setdefault(key, _Count(served, size))
            self._count += 1
        known.add(sent, seconds, outcome)
        known.mac = known.mac or served.mac
        return told

    def closed(self, peer: Address) -> Sequence[Event]:
        """:returns: what was counted for a connection that is gone."""
        counts = self._counted.pop(peer, {}).values()
        self._count -= len(counts)
        return [each.event(peer, 206) for each in counts]
