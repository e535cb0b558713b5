"""FAT by mtools: for what is to be read by label alone (W298)."""

from typing import Final

from ..tools import Tools
from .files import MOST, Entry, FilesTrouble, checked
from .store import Scratch

_CALL: Final = 120.0


class FatFiles:
    """Satisfies :class:`rescriptum.ramdisk.installed.files.Files`, as far as FAT has modes."""

    def __init__(self, device: str, tools: Tools, scratch: Scratch) -> None:
        self._device = device
        self._tools = tools
        self._scratch = scratch

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

    async def copied(self, path: str, name: str) -> str:
        """:raises FilesTrouble: when there is no such file."""
        copy = self._scratch.path(name)
        argv = ("mcopy", "-n", "-o", "-i", self._device, f"::/{'/'.join(checked(path))}", copy)
        self._scratch.remove(name)
        await self._run(*argv)
        return copy

    async def read(self, path: str, most: int) -> bytes:
        """:raises FilesTrouble: when there is no such file."""
        await self.copied(path, "read")
        data = self._scratch.read("read", most)
        self._scratch.remove("read")
        return data

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

    async def _run(self, *argv: str) -> None:
        ran = await self._tools.run(*argv, seconds=_CALL)
        if not ran.ok:
            raise FilesTrouble(ran.said)

    async def done(self) -> None:
        """mtools have written everything when they end."""
