"""FAT by mtools: for what is to be read by label alone (W298)."""

import re
from typing import Final

from ..tools import Ran, Tools
from .copies import CopiedFiles
from .files import MOST, Entry, FilesTrouble, checked
from .store import Scratch

_CALL: Final = 120.0
#: What ``mdir`` ends with: one file, and how many bytes it has. A directory has two more.
_FILE: Final = re.compile(rb"^ +1 file +(\d[\d ]{0,20}) bytes", re.M)


class FatFiles(CopiedFiles):
    """Satisfies :class:`rescriptum.ramdisk.installed.files.Files`, as far as FAT has modes."""

    def __init__(self, device: str, tools: Tools, scratch: Scratch) -> None:
        super().__init__(device, scratch)
        self._tools = tools

    async def listed(self, directory: str) -> tuple[Entry, ...]:
        """:returns: nothing either where it cannot be read: the others may have what is wanted."""
        path = "/".join(checked(directory, top=True))
        ran = await self._tools.run("mdir", "-b", "-i", self._device, f"::/{path}", seconds=_CALL)
        if not ran.ok:
            return ()
        lines = ran.stdout.decode("utf-8", "replace").splitlines()[:MOST]
        names = [each.rstrip("/").rpartition("/")[2] for each in lines]
        return tuple(
            Entry(name, not line.endswith("/")) for name, line in zip(names, lines, strict=True)
        )

    async def _size(self, file: str) -> int | None:
        found = _FILE.search((await self._run("mdir", "-i", self._device, f"::{file}")).stdout)
        return None if found is None else int(found[1].replace(b" ", b""))

    async def _copy(self, file: str, copy: str) -> None:
        await self._run("mcopy", "-n", "-o", "-i", self._device, f"::{file}", copy)

    async def write(self, path: str, data: bytes, mode: int) -> None:
        """:raises FilesTrouble: unless it can be read back."""
        *directories, name = checked(path)
        here = "::"
        for each in directories:
            here = f"{here}/{each}"
            await self._tools.run("mmd", "-D", "s", "-i", self._device, here, seconds=_CALL)
        with self._scratch.kept("written", data) as source:
            await self._run("mcopy", "-n", "-o", "-i", self._device, source, f"{here}/{name}")
        if await self.read(path, len(data) + 1) != data:
            raise FilesTrouble(f"{self._device}: {path} is not what was written")

    async def _run(self, *argv: str) -> Ran:
        ran = await self._tools.run(*argv, seconds=_CALL)
        if not ran.ok:
            raise FilesTrouble(ran.said)
        return ran

    async def done(self) -> None:
        """mtools have written everything when they end."""
