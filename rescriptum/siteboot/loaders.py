"""A site's loaders: by TFTP all that is there, by HTTP those of the architecture table."""

from collections.abc import Iterator, Mapping
from typing import Final

from ..boot.loaders import BIOS_NATIVE_LOADER, SERVED
from ..errors import Forbidden, NotFound, RescriptumError
from ..interfaces import Loaders
from ..values import Content, Generated

#: What iPXE without a script of its own asks for: in the TFTP root, or beside the loader.
AUTOEXEC: Final = "autoexec.ipxe"


class Inside:
    """
    A name that leaves the directory is none of ours: strangers are not told that it is one.

    Satisfies :class:`rescriptum.interfaces.Loaders`.
    """

    def __init__(self, loaders: Loaders) -> None:
        self._loaders = loaders

    def find(self, name: bytes) -> Content | Generated:
        """:raises NotFound: and ``Unavailable``; never ``Forbidden``."""
        try:
            return self._loaders.find(name)
        except Forbidden as e:
            raise NotFound(str(e)) from None


class Listed:
    """
    Those of the architecture table, with what the operator has put in their place, and the script
    that an iPXE asks for beside itself (W142).

    Satisfies :class:`rescriptum.interfaces.Loaders`: names are below ``loaders/``.

    :ivar names: by tags of the table.
    """

    def __init__(self, loaders: Loaders, others: Mapping[str, str]) -> None:
        """:param others: by tags of the table."""
        self._loaders = loaders
        table = {row.tag: row.loader for row in SERVED if row.loader is not None}
        self.names: Mapping[str, str] = {**table, **others}
        beside = {name[: name.rfind("/") + 1] + AUTOEXEC for name in self.names.values()}
        self._served = beside.union(self.names.values())

    def find(self, name: bytes) -> Content | Generated:
        """:raises NotFound: for every other name, and as the directory does."""
        bare = name.removeprefix(b"loaders/")
        if bare.decode("utf-8", "replace") not in self._served:
            raise NotFound("no loader of the table")
        return self._loaders.find(bare)

    def native(self) -> str | None:
        """:returns: what a BIOS machine's own iPXE is sent to, where it is there."""
        return BIOS_NATIVE_LOADER if self.has(BIOS_NATIVE_LOADER) else None

    def has(self, name: str) -> bool:
        """:returns: whether that file can be had now."""
        try:
            self._loaders.find(name.encode("utf-8"))
        except RescriptumError:
            return False
        return True


class There(Mapping[str, str]):
    """
    Loaders by tags of the table, those whose files can be had: each is looked for whenever it is
    asked for, so that one which an operator brings is offered at once.
    """

    def __init__(self, listed: Listed) -> None:
        self._listed = listed

    def __getitem__(self, tag: str) -> str:
        name = self._listed.names[tag]
        if not self._listed.has(name):
            raise KeyError(tag)
        return name

    def __iter__(self) -> Iterator[str]:
        return (tag for tag, name in self._listed.names.items() if self._listed.has(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)
