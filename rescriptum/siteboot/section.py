"""The site section of the desired state, where there is a boot server: what it has come to."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Final, Protocol

from attrs import frozen

from ..boot.discovery import PACE
from ..boot.lease import LeaseStatus
from ..contract.bounds import SENTENCE
from ..contract.reports import Discovered, SectionStatus, State
from ..contract.specs import CacheImage, NodeSpec
from ..contract.structure import JSON, plain
from ..errors import RescriptumError
from .store import Kept


class PartState(Enum):
    """Of one listener."""

    LISTENING = "listening"
    OFF = "off"
    FAILED = "failed"


@frozen
class PartStatus:
    """:ivar reason: for people; of one that failed."""

    state: PartState
    reason: str = ""


OFF: Final = PartStatus(PartState.OFF)
#: What there can be, as status reports call it.
PARTS: Final = ("http", "tftp", "dhcp")


class Reporting(Protocol):
    """Whom is told; :class:`rescriptum.agent.service.AgentService` is one."""

    def found(self, machines: tuple[Discovered, ...]) -> None: ...
    def inventory(self, found: JSON) -> None: ...


class Cache(Protocol):
    """The image cache, as far as it is reported."""

    def converge(self, images: Sequence[CacheImage]) -> Awaitable[tuple[State, str, JSON]]:
        """
        :returns: its state, why, and the detail.
        :raises RescriptumError: when it cannot be opened.
        """

    def inventory(self) -> JSON: ...


class BootSection:
    """Converges the cache, forgets what has lapsed, and says how far all of it is."""

    name = "site"

    def __init__(
        self,
        lease: Callable[[], LeaseStatus],
        parts: Callable[[], Mapping[str, PartStatus]],
        kept: Kept,
        cache: Cache | None,
        reporting: Reporting,
        now: Callable[[], float],
        monotonic: Callable[[], float],
        dhcp: Callable[[], JSON] | None = None,
    ) -> None:
        """
        :param cache: None: there is none.
        :param dhcp: what proxy DHCP has come to know; None: there is none.
        :param now: Unix time.
        """
        self._lease = lease
        self._parts = parts
        self._kept = kept
        self._cache = cache
        self._reporting = reporting
        self._now = now
        self._monotonic = monotonic
        self._dhcp = dhcp
        self._told: float | None = None

    async def converge(self, desired: NodeSpec) -> SectionStatus:
        """:raises RescriptumError: when boot entries cannot be written down."""
        state, reason, cache = await self._converged(desired)
        await self._kept.prune(self._lease().epoch)
        await self._tell_discovered()
        lease = self._lease()
        parts = dict.fromkeys(PARTS, OFF) | dict(self._parts())
        broken = [
            f"{name}: {each.reason}"
            for name, each in parts.items()
            if each.state is PartState.FAILED
        ]
        if broken:
            state, reason = State.FAILED, "; ".join([*broken, *([reason] if reason else [])])
        elif not reason and not lease.active:
            reason = "not proved" if lease.epoch else "standby"
        detail: JSON = {
            "lease": plain(lease),
            "boot": {name: plain(each) for name, each in parts.items()},
            "dhcp": None if self._dhcp is None else self._dhcp(),
            "cache": cache,
            "discovered": len(self._kept.discovered),
        }
        return SectionStatus(self.name, state, reason[:SENTENCE], detail)

    async def _converged(self, desired: NodeSpec) -> tuple[State, str, JSON | None]:
        if self._cache is None:
            return State.READY, "", None
        images = desired.site.cache_images if desired.site is not None else ()
        try:
            found = await self._cache.converge(images)
        except RescriptumError as e:
            return State.FAILED, f"cache: {e}", {"code": e.code}
        self._reporting.inventory(self._cache.inventory())
        return found

    async def _tell_discovered(self) -> None:
        """For a new machine's sake at once, but not often; for all the others now and then."""
        now, discovered = self._monotonic(), self._kept.discovered
        due = discovered.report_in(now)
        if due is None:
            if self._told is not None and now - self._told < PACE:
                return
            if self._told is None and not len(discovered):
                return
        elif due > 0:
            return
        self._told = now
        discovered.reported(now)
        self._reporting.found(discovered_machines(self._kept, self._now()))
        await self._kept.remember()


def discovered_machines(kept: Kept, now: float) -> tuple[Discovered, ...]:
    """:returns: as reports have them."""
    return tuple(
        Discovered(
            str(each.mac), each.uuid, each.architecture, each.ip, round((now - each.seen) * 1000)
        )
        for each in kept.discovered.machines(now)
    )
