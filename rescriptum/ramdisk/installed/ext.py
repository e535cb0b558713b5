"""ext2 to ext4 by debugfs: in user space, so that no kernel has to trust what an image brought."""

import re
from typing import Final

from ..tools import Tools
from .files import LARGEST, MOST, READABLE, Entry, FilesTrouble, checked
from .store import Scratch

#: Seconds that one call may take.
_CALL: Final = 120.0
#: A line of ``ls -p``: /inode/mode/uid/gid/name/size/.
_LINE: Final = re.compile(rb"/(\d+)/(\d{6})/\d+/\d+/([^/]+)/(\d*)/")
_REGULAR: Final = b"10"
#: Of ``stat``: a file, and how many bytes it has.
_DIRECTORY: Final = re.compile(rb"Type: directory\b")
_FILE: Final = re.compile(rb"Type: regular\b.*?\bSize: (\d{1,18})\b", re.S)


class ExtFiles:
    """Satisfies :class:`rescriptum.ramdisk.installed.files.Files`."""

    def __init__(self, device: str, tools: Tools, scratch: Scratch) -> None:
        self._device = device
        self._tools = tools
        self._scratch = scratch
        self._replayed = False

    async def listed(self, directory: str) -> tuple[Entry, ...]:
        """:raises FilesTrouble: when it cannot be read."""
        path = "/" + "/".join(checked(directory, top=True))
        printed = await self._debugfs(f'ls -p "{path}"')
        found = (_LINE.fullmatch(line) for line in printed.splitlines()[:MOST])
        return tuple(
            Entry(each[3].decode("utf-8", "replace"), each[2].startswith(_REGULAR))
            for each in found
            if each is not None
        )

    async def copied(self, path: str, name: str) -> str:
        """:raises FilesTrouble: when there is no such file, or it cannot be copied whole."""
        return await self._copied(path, name, LARGEST)

    async def _copied(self, path: str, name: str, most: int) -> str:
        asked, copy = "/" + "/".join(checked(path)), self._scratch.path(name)
        self._scratch.remove(name)
        found = _FILE.search(await self._debugfs(f'stat "{asked}"'))
        if found is None:
            raise FilesTrouble(f"{self._device}: no file {asked}")
        size = int(found[1])
        if size > most:
            raise FilesTrouble(f"{self._device}: {asked} has more than {most} bytes")
        await self._debugfs(f'dump "{asked}" "{copy}"')
        # Where there was no room for all of it, debugfs ends with 0 nevertheless.
        there = self._scratch.size(name)
        if there != size:
            self._scratch.remove(name)
            raise FilesTrouble(
                f"{self._device}: {asked}: {there} of the {size} bytes could be copied:"
                " is there memory for it?"
            )
        return copy

    async def read(self, path: str, most: int) -> bytes:
        """:raises FilesTrouble: when there is no such file."""
        await self._copied(path, "read", READABLE)
        data = self._scratch.read("read", most)
        self._scratch.remove("read")
        return data

    async def write(self, path: str, data: bytes, mode: int) -> None:
        """:raises FilesTrouble: unless it can be read back."""
        *directories, name = checked(path)
        await self._replay()
        script, here = [], ""
        for each in directories:
            # One that is there must not be made: debugfs says so, and leaves a lost inode behind.
            there = any(entry.name == each for entry in await self.listed(here or "/"))
            here = f"{here}/{each}"
            if not there:
                script.append(f'mkdir "{here}"')
            # Of a script, debugfs goes on with the next line: it would write to the top.
            elif not _DIRECTORY.search(await self._debugfs(f'stat "{here}"')):
                raise FilesTrouble(f"{self._device}: {here} is a link or a file, and no directory")
        with self._scratch.kept("written", data) as source:
            script += [
                f'cd "{here or "/"}"',
                f'rm "{name}"',
                f'write "{source}" "{name}"',
                f'sif "{name}" mode 0{0o100000 | mode:o}',
                f'sif "{name}" uid 0',
                f'sif "{name}" gid 0',
            ]
            lines = "".join(f"{line}\n" for line in script).encode()
            with self._scratch.kept("script", lines) as commands:
                argv = ("debugfs", "-w", "-f", commands, self._device)
                ran = await self._tools.run(*argv, seconds=_CALL)
        if not ran.ok:
            raise FilesTrouble(ran.said)
        if await self.read(path, len(data) + 1) != data:
            raise FilesTrouble(f"{self._device}: {path} is not what was written")

    async def _replay(self) -> None:
        """
        What an image's journal has left to say, it says now: at the first mount it would come over
        what is written here.
        """
        if not self._replayed:
            argv = ("e2fsck", "-p", "-E", "journal_only", self._device)
            ran = await self._tools.run(*argv, seconds=_CALL)
            if ran.status not in (0, 1):
                raise FilesTrouble(ran.said)
            self._replayed = True

    async def _debugfs(self, request: str) -> bytes:
        ran = await self._tools.run("debugfs", "-R", request, self._device, seconds=_CALL)
        if not ran.ok:
            raise FilesTrouble(ran.said)
        return ran.stdout

    async def done(self) -> None:
        """debugfs has written everything when it ends."""
