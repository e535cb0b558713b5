"""The desired state, section by section: each is converged on its own, and says how far it is."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Protocol

from twisted.logger import Logger

from ..boot.lease import LeaseStatus
from ..contract.bounds import SENTENCE
from ..contract.reports import SectionStatus, State
from ..contract.specs import NodeSpec
from ..contract.structure import plain
from ..errors import RescriptumError

#: Seconds between two looks at what is there, where nothing is said to have changed.
LOOK: Final = 30.0


class Converger(Protocol):
    """
    Makes one section of what is there into what is desired.

    :ivar name: of the section.
    """

    @property
    def name(self) -> str: ...

    async def converge(self, desired: NodeSpec) -> SectionStatus:
        """
        Look at what is there, and do what is missing. Called anew whenever either may have changed,
        and never twice at once.

        :raises RescriptumError: when it cannot: the section has failed, and is tried again.
        """


Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Section:
    """One converger: runs at most once at a time, and again when something changed meanwhile."""

    _log = Logger()

    def __init__(
        self, converger: Converger, spawn: Spawn, told: Callable[[SectionStatus], None]
    ) -> None:
        self._converger = converger
        self._spawn = spawn
        self._told = told
        self._desired: NodeSpec | None = None
        self._running = False
        self._again = False

    def look(self, desired: NodeSpec) -> None:
        """Converge towards ``desired``, now or as soon as it is done with what was before."""
        self._desired = desired
        self._again = True
        if not self._running:
            self._running = True
            self._spawn(self._run())

    async def _run(self) -> None:
        try:
            while self._again:
                self._again = False
                assert self._desired is not None
                self._told(await self._converged(self._desired))
        finally:
            self._running = False

    async def _converged(self, desired: NodeSpec) -> SectionStatus:
        name = self._converger.name
        try:
            return await self._converger.converge(desired)
        except RescriptumError as e:
            self._log.warn("Section {section}: {reason}", section=name, reason=str(e))
            return SectionStatus(name, State.FAILED, str(e)[:SENTENCE], {"code": e.code})
        except Exception as e:  # noqa: BLE001 - a failing section never stops another
            self._log.failure("Section {section} failed", section=name)
            return SectionStatus(name, State.FAILED, type(e).__name__, {"code": "failed"})


class DesiredState:
    """
    All sections of a node.

    :ivar version: of what is desired; None: nothing yet.
    """

    def __init__(
        self,
        convergers: Sequence[Converger],
        spawn: Spawn,
        told: Callable[[SectionStatus], None],
    ) -> None:
        """:param told: of each status."""
        self._sections = [Section(each, spawn, told) for each in convergers]
        self._desired: NodeSpec | None = None

    @property
    def version(self) -> int | None:
        return None if self._desired is None else self._desired.version

    def desire(self, desired: NodeSpec) -> None:
        """From now on: the whole of it, as every ``desired`` frame has it."""
        self._desired = desired
        self.look()

    def look(self) -> None:
        """Something may have changed here."""
        if self._desired is not None:
            for each in self._sections:
                each.look(self._desired)


class SiteSection:
    """What a site agent says of its site; the lease itself is obeyed as its frames come."""

    name = "site"

    def __init__(self, lease: Callable[[], LeaseStatus]) -> None:
        self._lease = lease

    async def converge(self, desired: NodeSpec) -> SectionStatus:
        lease = self._lease()
        reason = "" if lease.active else "standby" if lease.epoch == 0 else "not proved"
        return SectionStatus(self.name, State.READY, reason, {"lease": plain(lease), "boot": "off"})
