"""
Which strategy a machine is answered by, and what became of the answers.

Firmware that mishandles an offer says so by nothing but asking again: the same xid, four times
(B04). Where the agent may learn, such a machine is answered in another way from the third time on,
and what worked is kept while the agent runs.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define

from ..boot.offers import DEFAULT, Preferences, Strategy
from ..values import MAC
from .request import Request

#: Machines that are known: the eldest is forgotten first.
MOST: Final = 4096
#: How often one xid comes before our offer counts as ignored: iPXE sends two anyway.
IGNORED: Final = 3
_ORDER: Final = tuple(Strategy)


@define(eq=False)
class Machine:
    """
    One machine, as long as it is of one architecture, and what it does about our answers.

    :ivar tag: of its architecture, in the table; empty: the table has no row for it.
    :ivar strategy: that it is answered by.
    :ivar fixed: whether an operator chose it, or no other is different for it.
    :ivar worked: whether it is known to be right. :ivar tried: how many were not.
    :ivar xid: of its last DISCOVER, and ``times``: how often that came.
    :ivar loads: whether it was last offered a loader.
    :ivar told: when its last answer was logged, on a clock that only goes forward; ``untold``: how
        many were not, since.
    """

    mac: MAC
    strategy: Strategy
    tag: str = ""
    fixed: bool = False
    worked: bool = False
    tried: int = 0
    xid: bytes = b""
    times: int = 0
    loads: bool = False
    told: float = float("-inf")
    untold: int = 0

    def ignores(self, xid: bytes, discover: bool, ipxe: bool, learn: bool) -> bool:
        """
        Count a request that will be answered; ``strategy`` is then the one to do it by.

        :param discover: whether it is one. :param ipxe: whether an iPXE asks.
        :param learn: whether another strategy may be tried.
        :returns: whether it is now that it counts as ignoring our offers.
        """
        if not discover:
            self.worked, self.times = True, 0  # it took what we said
            return False
        if ipxe and self.loads:
            self.worked = True  # here is what it loaded
        self.loads = not ipxe
        if xid != self.xid:
            self.xid, self.times = xid, 1
            return False
        self.times += 1
        if self.times != IGNORED:
            return False
        if learn and not (self.fixed or self.worked):
            self.strategy = _ORDER[(_ORDER.index(self.strategy) + 1) % len(_ORDER)]
            self.tried += 1
        return True


class Strategies:
    """The machines that were answered."""

    def __init__(self, preferences: Preferences | None = None, learn: bool = False) -> None:
        """:param learn: whether machines that ignore our offers are answered in another way."""
        self._preferences = Preferences() if preferences is None else preferences
        self.learn = learn
        # By architecture too, which goes with how it was set up to boot; those that were begun
        # longest ago first.
        self._machines: dict[tuple[MAC, str], Machine] = {}

    def machine(self, request: Request) -> Machine:
        """:returns: the one that asks, which has a boot entry: strangers are not kept here."""
        client = request.client
        about = mac, tag = request.mac, "" if client.row is None else client.row.tag
        machine = self._machines.get(about)
        if machine is None:
            if len(self._machines) >= MOST:
                del self._machines[next(iter(self._machines))]
            chosen = self._preferences.find(request.packet.mac, tag)
            fixed = chosen is not None or client.one_way
            machine = self._machines[about] = Machine(mac, chosen or DEFAULT, tag, fixed)
        return machine

    def learnt(self) -> Iterator[Machine]:
        """
        :returns: machines that are answered in another way than they would have been, those that
            were begun longest ago first.
        """
        for each in self._machines.values():
            if each.tried and each.worked:
                yield each
