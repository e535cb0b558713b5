"""ext2 to ext4 by debugfs: in user space, so that no kernel has to trust what an image brought."""

import re
from typing import Final

from ..tools import Tools
from .copies import CopiedFiles
from .files import MOST, Entry, FilesTrouble, checked
from .store import Scratch

#: Seconds that one call may take.
_CALL: Final = 120.0
#: A line of ``ls -p``: /inode/mode/uid/gid/name/size/.
_LINE: Final = re.compile(rb"/(\d+)/(\d{6})/\d+/\d+/([^/]+)/(\d*)/")
_REGULAR: Final = b"10"
#: Of ``stat``: a file, and how many bytes it has.
_DIRECTORY: Final = re.compile(rb"Type: directory\b")
_FILE: Final = re.compile(rb"Type: regular\b.*?\bSize: (\d{1,18})\b", re.S)


class ExtFiles(CopiedFiles):
    """Satisfies :class:`rescriptum.ramdisk.installed.files.Files`."""

    def __init__(self, device: str, tools: Tools, scratch: Scratch) -> None:
        super().__init__(device, scratch)
        self._tools = tools
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

    async def _size(self, file: str) -> int | None:
        found = _FILE.search(await self._debugfs(f'stat "{file}"'))
        return None if found is None else int(found[1])

    async def _copy(self, file: str, copy: str) -> None:
        await self._debugfs(f'dump "{file}" "{copy}"')

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
