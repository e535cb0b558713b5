"""``rescriptum power list``: what controls which machine, and with ``--state`` who is on."""

import json
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, TextIO

from attrs import define
from twisted.internet.defer import Deferred, DeferredSemaphore, gatherResults

from ...config import Config
from ...contract.bmc import BmcRefusal
from ...net.processes import Reactor
from ...power.controllers import Controlled
from ...values import printable
from ..options import Command
from ..progress import counted
from .file import controllers_of
from .ways import Ways

#: BMCs that are asked at once.
AT_ONCE: Final = 16


@define
class _Row:
    """A machine. :ivar state: empty: nobody asked. :ivar error: why it is not known."""

    machine: Controlled
    state: str = ""
    error: BmcRefusal | None = None

    def as_json(self) -> dict[str, object]:
        controller = self.machine.controller
        told: dict[str, object] = {
            "machine": self.machine.name,
            "kind": controller.kind,
            "controller": str(controller),
            "can": list(controller.can),
        }
        if self.state:
            told |= {"state": self.state}
        if self.error is not None:
            told |= {"code": self.error.code, "detail": self.error.detail}
        return told

    def cells(self) -> tuple[str, ...]:
        controller = self.machine.controller
        state = self.state if self.error is None else f"{self.state} ({self.error})"
        return (
            self.machine.name,
            controller.kind,
            str(controller),
            ",".join(controller.can),
            *([state] if self.state else []),
        )


class ListOptions(Command):
    """``power list``."""

    synopsis = "Usage: rescriptum power list [--state] [--json]"
    longdesc = (
        "Lists the machines of RESCRIPTUM_CONTROLLERS_FILE: id, kind, controller, and what it can"
        " do. Nothing is asked of any of them without --state. Exit code 0: told; 1: the state of"
        " some could not be read; 2: wrong usage, or the file is wrong."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["state", "s", f"Ask each whether it is on, {AT_ONCE} controllers at a time."],
        ["json", "j", "For programs."],
    ]

    async def perform_async(
        self, reactor: Reactor, config: Config, out: TextIO, err: TextIO
    ) -> int:
        """:raises ConfigError: for a controllers file that cannot be used."""
        rows = [_Row(each) for each in controllers_of(config)]
        if self["state"]:
            with counted(err) as follow:
                advance, done = follow("machines"), 0

                def one() -> None:
                    nonlocal done
                    done += 1
                    advance(done, len(rows))

                await _ask_all(Ways(reactor, lambda line: None), rows, one)
        if self["json"]:
            out.write(json.dumps([each.as_json() for each in rows], indent=1) + "\n")
        else:
            out.writelines(f"{each}\n" for each in _lines(each.cells() for each in rows))
        return 1 if any(each.error is not None for each in rows) else 0


async def _ask_all(ways: Ways, rows: Iterable[_Row], done: Callable[[], None]) -> None:
    """Those behind one BMC one after the other, so that none waits in its queue."""
    behind: dict[str, list[_Row]] = {}
    for each in rows:
        address = each.machine.controller.address.lower() or each.machine.name
        behind.setdefault(address, []).append(each)
    turns = DeferredSemaphore(AT_ONCE)

    async def ask(group: list[_Row]) -> None:
        for row in group:
            await _ask(ways, row)
            done()

    def begun(group: list[_Row]) -> Deferred[None]:
        return Deferred.fromCoroutine(ask(group))

    await gatherResults([turns.run(begun, group) for group in behind.values()])


async def _ask(ways: Ways, row: _Row) -> None:
    row.state = "unknown"
    if "status" not in row.machine.controller.can:
        return
    try:
        row.state = str((await ways.ask(row.machine, "power.getPower"))["power"])
    except BmcRefusal as e:
        row.error = e


def _lines(rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    told = [tuple(printable(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*told, strict=True)]
    for row in told:
        yield "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()
