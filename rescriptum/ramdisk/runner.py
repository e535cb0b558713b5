"""Tools as processes beside the reactor: what they print is bounded, and nothing of them stays."""

import os
from pathlib import Path
from shutil import which
from typing import Final

from ..net.processes import Program, ProgramTrouble, Reactor, ran
from .tools import Ran, ToolTrouble

#: Bytes that a tool may print: one that prints more is ended, and what it complains of is cut.
MOST: Final = 8 << 20
COMPLAINTS: Final = 64 * 1024
#: What they are told of the world: English, and where other tools are.
_LANGUAGE: Final = "C.UTF-8"


class ProcessTools:
    """Satisfies :class:`rescriptum.ramdisk.tools.Tools`."""

    def __init__(self, reactor: Reactor, path: str | None = None) -> None:
        """:param path: where they are looked for; None: on PATH, at each call."""
        self._reactor = reactor
        self._path = path

    async def run(self, *argv: str, stdin: bytes = b"", seconds: float = 60) -> Ran:
        """:raises ToolTrouble: when there is no such tool, or it had to be ended."""
        path = os.environ.get("PATH", os.defpath) if self._path is None else self._path
        found = which(argv[0], path=path)
        if found is None:
            raise ToolTrouble(f"there is no {argv[0]} here")
        program = Program(Path(found), {"PATH": path, "LC_ALL": _LANGUAGE}, argv[1:])
        said = bytearray()

        def heard(data: bytes) -> None:
            said.extend(data[: COMPLAINTS - len(said)])

        try:
            ended = await ran(self._reactor, program, stdin, seconds, MOST, heard)
        except ProgramTrouble as e:
            code = "timeout" if e.code == "timeout" else "failed"
            raise ToolTrouble(f"{argv[0]}: {e}", code) from None
        return Ran(argv, ended.status, ended.stdout, said.decode("utf-8", "replace"))
