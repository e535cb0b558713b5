"""``rescriptum install``: arm a machine, let it boot from the network once, and start it."""

import json
from contextlib import closing
from typing import ClassVar, Final, TextIO

from attrs import asdict, frozen
from twisted.internet.defer import CancelledError

from ..answers.checks.finding import Severity
from ..answers.disarm import Moved, arm_machine
from ..answers.stores.store import Store
from ..config import Config
from ..contract.bmc import (
    BmcRefusal,
    BootTarget,
    PowerState,
    SetOverride,
    SetPower,
)
from ..errors import Refused, RescriptumError
from ..net.processes import Reactor
from ..power.controllers import Controlled
from ..power.plan import objection, start
from ..roles.stores import store_of
from ..values import printable
from .power.file import controlled
from .power.machine import MachineCommand, advised, override_line, waiting
from .power.rehearsal import Rehearsal
from .power.ways import Ways

_NOT_ONCE: Final = (
    "its controller cannot make it boot from the network once: its own boot order has to begin"
    " with the network"
)


@frozen
class _Step:
    """One step that was done. :ivar name: for programs. :ivar text: for people."""

    name: str
    text: str


class _Stopped(Exception):
    """It goes no further. :ivar then: what to do next."""

    def __init__(self, why: str, then: str = "") -> None:
        super().__init__(why)
        self.then = then


class _Telling:
    """Steps as they are done: to people at once, to programs at the end."""

    def __init__(self, out: TextIO, err: TextIO, as_json: bool) -> None:
        self._out = out
        self._err = err
        self._as_json = as_json
        self.steps: list[_Step] = []
        self.warnings: list[str] = []

    def step(self, name: str, text: str) -> None:
        self.steps.append(_Step(name, text))
        if not self._as_json:
            self._out.write(f"{name:<8}{printable(text)}\n")
            self._out.flush()

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        if not self._as_json:
            self._err.write(f"warning: {printable(text)}\n")

    def end(self, machine: Controlled, dry: bool, stopped: _Stopped | None) -> int:
        """:returns: the exit code."""
        then = stopped.then if stopped is not None else ""
        if self._as_json:
            told = {
                "machine": machine.name,
                "dry_run": dry,
                "ok": stopped is None,
                "steps": [asdict(each) for each in self.steps],
                "warnings": self.warnings,
                "error": "" if stopped is None else str(stopped),
                "next": then,
            }
            self._out.write(json.dumps(told, indent=1) + "\n")
        elif stopped is not None:
            lines = [f"error: {stopped}", *([f"next: {then}"] if then else [])]
            self._err.writelines(f"{printable(each)}\n" for each in lines)
        return 0 if stopped is None else 1


class InstallOptions(MachineCommand):
    """``install``."""

    synopsis = "Usage: rescriptum install ID [--dry-run] [--json]"
    longdesc = (
        "Installs the machine ID, in any spelling: renders all that it will get, refuses what "
        "would never end or never begin, arms it as 'rescriptum arm' does, lets it boot from the "
        "network once, and powers it on, or restarts it where it is on. What is on its disks is "
        "lost. Exit code 0: it is on its way; 1: it is not, and what was done is undone or told; "
        "2: wrong usage, or the controllers file is wrong."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["dry-run", "n", "Look and tell, and change nothing."],
    ]

    async def perform_async(
        self, reactor: Reactor, config: Config, out: TextIO, err: TextIO
    ) -> int:
        """
        :raises ConfigError: for a controllers file that cannot be used.
        :raises NotFound: when nothing controls the machine.
        :raises Unavailable: when the answers cannot be read.
        """
        machine = controlled(config, self.identity)
        ways = Ways(reactor, lambda line: waiting(err, line))
        telling = _Telling(out, err, bool(self["json"]))
        dry = bool(self["dry-run"])
        with closing(store_of(config)) as store:
            installing = _Installing(self.identity, machine, ways, store, telling)
            stopped = None
            try:
                await installing.run(config, dry)
            except _Stopped as e:
                stopped = e
            except CancelledError:
                telling.end(machine, dry, installing.interrupted())
                raise
        return telling.end(machine, dry, stopped)


class _Installing:
    """One machine, from its answers to its power."""

    def __init__(
        self, identity: str, machine: Controlled, ways: Ways, store: Store, telling: _Telling
    ) -> None:
        self._identity = identity
        self._machine = machine
        self._ways = ways
        self._store = store
        self._telling = telling
        self._moved: tuple[Moved, ...] = ()
        self._once = False

    def interrupted(self) -> _Stopped:
        """:returns: how far it had come: nothing is undone, since it may be installing itself."""
        disarm = f"'rescriptum disarm {self._identity}' calls it off"
        left = f"everything stays as it is: {disarm}" if self._moved else "nothing was armed by it"
        return _Stopped("interrupted", left)

    async def run(self, config: Config, dry: bool) -> None:
        """:raises _Stopped: with what is left of it, and what to do."""
        rehearsal = Rehearsal.of(self._store.listing(), self._identity)
        self._render(rehearsal)
        self._check(rehearsal, config)
        power = await self._state()
        try:
            started = start(power)
        except Refused as e:
            raise _Stopped(f"{self._machine.name}: {e}", "nothing was changed") from None
        if dry:
            self._plan(rehearsal)
            self._telling.step("start", started.why)
            return
        self._arm()
        await self._boot_once()
        await self._start(SetPower(started.action), started.why)

    def _render(self, rehearsal: Rehearsal) -> None:
        names, results = rehearsal.rendered()
        for each in results:
            if each.severity is Severity.WARNING:
                self._telling.warn(f"{each.source}: {each.text}")
        wrong = [each for each in results if each.severity is Severity.PROBLEM]
        if wrong:
            text = "; ".join(f"{each.source}: {each.text}" for each in wrong)
            raise _Stopped(text, "mend it; nothing was changed")
        self._telling.step("render", ", ".join(names) or "nothing of its own, and no group's")

    def _check(self, rehearsal: Rehearsal, config: Config) -> None:
        try:
            arms, named = rehearsal.arms()
        except RescriptumError as e:
            raise _Stopped(str(e), "mend it; nothing was changed") from None
        why = objection(arms, named, config.boot.unclaimed)
        if why:
            raise _Stopped(f"{self._identity}: {why}", "nothing was changed")
        self._telling.step("check", f"its own ipxe document arms it: {named}")
        if config.answers.installed is None:
            self._telling.warn(
                "without RESCRIPTUM_INSTALLED_TOKEN no installer can say that it is done: run"
                f" 'rescriptum disarm {self._identity}' once it is"
            )

    async def _state(self) -> PowerState | None:
        if "status" not in self._machine.controller.can:
            return None
        try:
            data = await self._ways.ask(self._machine, "power.getPower")
        except BmcRefusal as e:
            raise _Stopped(f"{self._machine.name}: {advised(e)}", "nothing was changed") from None
        return PowerState(str(data["power"]))

    def _plan(self, rehearsal: Rehearsal) -> None:
        moved = rehearsal.switched.moved if rehearsal.switched is not None else ()
        for each in moved:
            self._telling.step("arm", f"would move {each}")
        if not moved:
            self._telling.step("arm", "is armed already")
        once = "pxe" in self._machine.controller.can
        self._telling.step("pxe", "would boot from the network once" if once else _NOT_ONCE)

    def _arm(self) -> None:
        try:
            done = arm_machine(self._store, self._identity)
        except RescriptumError as e:
            raise _Stopped(
                str(e), f"what is armed now, 'rescriptum disarm {self._identity}' shows and undoes"
            ) from None
        self._moved = done.moved
        for each in done.moved:
            self._telling.step("arm", str(each))
        for key in done.already:
            self._telling.step("arm", f"armed already: {key.place}")

    async def _boot_once(self) -> None:
        if "pxe" not in self._machine.controller.can:
            self._telling.step("pxe", _NOT_ONCE)
            return
        try:
            data = await self._ways.ask(
                self._machine, "boot.setOverride", SetOverride(BootTarget.PXE)
            )
        except BmcRefusal as e:
            if e.code == "unsupported-operation":
                self._telling.step("pxe", f"{_NOT_ONCE} ({e.detail})")
                return
            left = self._disarmed()
            if e.unknown:
                left += "; nobody knows whether its next boot is one from the network"
            raise _Stopped(f"{self._machine.name}: pxe: {advised(e)}", left) from None
        self._once = True
        self._telling.step("pxe", override_line(data))
        if data.get("once") is False:
            self._telling.warn(
                "its BMC keeps booting it from the network: once it is disarmed it finds nothing"
                " there and goes on to its disk"
            )

    async def _start(self, args: SetPower, why: str) -> None:
        try:
            data = await self._ways.ask(self._machine, "power.setPower", args)
        except BmcRefusal as e:
            text = f"{self._machine.name}: start: {advised(e)}"
            if e.unknown:
                raise _Stopped(
                    text,
                    "nobody knows whether it was done, so that everything stays as it is: look by"
                    f" 'rescriptum power status {self._machine.name}'; 'rescriptum disarm"
                    f" {self._identity}' calls it off",
                ) from None
            raise _Stopped(text, await self._undone()) from None
        state = str(data["power"])
        self._telling.step("start", why if state == "unknown" else f"{why}; it is {state}")

    async def _undone(self) -> str:
        """:returns: what has become of what was done."""
        told = self._disarmed()
        if not self._once:
            return told
        try:
            args = SetOverride(BootTarget.NONE)
            await self._ways.ask(self._machine, "boot.setOverride", args)
        except BmcRefusal as e:
            return f"{told}; its next boot still is one from the network, which stays ({e})"
        return f"{told}; its next boot is as it was"

    def _disarmed(self) -> str:
        """:returns: what has become of arming it."""
        if not self._moved:
            return f"it stays armed, as it was: 'rescriptum disarm {self._identity}' ends that"
        for each in reversed(self._moved):
            try:
                self._store.move(each.to, each.key)
            except RescriptumError as e:
                return (
                    f"it stays armed ({e}): 'rescriptum disarm {self._identity}' ends that before"
                    " it boots from the network"
                )
        return "it is disarmed again"
