"""xfs and btrfs: mounted, without devices and set-user-ids, for as long as it takes."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from ...interfaces import Workers
from ..tools import Tools
from .files import MOST, Entry, FilesTrouble, checked
from .store import Beneath, Scratch

_T = TypeVar("_T")
_CALL: Final = 120.0


class MountedFiles:
    """Satisfies :class:`rescriptum.ramdisk.installed.files.Files`."""

    def __init__(
        self,
        device: str,
        directory: str,
        beneath: Beneath,
        tools: Tools,
        scratch: Scratch,
        workers: Workers,
    ) -> None:
        """:param directory: where it is mounted. :param beneath: the same, for files."""
        self._device = device
        self._directory = directory
        self._beneath = beneath
        self._tools = tools
        self._scratch = scratch
        self._workers = workers
        self._mounted = False

    async def listed(self, directory: str) -> tuple[Entry, ...]:
        """:raises FilesTrouble: when it cannot be read."""
        found = await self._on(partial(self._beneath.listed, checked(directory, top=True)))
        return tuple(Entry(name, regular) for name, regular in found[:MOST])

    async def copied(self, path: str, name: str) -> str:
        """:raises FilesTrouble: when there is no such file."""
        copy = self._scratch.path(name)
        await self._on(partial(self._beneath.copy, checked(path), copy))
        return copy

    async def write(self, path: str, data: bytes, mode: int) -> None:
        """:raises FilesTrouble: unless it can be read back."""
        parts = checked(path)
        await self._on(partial(self._beneath.write, parts, data, mode))
        if await self._on(partial(self._beneath.read, parts, len(data) + 1)) != data:
            raise FilesTrouble(f"{self._device}: {path} is not what was written")

    async def _on(self, work: Callable[[], _T]) -> _T:
        if not self._mounted:
            options = "rw,nodev,nosuid,noexec"
            ran = await self._tools.run(
                "mount", "-o", options, self._device, self._directory, seconds=_CALL
            )
            if not ran.ok:
                raise FilesTrouble(ran.said)
            self._mounted = True
        try:
            return await self._workers.run(work)
        except OSError as e:
            raise FilesTrouble(f"{self._device}: {e.filename or ''}: {e.strerror}") from None

    async def done(self) -> None:
        """:raises FilesTrouble: when it cannot be let go of: then not all of it may be there."""
        if self._mounted:
            self._mounted = False
            ran = await self._tools.run("umount", self._directory, seconds=_CALL)
            if not ran.ok:
                raise FilesTrouble(ran.said)
