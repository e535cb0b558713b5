"""xfs and btrfs: mounted, without devices and set-user-ids, for as long as it takes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from ...interfaces import Workers
from ..tools import Tools
from .files import LARGEST, MOST, Entry, FilesTrouble, checked
from .store import Beneath, Scratch

_T = TypeVar("_T")
_CALL: Final = 120.0
_READ, _WRITE = "ro", "rw"


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
        subvolumes: Sequence[str] = (),
    ) -> None:
        """
        :param directory: where it is mounted. :param beneath: the same, for files.
        :param subvolumes: names of directories that a system may be in, where it is not at the top.
        """
        self._device = device
        self._directory = directory
        self._beneath = beneath
        self._tools = tools
        self._scratch = scratch
        self._workers = workers
        self._subvolumes = subvolumes
        self._top: tuple[str, ...] = ()
        self._mounted = ""

    async def listed(self, directory: str) -> tuple[Entry, ...]:
        """:raises FilesTrouble: when it cannot be read."""
        asked = checked(directory, top=True)
        await self._mount(_READ)
        found = await self._on(partial(self._beneath.listed, self._top + asked, MOST))
        return tuple(Entry(name, regular) for name, regular in found)

    async def copied(self, path: str, name: str) -> str:
        """:raises FilesTrouble: when there is no such file, or it cannot be copied whole."""
        asked, copy = checked(path), self._scratch.path(name)
        await self._mount(_READ)
        await self._on(partial(self._beneath.copy, self._top + asked, copy, LARGEST))
        return copy

    async def read(self, path: str, most: int) -> bytes:
        """:raises FilesTrouble: when there is no such file."""
        asked = checked(path)
        await self._mount(_READ)
        return await self._on(partial(self._beneath.read, self._top + asked, most))

    async def write(self, path: str, data: bytes, mode: int) -> None:
        """:raises FilesTrouble: unless it can be read back."""
        asked = checked(path)
        await self._mount(_WRITE)
        await self._on(partial(self._beneath.write, self._top + asked, data, mode))
        if await self.read(path, len(data) + 1) != data:
            raise FilesTrouble(f"{self._device}: {path} is not what was written")

    async def _mount(self, how: str) -> None:
        """:param how: also for reading, once it is there for writing."""
        if self._mounted in (how, _WRITE):
            return
        await self.done()
        argv = ("mount", "-o", f"{how},nodev,nosuid,noexec", self._device, self._directory)
        ran = await self._tools.run(*argv, seconds=_CALL)
        if not ran.ok:
            raise FilesTrouble(ran.said)
        self._mounted = how
        self._top = await self._on(self._system)

    def _system(self) -> tuple[str, ...]:
        """:returns: the directory that the system's own top is."""
        for top in ((), *((each,) for each in self._subvolumes)):
            if self._beneath.listed((*top, "etc"), 1):
                return top
        return ()

    async def _on(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._workers.run(work)
        except OSError as e:
            raise FilesTrouble(f"{self._device}: {e.filename or ''}: {e.strerror}") from None

    async def done(self) -> None:
        """:raises FilesTrouble: when it cannot be let go of: then not all of it may be there."""
        if self._mounted:
            self._mounted = ""
            ran = await self._tools.run("umount", self._directory, seconds=_CALL)
            if not ran.ok:
                raise FilesTrouble(ran.said)
