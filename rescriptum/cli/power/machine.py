"""``rescriptum power status|on|off|pxe|probe``: one machine, asked once."""

import json
from collections.abc import Mapping
from typing import ClassVar, Final, TextIO

from attrs import asdict, fields, frozen
from twisted.internet.defer import CancelledError
from twisted.python.usage import UsageError

from ...bmc.redfish.quirks import QuirkProfile
from ...config import Config
from ...contract.bmc import (
    BMC_CODES,
    OPERATIONS,
    BmcRefusal,
    BootTarget,
    Nothing,
    PowerAction,
    PowerState,
    SetOverride,
    SetPower,
)
from ...net.processes import Reactor
from ...power.controllers import Controlled
from ...values import printable
from ..options import Command
from .file import controlled
from .ways import Ways

_CODES: Final = (
    " Exit code 0: done; 1: not, or nobody knows; 2: wrong usage, or the controllers file is wrong."
)
#: How an override's mode is told.
_MODES: Final = {True: " in UEFI mode", False: " in BIOS mode"}


class MachineCommand(Command):
    """A command about one machine."""

    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    identity = ""

    def parseArgs(self, *words: str) -> None:
        if len(words) > 1:
            raise UsageError(f"one machine at a time: {words[0]} or {words[1]}?")
        self.identity = words[0] if words else ""

    def postOptions(self) -> None:
        if not self.identity.strip():
            raise UsageError("which machine?")


def waiting(err: TextIO, line: str) -> None:
    """Say that something still goes on."""
    err.write(f"# {printable(line)}\n")
    err.flush()


def unknown(machine: Controlled) -> str:
    """:returns: what to do once nobody knows."""
    return (
        "Nobody knows whether it was done, and it is not tried again by itself: look by"
        f" 'rescriptum power status {machine.name}' first."
    )


def advised(error: BmcRefusal, advice: str | None = None) -> str:
    """
    :param advice: None: what its code says.
    :returns: what went wrong, and what to do about it.
    """
    if advice is None:
        row = BMC_CODES.get(error.code)
        advice = row.advice if row is not None else ""
    return f"{str(error).rstrip('.')}. {advice}".rstrip()


def explained(machine: Controlled, error: BmcRefusal, writes: bool) -> str:
    """
    :param writes: whether the machine may have been changed.
    :returns: what went wrong, and what to do about it.
    """
    advice = None
    if error.unknown and writes:
        advice = unknown(machine)
    elif error.code == "timeout":
        advice = BMC_CODES["unreachable"].advice
    return printable(f"{machine.name}: {advised(error, advice)}")


@frozen
class Told:
    """What came of an operation. :ivar writes: whether it changes something."""

    machine: Controlled
    operation: str
    writes: bool
    data: Mapping[str, object]
    error: BmcRefusal | None = None

    def as_json(self) -> dict[str, object]:
        """:returns: what programs get of it."""
        error = self.error
        unknown = error is not None and error.unknown and self.writes
        return {
            "machine": self.machine.name,
            "kind": self.machine.controller.kind,
            "operation": self.operation,
            "ok": error is None,
            "code": "ok" if error is None else error.code,
            "detail": "" if error is None else error.detail,
            "unknown": unknown,
            "data": dict(self.data),
        }


class _Asking(MachineCommand):
    """A command that asks one operation."""

    operation = ""

    def args(self) -> object:
        """:returns: of the operation."""
        return Nothing()

    def line(self, data: Mapping[str, object]) -> str:
        """:returns: what people are told of what came of it."""
        raise NotImplementedError

    async def perform_async(
        self, reactor: Reactor, config: Config, out: TextIO, err: TextIO
    ) -> int:
        """
        :raises ConfigError: for a controllers file that cannot be used.
        :raises NotFound: when nothing controls the machine.
        """
        machine = controlled(config, self.identity)
        ways = Ways(reactor, lambda line: waiting(err, line))
        writes = OPERATIONS[self.operation].writes
        try:
            data = await ways.ask(machine, self.operation, self.args())
            told = Told(machine, self.operation, writes, data)
        except BmcRefusal as e:
            told = Told(machine, self.operation, writes, {}, e)
        except CancelledError:
            if writes:
                err.write(f"# {printable(f'{machine.name}: {unknown(machine)}')}\n")
            raise
        if self["json"]:
            out.write(json.dumps(told.as_json(), indent=1) + "\n")
        elif told.error is None:
            out.write(f"{printable(f'{machine.name}: {self.line(told.data)}')}\n")
        else:
            err.write(f"error: {explained(machine, told.error, writes)}\n")
        return 0 if told.error is None else 1


class StatusOptions(_Asking):
    """``power status``."""

    synopsis = "Usage: rescriptum power status ID [--json]"
    longdesc = f"Says whether the machine ID, in any spelling, is on.{_CODES}"
    operation = "power.getPower"

    def line(self, data: Mapping[str, object]) -> str:
        return str(data["power"])


class _SetPower(_Asking):
    operation = "power.setPower"

    def line(self, data: Mapping[str, object]) -> str:
        state = str(data["power"])
        if state == PowerState.UNKNOWN.value:
            return "asked; its controller does not say what came of it"
        if data.get("done") == []:
            return f"{state} already"
        return f"{state}, in another way than usual" if data.get("degraded") else state


class OnOptions(_SetPower):
    """``power on``."""

    synopsis = "Usage: rescriptum power on ID [--json]"
    longdesc = f"Powers the machine ID on, and waits until it is.{_CODES}"

    def args(self) -> object:
        return SetPower(PowerAction.ON)


class OffOptions(_SetPower):
    """``power off``."""

    synopsis = "Usage: rescriptum power off ID [--hard] [--json]"
    longdesc = (
        "Asks the operating system of the machine ID to end, and waits until the power is off;"
        f" --hard takes its power away.{_CODES}"
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["hard", None, "At once, without asking its operating system."],
    ]

    def args(self) -> object:
        return SetPower(PowerAction.OFF if self["hard"] else PowerAction.SOFT_OFF)


class PxeOptions(_Asking):
    """``power pxe``."""

    synopsis = "Usage: rescriptum power pxe ID [--json]"
    longdesc = (
        "Lets the machine ID boot from the network, the next time alone, and reads that back. Its"
        f" power stays as it is.{_CODES}"
    )
    operation = "boot.setOverride"

    def args(self) -> object:
        return SetOverride(BootTarget.PXE)

    def line(self, data: Mapping[str, object]) -> str:
        return override_line(data)


def override_line(data: Mapping[str, object]) -> str:
    """:returns: what a boot override that was set means."""
    uefi = data.get("uefi")
    mode = _MODES[uefi] if isinstance(uefi, bool) else ""
    if data.get("once") is False:
        return f"boots from the network{mode} every time: this BMC knows no once"
    return f"boots from the network once{mode}"


class ProbeOptions(MachineCommand):
    """``power probe``."""

    synopsis = "Usage: rescriptum power probe ID [--json]"
    longdesc = (
        "Finds out how the BMC of the machine ID goes about Redfish, without changing anything:"
        f" its quirk profile.{_CODES}"
    )

    async def perform_async(
        self, reactor: Reactor, config: Config, out: TextIO, err: TextIO
    ) -> int:
        """
        :raises ConfigError: for a controllers file that cannot be used.
        :raises NotFound: when nothing controls the machine.
        """
        machine = controlled(config, self.identity)
        ways = Ways(reactor, lambda line: waiting(err, line))
        try:
            profile = await ways.probe(machine)
        except BmcRefusal as e:
            told = Told(machine, "probe", False, {}, e)
            if self["json"]:
                out.write(json.dumps(told.as_json(), indent=1) + "\n")
            else:
                err.write(f"error: {explained(machine, e, writes=False)}\n")
            return 1
        if self["json"]:
            out.write(json.dumps(asdict(profile), indent=1) + "\n")
        else:
            out.writelines(f"{each}\n" for each in _profile_lines(profile))
        return 0


def _profile_lines(profile: QuirkProfile) -> list[str]:
    lines = []
    for each in fields(QuirkProfile):
        value = getattr(profile, each.name)
        shown = ", ".join(value) if isinstance(value, tuple) else str(value)
        if isinstance(value, bool):
            shown = "yes" if value else "no"
        lines.append(printable(f"{each.name:<16}{shown or '-'}"))
    return lines
