"""Who has presented wrong tokens too often: a policy by address, told what time it is."""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from attrs import frozen

#: So many failures within so many seconds block an address.
FAILURES: Final = 5
WINDOW: Final = 60.0
#: Seconds of the first block; each that follows is twice as long, up to the longest.
FIRST: Final = 60.0
LONGEST: Final = 900.0
#: Addresses that are remembered.
ADDRESSES: Final = 4096


@frozen
class _Record:
    """
    :ivar failures: when the last ones were.
    :ivar seconds: of the last block; ``until`` when it is over.
    """

    failures: tuple[float, ...] = ()
    seconds: float = 0.0
    until: float = 0.0

    def forgotten(self, now: float) -> bool:
        return now - max(self.failures[-1], self.until) >= LONGEST


class Lockout:
    """
    Counts failures by address; of IPv6 by /64, which is what one site can choose from.

    Time is given with each call, in seconds of a clock that is never set back.
    """

    def __init__(self) -> None:
        # In the order of their last failures.
        self._known: dict[str, _Record] = {}

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._known)

    def blocked(self, host: str, now: float) -> float:
        """:returns: the seconds for which nothing from ``host`` is looked at, or 0."""
        record = self._known.get(_origin(host))
        return max(0.0, record.until - now) if record is not None else 0.0

    def failed(self, host: str, now: float) -> float:
        """:returns: the seconds for which this failure blocks ``host``; 0 where it does not."""
        origin = _origin(host)
        record = self._known.pop(origin, None)
        if record is None or record.forgotten(now):
            record = _Record()
        recent = (*(each for each in record.failures if now - each < WINDOW), now)
        blocks = len(recent) >= FAILURES
        if blocks:
            seconds = min(record.seconds * 2 or FIRST, LONGEST)
            record = _Record((now,), seconds, now + seconds)
        else:
            record = _Record(recent, record.seconds, record.until)
        self._make_room(now)
        self._known[origin] = record
        return record.seconds if blocks else 0.0

    def succeeded(self, host: str) -> None:
        """Whoever has the token is no stranger: earlier failures were somebody's mistakes."""
        self._known.pop(_origin(host), None)

    def _make_room(self, now: float) -> None:
        """Forget the address that failed longest ago, one that is blocked only if all are."""
        if len(self._known) < ADDRESSES:
            return
        free = (origin for origin, record in self._known.items() if record.until <= now)
        del self._known[next(free, next(iter(self._known)))]


def _origin(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(ip_network((address, 64), strict=False))
        address = address.ipv4_mapped
    return str(address)
