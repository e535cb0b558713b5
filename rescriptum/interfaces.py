"""What packages ask of each other; the roles hand over objects that satisfy it."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from attrs import frozen

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


class Fence(Protocol):
    """
    Whether this boot server may answer machines: asked in the very turn of the reactor in which
    each answer is handed over, never remembered.
    """

    @property
    def epoch(self) -> int:
        """Of the boot lease: what boot entries and token requests are bound to; 0 on standby."""

    def is_open(self) -> bool:
        """:returns: whether an answer may be handed over now."""

    def sent(self) -> None:
        """Said right after an answer was handed over: counts those that came too late."""


class Workers(Protocol):
    """A named, bounded pool of threads: blocking work leaves the reactor through it."""

    async def run(self, work: Callable[[], _T]) -> _T:
        """:raises Unavailable: when too much work is waiting already."""


class Sink(Protocol):
    """
    Where the stored bytes of an image go, one method at a time; all of them block.

    :ivar have: bytes that are there.
    """

    @property
    def have(self) -> int: ...

    def begin(self, have: int, length: int | None) -> None:
        """
        Take bytes from now on.

        :param have: those that stay: all, or none of them.
        :param length: of the whole image, where it is known.
        :raises RescriptumError: when there is no place for them.
        """

    def write(self, chunks: Sequence[bytes]) -> None:
        """:raises RescriptumError: when they cannot be kept; then nothing can before a begin."""

    def end(self) -> None:
        """None come for a while: what there is stays."""


@frozen
class Anew:
    """
    What has become of a command that an agent was stopped in: it is begun anew, since it comes to
    the same however often it is done.
    """
