"""``bmc-hosts.json``: the BMCs that this agent has spoken to, remembered over restarts."""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Final, Protocol

from twisted.logger import Logger

from ..contract.refusals import Rejected
from ..contract.structure import parsed, rendered, structured
from ..errors import Unavailable
from ..interfaces import Workers
from .hosts import MOST, Hosts, host_within

HOSTS: Final = "bmc-hosts.json"


class Directory(Protocol):
    """Files that are written whole; :class:`rescriptum.agent.store.DataDirectory` is one."""

    def read(self, name: str) -> bytes | None:
        """:raises OSError: when the disk does not answer."""

    def write(self, name: str, data: bytes) -> None:
        """:raises OSError: when it cannot be; what was there still is."""

    def set_aside(self, name: str, reason: str, now: float) -> str:
        """:raises OSError: when it cannot be."""


class KnownHosts:
    """What was spoken to; it is known before anything is asked."""

    _log = Logger()

    def __init__(
        self,
        directory: Directory,
        workers: Workers,
        resolve: Callable[[str], Awaitable[Collection[str]]],
        now: Callable[[], float],
    ) -> None:
        """
        :param workers: one thread: files are written in the order in which they changed.
        :param resolve: a name's addresses now; none where it has none. Never raises.
        :param now: Unix time.
        """
        self._directory = directory
        self._workers = workers
        self._resolve = resolve
        self._now = now
        self._hosts = Hosts()

    def open(self) -> None:
        """
        Read what is remembered; a damaged file is set aside.

        :raises Unavailable: when the disk does not answer.
        """
        try:
            data = self._directory.read(HOSTS)
            if data is not None:
                try:
                    self._hosts = structured(Hosts, parsed(data))
                except Rejected as e:
                    self._directory.set_aside(HOSTS, str(e), self._now())
        except OSError as e:
            raise Unavailable(f"{HOSTS} cannot be read: {e.strerror}") from e

    def known(self) -> Collection[str]:
        """:returns: names and addresses of all of them."""
        return self._hosts.known

    async def remember(self, address: str) -> None:
        """
        :param address: of a BMC that is about to be asked; a hosted driver's may name no host.
        """
        host = host_within(address)
        if host is None:
            return
        addresses = await self._resolve(host)
        before = self._hosts
        self._hosts = before.with_(host, addresses)
        if self._hosts is before:
            return
        if len(before.hosts) >= MOST and host not in before:
            self._log.warn(
                "{most} BMCs are remembered: {host} takes the place of {gone}",
                most=MOST,
                host=host,
                gone=before.hosts[0].host,
            )
        try:
            await self._workers.run(partial(self._directory.write, HOSTS, rendered(self._hosts)))
        except OSError as e:
            # Known until a restart, at which it is learnt anew with the next operation.
            self._log.error("{file} cannot be written: {reason}", file=HOSTS, reason=e.strerror)
