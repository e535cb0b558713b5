"""Holds the listeners of a site's boot server: each comes and goes by itself, and none ends us."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from attrs import define, field
from twisted.application.service import IService, Service
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import ConfigError, RescriptumError
from .section import OFF, PartState, PartStatus

#: Seconds between two looks at what has failed, and whether what runs still can.
LOOK: Final = 30.0


@define(eq=False)
class Part:
    """
    One listener.

    :ivar name: ``http``, ``tftp`` or ``dhcp``.
    :ivar make: a service that is new: its privileged start binds.
    :ivar check: what has to be there for it.
    :ivar essential: whether nothing is served without it.
    """

    name: str
    make: Callable[[], IService]
    check: Callable[[], Awaitable[None]] | None = None
    essential: bool = False
    status: PartStatus = field(default=OFF, init=False)
    running: IService | None = field(default=None, init=False)

    def start(self) -> None:
        """:raises ConfigError: and ``OSError``, when it cannot be bound."""
        made = self.make()
        try:
            made.privilegedStartService()
            made.startService()
        except BaseException:
            if made.running:
                maybeDeferred(made.stopService)
            raise
        self.running, self.status = made, PartStatus(PartState.LISTENING)

    async def stop(self) -> None:
        """Nothing of it is left."""
        running, self.running = self.running, None
        if running is not None:
            await maybeDeferred(running.stopService)


class BootServer(Service):
    """
    The listeners.

    A part that fails is logged as ``boot server stopped``, shown, and tried again.
    """

    name = "boot"
    _log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        parts: Sequence[Part],
        opened: Callable[[], None],
        changed: Callable[[bool], None],
        report_in: Callable[[], float | None],
        report: Callable[[], None],
    ) -> None:
        """
        :param opened: called once, before anything listens.
        :param changed: told of every change, and whether machines can be served now.
        :param report_in: seconds until discovered machines may be reported; None: there are none.
        :param report: do so.
        """
        self._clock = clock
        self._parts = tuple(parts)
        self._opened = opened
        self._changed = changed
        self._report_in = report_in
        self._report = report
        self._reporting: IDelayedCall | None = None
        self._looking = LoopingCall(self._look)
        self._looking.clock = clock
        self._busy: Deferred[None] | None = None
        self._stopping = False

    def privilegedStartService(self) -> None:
        """
        Bind what can be bound.

        :raises ConfigError: when its own files cannot be read.
        """
        super().privilegedStartService()
        self._opened()
        for part in self._parts:
            self._try(part)
        self._tell()

    def startService(self) -> None:
        super().startService()
        self._looking.start(LOOK, now=False)

    @property
    def serves(self) -> bool:
        """Whether machines can be served now."""
        states = [each.status.state for each in self._parts if each.essential]
        return all(each is PartState.LISTENING for each in states)

    @property
    def status(self) -> Mapping[str, PartStatus]:
        """By name."""
        return {each.name: each.status for each in self._parts}

    def found(self) -> None:
        """A machine was discovered that was not known: it is reported, but not each by itself."""
        if self._reporting is None and not self._stopping:
            self._reporting = self._clock.callLater(self._report_in() or 0, self._reported)

    def _reported(self) -> None:
        self._reporting = None
        self._report()

    def _try(self, part: Part) -> None:
        try:
            part.start()
        except (OSError, ConfigError) as e:
            self._failed(part, (e.strerror or str(e)) if isinstance(e, OSError) else str(e))

    def _failed(self, part: Part, reason: str) -> None:
        """What fails in the same way again is no news."""
        failed = PartStatus(PartState.FAILED, reason)
        if part.status != failed:
            self._log.error(
                "boot server stopped: {part}: {reason}; tried again every {seconds:g} seconds",
                part=part.name,
                reason=reason,
                seconds=LOOK,
            )
        part.status = failed

    def _tell(self) -> None:
        self._changed(self.serves)

    def _look(self) -> None:
        if self._busy is None:
            self._busy = Deferred()
            Deferred.fromCoroutine(self._all()).addErrback(self._lost).addBoth(self._looked)

    def _lost(self, failure: Failure) -> None:
        self._log.failure("The boot server's listeners could not be looked at", failure)

    def _looked(self, _: object) -> None:
        busy, self._busy = self._busy, None
        if busy is not None:
            busy.callback(None)

    async def _all(self) -> None:
        before = self.status
        for part in self._parts:
            await self._one(part)
        if self.status != before and not self._stopping:
            self._tell()

    async def _one(self, part: Part) -> None:
        try:
            if part.check is not None:
                await part.check()
        except RescriptumError as e:
            self._failed(part, str(e))
            # Whoever is told that nothing is served gives the lease up before it is true.
            self._tell()
            await part.stop()
            return
        if part.running is None and not self._stopping:
            self._try(part)

    def stopService(self) -> Deferred[None]:
        """:returns: fires when every listener is gone."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        self._stopping = True
        if self._looking.running:
            self._looking.stop()
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None
        if self._busy is not None:
            await self._busy
        await DeferredList([Deferred.fromCoroutine(each.stop()) for each in self._parts])
