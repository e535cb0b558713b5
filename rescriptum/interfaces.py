"""What packages ask of each other; the roles hand over objects that satisfy it."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from .values import Content, Generated

_T = TypeVar("_T")


class Loaders(Protocol):
    """What the boot directory has for a client that names a file."""

    def find(self, name: bytes) -> Content | Generated:
        """
        :param name: as it came from the wire, whatever it holds.
        :raises NotFound: and nothing else but :class:`Refused`, for any name; or
        :raises Unavailable: when the disk does not answer.
        """


class Admission(Protocol):
    """Who may be answered at all: ``RESCRIPTUM_BOOT_ALLOW``."""

    def admits(self, host: str) -> bool:
        """:param host: a peer's IP address in text."""


class Workers(Protocol):
    """A named, bounded pool of threads: blocking work leaves the reactor through it."""

    async def run(self, work: Callable[[], _T]) -> _T:
        """:raises Unavailable: when too much work is waiting already."""
