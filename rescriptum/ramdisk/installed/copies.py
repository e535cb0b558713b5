"""What a tool copies out of a file system that nobody has mounted: whole, or not at all."""

from abc import ABC, abstractmethod

from .files import LARGEST, READABLE, FilesTrouble, checked
from .store import Scratch


class CopiedFiles(ABC):
    """A file system whose files are looked at by a copy of them."""

    def __init__(self, device: str, scratch: Scratch) -> None:
        """:param device: as the tool is to call it."""
        self._device = device
        self._scratch = scratch

    async def copied(self, path: str, name: str) -> str:
        """:raises FilesTrouble: when there is no such file, or it cannot be copied whole."""
        return await self._copied(path, name, LARGEST)

    async def read(self, path: str, most: int) -> bytes:
        """:raises FilesTrouble: when there is no such file."""
        await self._copied(path, "read", READABLE)
        data = self._scratch.read("read", most)
        self._scratch.remove("read")
        return data

    async def _copied(self, path: str, name: str, most: int) -> str:
        file, copy = f"/{'/'.join(checked(path))}", self._scratch.path(name)
        self._scratch.remove(name)
        size = await self._size(file)
        if size is None:
            raise FilesTrouble(f"{self._device}: no file {file}")
        if size > most:
            raise FilesTrouble(f"{self._device}: {file} has more than {most} bytes")
        await self._copy(file, copy)
        # Where there was no room for all of it, debugfs and mcopy end with 0 nevertheless.
        there = self._scratch.size(name)
        if there != size:
            self._scratch.remove(name)
            raise FilesTrouble(
                f"{self._device}: {file}: {there} of the {size} bytes could be copied:"
                " is there memory for it?"
            )
        return copy

    @abstractmethod
    async def _size(self, file: str) -> int | None:
        """:returns: bytes of it; None: there is no such file. :raises FilesTrouble: else."""

    @abstractmethod
    async def _copy(self, file: str, copy: str) -> None:
        """:raises FilesTrouble: when the tool says that it did not."""
