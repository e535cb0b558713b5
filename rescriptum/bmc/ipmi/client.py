"""ipmitool as a process beside the reactor: for commands that ask a BMC themselves."""

import time
from pathlib import Path
from shutil import which
from typing import Final

from attrs import frozen
from twisted.internet.task import deferLater

from ...contract.bmc import BmcRefusal
from ...net.processes import Program, ProgramTrouble, Reactor, ran
from .arguments import Call

#: Bytes that ipmitool may print, on each of both.
_MOST: Final = 1 << 20


@frozen
class Printed:
    """Satisfies :class:`rescriptum.bmc.ipmi.driver.Finished`."""

    status: int
    stdout: str
    stderr: str


class IpmiTool:
    """Satisfies :class:`rescriptum.bmc.ipmi.driver.Tool`."""

    def __init__(self, reactor: Reactor, path: str) -> None:
        """:param path: where ipmitool is looked for, and all of its environment but a password."""
        self._reactor = reactor
        self._path = path

    async def run(self, made: Call, seconds: float) -> Printed:
        """:raises BmcRefusal: ``timeout``; ``invalid-config`` when there is no ipmitool."""
        found = which("ipmitool", path=self._path)
        if found is None:
            raise BmcRefusal("invalid-config", "there is no ipmitool on this host: install it")
        program = Program(Path(found), {"PATH": self._path, **made.environ}, made.args)
        said = bytearray()

        def heard(data: bytes) -> None:
            said.extend(data[: _MOST - len(said)])

        try:
            ended = await ran(self._reactor, program, made.stdin, seconds, _MOST, heard)
        except ProgramTrouble as e:
            raise BmcRefusal(e.code, str(e)) from None
        out, err = (bytes(each).decode("utf-8", "replace") for each in (ended.stdout, said))
        return Printed(ended.status, out, err)

    async def wait(self, seconds: float) -> None:
        """Let some time pass."""
        await deferLater(self._reactor, seconds)

    def monotonic(self) -> float:
        """:returns: seconds, of a clock that only goes forward."""
        return time.monotonic()
