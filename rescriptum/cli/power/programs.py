"""The power of a machine by programs of the operator's own."""

from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Final

from ...bmc.driver import Asked
from ...contract.bmc import BmcRefusal, BootTarget, PowerAction, PowerState, SetOverride, SetPower
from ...net.processes import Ended, Program, ProgramTrouble, Reactor, ran
from ...power.controllers import Commands, Controlled
from ...settings import PREFIX
from ...values import printable

#: Bytes that a program may print, on each of both.
_MOST: Final = 64 * 1024
#: Characters of its last words that are told.
_SHOWN: Final = 200
#: What each action runs, one after the other, and what the program is told that it is for.
_RUNS: Final[Mapping[PowerAction, tuple[tuple[str, str], ...]]] = {
    PowerAction.ON: (("on", "on"),),
    PowerAction.SOFT_OFF: (("off", "off"),),
    PowerAction.OFF: (("off", "hard-off"),),
    PowerAction.RESET: (("off", "hard-off"), ("on", "on")),
}
_STATES: Final = {each.value: each for each in (PowerState.ON, PowerState.OFF)}


class ProgramDriver:
    """Satisfies :class:`rescriptum.bmc.driver.Driver`."""

    def __init__(
        self, reactor: Reactor, machine: Controlled, asked: Commands, environ: Mapping[str, str]
    ) -> None:
        """:param environ: ours: programs get it, but for the boot server's settings."""
        self._reactor = reactor
        self._argv = asked.argv
        self._machine = machine.name
        self._environ = {
            name: text for name, text in environ.items() if not name.startswith(PREFIX)
        }

    async def run(self, asked: Asked) -> dict[str, object]:
        """:raises BmcRefusal: also for an exit code other than 0, with its program's last words."""
        until = self._reactor.seconds() + asked.seconds
        match asked.args:
            case SetPower(action):
                return await self._power(action, until)
            case SetOverride(target=BootTarget.PXE, once=True):
                await self._said("pxe", "pxe", until)
                return {"target": BootTarget.PXE.value, "once": True}
        if asked.operation.name == "power.getPower":
            ended = await self._said("status", "status", until)
            said = "" if ended is None else ended.stdout.decode("ascii", "replace").strip().lower()
            if said not in _STATES:
                raise BmcRefusal("bad-response", "status printed neither on nor off")
            return {"power": said}
        raise BmcRefusal("unsupported-operation", f"no {asked.operation.name} by a command")

    async def _power(self, action: PowerAction, until: float) -> dict[str, object]:
        runs = _RUNS.get(action, ())
        if not runs or any(name not in self._argv for name, _ in runs):
            raise BmcRefusal("unsupported-operation", f"no command for {action.value}")
        for name, told in runs:
            await self._said(name, told, until)
        # An exit code says that it was done, not what came of it.
        return {"power": PowerState.UNKNOWN.value}

    async def _said(self, name: str, told: str, until: float) -> Ended | None:
        """:returns: None: there is nothing to do for that."""
        if name not in self._argv:
            raise BmcRefusal("unsupported-operation", f"no command for {name}")
        argv = self._argv[name]
        if not argv:
            return None
        found = which(argv[0], path=self._environ.get("PATH"))
        if found is None or not Path(found).is_absolute():
            raise BmcRefusal("invalid-config", f"{name}: no program {argv[0]} on PATH")
        environ = {**self._environ, "POWER_MACHINE": self._machine, "POWER_OPERATION": told}
        words = bytearray()

        def heard(data: bytes) -> None:
            words.extend(data)
            del words[:-_MOST]

        program = Program(Path(found), environ, argv[1:])
        left = max(until - self._reactor.seconds(), 0)
        try:
            ended = await ran(self._reactor, program, b"", left, _MOST, heard)
        except ProgramTrouble as e:
            raise BmcRefusal(e.code, f"{name}: {e}") from None
        if ended.status:
            lines = words.decode("utf-8", "replace").strip().splitlines()
            last = printable(f": {lines[-1]}"[:_SHOWN]) if lines else ""
            raise BmcRefusal("failed", f"{name}: its program ended with {ended.status}{last}")
        return ended
