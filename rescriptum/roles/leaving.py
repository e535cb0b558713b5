"""How the ramdisk leaves its machine: into the installed system, or into the dark."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ..errors import RescriptumError
from ..ramdisk.tools import Tools, ToolTrouble

#: Seconds that a result may take to reach the gateway before a machine leaves, and between looks.
TELLING, TELLING_PAUSE = 20.0, 0.5

_log = Logger()


class Leaving:
    """Leaves this system, once the gateway has the result of the command that said so."""

    def __init__(
        self,
        told: Callable[[], Awaitable[bool]],
        sleep: Callable[[float], Awaitable[None]],
        tools: Tools,
        seconds: Callable[[], float],
        console: Path,
    ) -> None:
        """:param console: of the kernel: ``/proc/sysrq-trigger`` of the machine that is left."""
        self._told = told
        self._sleep = sleep
        self._tools = tools
        self._seconds = seconds
        self._console = console

    def run(self, steps: Sequence[tuple[str, ...]]) -> None:
        """:param steps: programs: the last one leaves."""
        self._after(partial(self._programs, steps))

    def trigger(self, key: str) -> None:
        """:param key: of the kernel's own console: it needs no program."""
        self._after(partial(self._keys, key))

    def _after(self, leave: Callable[[], Awaitable[None]]) -> None:
        async def waiting() -> None:
            until = self._seconds() + TELLING
            await self._sleep(TELLING_PAUSE)  # the result itself has to be there first
            while not await self._known() and self._seconds() < until:
                await self._sleep(TELLING_PAUSE)
            await leave()

        leaving = Deferred.fromCoroutine(waiting())
        leaving.addErrback(lambda failure: _log.failure("Leaving", failure))

    async def _known(self) -> bool:
        try:
            return await self._told()
        except RescriptumError as e:  # the journal, for a moment
            _log.warn("Leaving: {reason}", reason=str(e))
            return False

    async def _programs(self, steps: Sequence[tuple[str, ...]]) -> None:
        for each in steps:
            try:
                ran = await self._tools.run(*each)
                reason = "" if ran.ok else ran.said
            except ToolTrouble as e:
                reason = str(e)
            if reason:
                _log.error("Leaving: {reason}", reason=reason)

    async def _keys(self, key: str) -> None:
        """What is written stays written: the kernel syncs first."""
        for each in ("s", key):
            self._console.write_text(each)
            await self._sleep(1.0)
