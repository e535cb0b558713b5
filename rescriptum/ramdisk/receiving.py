"""An image on its way to a disk: from the site's cache, or else from its own source."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from attrs import define, field, frozen
from twisted.logger import Logger

from ..contract.refusals import Rejected
from ..errors import RescriptumError, Unavailable
from ..interfaces import Sink
from .image.writing import StageFailed

#: Attempts in a row at one source that bring nothing, and seconds between two.
ATTEMPTS: Final = 3
PAUSE: Final = 2.0


class Attempts(Protocol):
    """What brings one image from one place; see :class:`rescriptum.cache.client.Pull`."""

    async def attempt(self) -> None:
        """
        Bring what is missing.

        :raises Refused: when the server has it not for us.
        :raises Unavailable: when it breaks off; what has come stays.
        """

    def stop(self) -> None:
        """Give up: an attempt ends soon."""


@frozen
class Source:
    """:ivar name: for people: ``cache`` or ``source``."""

    name: str
    url: str = field(repr=False)


@define
class Receiving:
    """
    One image, once.

    :ivar pull: of a URL; it raises Malformed for what is none, and asks nothing before it is told
        to. :ivar sleep: for so many seconds.
    """

    digest: str
    sink: Sink
    pull: Callable[[str, Sink], Attempts]
    sleep: Callable[[float], Awaitable[None]]
    _current: Attempts | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _log = Logger()

    async def run(self, sources: Sequence[Source]) -> Source:
        """
        :returns: where it came from.
        :raises StageFailed: when it came from nowhere, or a later stage has failed.
        :raises Rejected: ``revoked``, when it was stopped.
        """
        reasons = []
        for source in sources:
            try:
                await self._from(source)
            except StageFailed:
                raise  # no other source mends the disk, or the image
            except RescriptumError as e:
                if self._stopped:
                    raise Rejected("revoked") from None
                self._log.warn(
                    "Image {digest}: {source}: {reason}",
                    digest=self.digest,
                    source=source.name,
                    reason=str(e),
                )
                reasons.append(f"{source.name}: {e}")
            else:
                return source
        raise StageFailed("receive", Unavailable("; ".join(reasons)))

    def stop(self) -> None:
        """Give up: :meth:`run` ends soon."""
        self._stopped = True
        if self._current is not None:
            self._current.stop()

    async def _from(self, source: Source) -> None:
        pull = self._current = self.pull(source.url, self.sink)
        failures = 0
        try:
            while True:
                if self._stopped:
                    raise Unavailable("stopped")
                had = self.sink.have
                try:
                    await pull.attempt()
                except Unavailable:
                    failures = 0 if self.sink.have > had else failures + 1
                    if failures >= ATTEMPTS:
                        raise
                else:
                    return
                await self.sleep(PAUSE)
        finally:
            self._current = None
            pull.stop()
