"""Boot entries and discovered machines, in memory and in two files of the data directory."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol, TypeVar

from attrs import field, frozen
from twisted.logger import Logger

from ..boot.discovery import MOST as MOST_DISCOVERED
from ..boot.discovery import DiscoveredMachine, Discoveries
from ..boot.entries import BootEntries, BootEntry
from ..contract.bounds import many, text
from ..contract.refusals import Rejected
from ..contract.structure import JSON, parsed, rendered, structured
from ..errors import Malformed, Unavailable
from ..interfaces import Workers
from ..values import MAC

_T = TypeVar("_T")

ENTRIES, DISCOVERED = "boot-entries.json", "discovered.json"
#: Boot entries at once: more than a site deploys, and less than a document may have values.
MOST: Final = 2048


class Directory(Protocol):
    """Files that are written whole; :class:`rescriptum.agent.store.DataDirectory` is one."""

    def read(self, name: str) -> bytes | None:
        """:raises OSError: when the disk does not answer."""

    def write(self, name: str, data: bytes) -> None:
        """:raises OSError: when it cannot be; what was there still is."""

    def set_aside(self, name: str, reason: str, now: float) -> str:
        """:raises OSError: when it cannot be."""


@frozen
class _Entries:
    entries: tuple[JSON, ...] = field(validator=many(MOST))


@frozen
class _Machine:
    mac: str = field(validator=text())
    uuid: str = field(validator=text(empty=True))
    architecture: str = field(validator=text(empty=True))
    ip: str = field(validator=text(empty=True))
    seen: int

    def machine(self) -> DiscoveredMachine:
        try:
            mac = MAC.parse(self.mac)
        except ValueError as e:
            raise Malformed(str(e)) from None
        return DiscoveredMachine(mac, self.uuid, self.architecture, self.ip, self.seen)


@frozen
class _Machines:
    machines: tuple[_Machine, ...] = field(validator=many(MOST_DISCOVERED))


class Kept:
    """
    What outlives a restart.

    :ivar entries: and ``discovered``: for whoever answers; what changes them goes through here.
    """

    _log = Logger()

    def __init__(
        self,
        directory: Directory,
        workers: Workers,
        discovered: Discoveries,
        now: Callable[[], float],
        dropped: Callable[[MAC], None],
    ) -> None:
        """
        :param workers: one thread: files are written in the order in which they changed.
        :param now: Unix time.
        :param dropped: told of a machine whose entry is gone, or another one.
        """
        self.entries = BootEntries()
        self.discovered = discovered
        self._directory = directory
        self._workers = workers
        self._now = now
        self._dropped = dropped
        self._written: bytes | None = None

    def open(self) -> None:
        """
        Read both files; one that is damaged is set aside.

        :raises Unavailable: when the disk does not answer.
        """
        entries = self._read(ENTRIES, _entries)
        for each in entries or ():
            self.entries.put(each)
        self.discovered.restore(self._read(DISCOVERED, _machines) or (), self._now())

    def _read(self, name: str, made: Callable[[bytes], _T]) -> _T | None:
        try:
            data = self._directory.read(name)
            try:
                return None if data is None else made(data)
            except (Rejected, Malformed) as e:
                self._directory.set_aside(name, str(e), self._now())
                return None
        except OSError as e:
            raise Unavailable(f"{name} cannot be read: {e.strerror}") from e

    async def put(self, entry: BootEntry) -> None:
        """
        It is there from now on, and its machine is no discovered one.

        :raises Rejected: ``over-capacity``, and ``failed`` when it cannot be written down: then
            the one that was there before still is.
        """
        before = self.entries.remove(entry.mac)
        if len(self.entries) >= MOST:
            raise Rejected("over-capacity", f"{MOST} machines have boot entries")
        self.entries.put(entry)
        self.discovered.drop(entry.mac)
        self._dropped(entry.mac)
        await self._keep([entry], [before] if before is not None else [])

    async def remove(self, mac: MAC, workflow: str) -> bool:
        """
        :param workflow: whose entry it has to be; empty: anybody's.
        :returns: whether there was one.
        :raises Rejected: ``failed`` when that cannot be written down: then it still is there.
        """
        entry = self.entries.remove(mac)
        if entry is None:
            return False
        if workflow and entry.workflow != workflow:
            self.entries.put(entry)
            return False
        self._dropped(mac)
        await self._keep([], [entry])
        return True

    async def prune(self, epoch: int) -> None:
        """
        Forget entries that nothing brings to life again.

        :param epoch: of the boot lease; 0: this agent has none.
        """
        gone = self.entries.prune(epoch, self._now())
        for each in gone:
            self._dropped(each.mac)
        if gone:
            await self._keep([], [])

    async def _keep(self, put: Iterable[BootEntry], gone: Iterable[BootEntry]) -> None:
        data = rendered({"entries": [each.plain() for each in self.entries]})
        try:
            await self._write(ENTRIES, data)
        except Unavailable as e:
            # Unless it has changed again meanwhile: that will be told by its own command.
            for each in put:
                if self._is(each):
                    self.entries.remove(each.mac)
            taken = {each.mac for each in self.entries}
            for each in gone:
                if each.mac not in taken:
                    self.entries.put(each)
            raise Rejected("failed", str(e)) from e

    def _is(self, entry: BootEntry) -> bool:
        return any(each is entry for each in self.entries)

    async def remember(self) -> None:
        """Write the discovered machines down, where they are others than before."""
        now = self._now()
        machines = [
            {
                "mac": str(each.mac),
                "uuid": each.uuid,
                "architecture": each.architecture,
                "ip": each.ip,
                "seen": int(each.seen),
            }
            for each in self.discovered.machines(now)
        ]
        data = rendered({"machines": machines})
        if data == self._written or (self._written is None and not machines):
            return
        try:
            await self._write(DISCOVERED, data)
            self._written = data
        except Unavailable as e:
            self._log.warn("{reason}", reason=str(e))

    async def _write(self, name: str, data: bytes) -> None:
        """:raises Unavailable: when the disk does not take it, or has too much to do already."""
        try:
            await self._workers.run(partial(self._directory.write, name, data))
        except OSError as e:
            raise Unavailable(f"{name} cannot be written: {e.strerror}") from e


def _entries(data: bytes) -> list[BootEntry]:
    return [BootEntry.from_plain(each) for each in structured(_Entries, parsed(data)).entries]


def _machines(data: bytes) -> list[DiscoveredMachine]:
    return [each.machine() for each in structured(_Machines, parsed(data)).machines]
