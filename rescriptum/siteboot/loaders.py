"""A site's loaders: by TFTP all that is there, by HTTP those of the architecture table."""

from collections.abc import Mapping

from ..boot.loaders import BIOS_NATIVE_LOADER, SERVED
from ..errors import Forbidden, NotFound, RescriptumError
from ..interfaces import Loaders
from ..values import Content, Generated


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
    Those of the architecture table, with what the operator has put in their place.

    Satisfies :class:`rescriptum.interfaces.Loaders`: names are below ``loaders/``.

    :ivar names: by tags of the table.
    """

    def __init__(self, loaders: Loaders, others: Mapping[str, str]) -> None:
        """:param others: by tags of the table."""
        self._loaders = loaders
        table = {row.tag: row.loader for row in SERVED if row.loader is not None}
        self.names: Mapping[str, str] = {**table, **others}

    def find(self, name: bytes) -> Content | Generated:
        """:raises NotFound: for every other name, and as the directory does."""
        bare = name.removeprefix(b"loaders/")
        if bare.decode("utf-8", "replace") not in self.names.values():
            raise NotFound("no loader of the table")
        return self._loaders.find(bare)

    def there(self) -> Mapping[str, str]:
        """:returns: those of :attr:`names` whose files can be had now."""
        return {tag: name for tag, name in self.names.items() if self._has(name)}

    def native(self) -> str | None:
        """:returns: what a BIOS machine's own iPXE is sent to, where it is there."""
        return BIOS_NATIVE_LOADER if self._has(BIOS_NATIVE_LOADER) else None

    def _has(self, name: str) -> bool:
        try:
            self._loaders.find(name.encode("utf-8"))
        except RescriptumError:
            return False
        return True
