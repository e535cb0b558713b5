"""Machines that boot at the site without a boot entry: strangers fill the list, it is bounded."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from attrs import define, evolve, field, frozen

from ..values import MAC

#: Machines that are known, and seconds until one that is silent is forgotten.
MOST, KEPT = 256, 86_400
#: Seconds between two reports that are made for a new machine's sake.
PACE: Final = 30.0

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ARCHITECTURE = re.compile(r"[a-z0-9_-]{1,32}")
#: What boards say that nobody gave a number (W079), in either order of bytes (W078).
FAKE_UUIDS: Final = frozenset(
    (
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009",
    )
)


def canonical_uuid(text: str) -> str:
    """:returns: ``text`` in lower case where it is a UUID that can be a machine's own; else ""."""
    text = text.lower()
    return text if _UUID.fullmatch(text) and text not in FAKE_UUIDS else ""


def uuid_text(octets: bytes) -> str:
    """
    :param octets: sixteen, in the order of SMBIOS, which firmware and iPXE copy into option 97: the
        first three numbers are little-endian (W078).
    :returns: them as people, and iPXE's ``${uuid}``, spell them.
    """
    return str(UUID(bytes_le=octets))


@frozen
class DiscoveredMachine:
    """
    One machine.

    :ivar architecture: as iPXE or DHCP has it; ``uuid`` and ``ip`` likewise: empty where nobody
        said.
    :ivar seen: Unix time of its last request.
    """

    mac: MAC
    uuid: str = ""
    architecture: str = ""
    ip: str = ""
    seen: float = 0.0


@define
class Discoveries:
    """
    The list: :data:`MOST` machines, of which the one that was seen longest ago goes first.

    :ivar by_dhcp: whether DHCP is heard too: then a fetch over HTTP, which anybody can make for any
        MAC, counts only for a machine that DHCP has shown.
    """

    by_dhcp: bool
    # The longest unseen first.
    _machines: OrderedDict[MAC, DiscoveredMachine] = field(factory=OrderedDict, init=False)
    _unreported: bool = field(default=False, init=False)
    _asked: float | None = field(default=None, init=False)

    def restore(self, machines: Iterable[DiscoveredMachine], now: float) -> None:
        """:param machines: as they were kept; they count as reported."""
        for each in sorted(machines, key=lambda each: each.seen):
            self._machines[each.mac] = evolve(each, seen=min(each.seen, now))
        self._bound(now)

    def asked(self, mac: MAC, uuid: str, architecture: str, now: float) -> bool:
        """
        A machine asked by DHCP.

        :param now: Unix time.
        :returns: whether it was not known.
        """
        return self._seen(DiscoveredMachine(mac, uuid, architecture, "", now))

    def fetched(self, mac: MAC, uuid: str, architecture: str, ip: str, now: float) -> bool:
        """A machine asked for its script; otherwise as :meth:`asked`."""
        if self.by_dhcp and mac not in self._machines:
            return False
        return self._seen(DiscoveredMachine(mac, uuid, architecture, ip, now))

    def _seen(self, machine: DiscoveredMachine) -> bool:
        uuid = canonical_uuid(machine.uuid)
        architecture = machine.architecture
        if not _ARCHITECTURE.fullmatch(architecture):
            architecture = ""
        known = self._machines.pop(machine.mac, None)
        if known is not None and machine.seen - known.seen >= KEPT:
            known = None
        if known is not None:  # what one way does not say, another has said
            uuid = uuid or known.uuid
            architecture = architecture or known.architecture
            machine = evolve(machine, ip=machine.ip or known.ip)
        self._machines[machine.mac] = evolve(machine, uuid=uuid, architecture=architecture)
        self._bound(machine.seen)
        self._unreported = self._unreported or known is None
        return known is None

    def _bound(self, now: float) -> None:
        while self._machines:
            mac, eldest = next(iter(self._machines.items()))
            if len(self._machines) <= MOST and now - eldest.seen < KEPT:
                return
            del self._machines[mac]

    def drop(self, mac: MAC) -> None:
        """It has an entry now."""
        self._machines.pop(mac, None)

    def machines(self, now: float) -> Iterator[DiscoveredMachine]:
        """By MAC, those that were seen within a day."""
        self._bound(now)
        return iter(sorted(self._machines.values(), key=lambda each: each.mac))

    def __len__(self) -> int:
        return len(self._machines)

    def report_in(self, now: float) -> float | None:
        """
        :param now: seconds of a clock that only goes forward; as for :meth:`reported`.
        :returns: seconds until a report is due for a new machine's sake; None: there is none.
        """
        if not self._unreported:
            return None
        return 0.0 if self._asked is None else max(0.0, self._asked + PACE - now)

    def reported(self, now: float) -> None:
        """A report leaves that has them all."""
        self._unreported, self._asked = False, now
