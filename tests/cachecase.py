"""A cache in memory, but for its directory: what it would pull comes as the test says."""

from hashlib import sha256
from pathlib import Path

from attrs import define, field
from hyperlink import URL
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from rescriptum.cache.responses import Known
from rescriptum.cache.runner import MakeRoom
from rescriptum.cache.service import CacheService
from rescriptum.cache.store import CacheDirectory
from rescriptum.contract.specs import CacheImage
from rescriptum.errors import Unavailable
from rescriptum.interfaces import Sink
from rescriptum.testing import MemoryWorkers

START = 1_700_000_000


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def image(data: bytes, url: str = "http://images/x") -> CacheImage:
    """:returns: what a gateway names, of ``data``."""
    return CacheImage(digest(data), url)


@define(eq=False)
class MemoryPull:
    """
    Satisfies :class:`rescriptum.cache.runner.Attempts`: an attempt ends when the test says.

    :ivar attempts: how many were begun. :ivar ending: of the one that runs; None: none does.
    """

    url: URL
    draft: Sink
    make_room: MakeRoom
    known: Known = field(factory=Known)
    attempts: int = 0
    stopped: bool = False
    ending: Deferred[None] | None = None

    async def attempt(self) -> None:
        self.attempts += 1
        if self.stopped:
            raise Unavailable("given up")
        self.ending = Deferred()
        try:
            await self.ending
        finally:
            self.ending = None

    def stop(self) -> None:
        self.stopped = True
        if self.ending is not None:
            self.fail(Unavailable("given up"))

    def bring(self, data: bytes, length: int | None = None) -> None:
        """So much comes: room is made for it first."""
        self.known = Known(0, "", len(data) if length is None else length)
        made = False

        async def make() -> None:
            nonlocal made
            await self.make_room()
            made = True

        Deferred.fromCoroutine(make())
        assert made
        self.draft.begin(self.draft.have, self.known.length)
        self.draft.write([data])

    def end(self) -> None:
        assert self.ending is not None
        self.draft.end()
        self.ending.callback(None)

    def fail(self, error: Exception) -> None:
        assert self.ending is not None
        self.draft.end()
        self.ending.errback(error)


@define(eq=False)
class MemoryClient:
    """Satisfies :class:`rescriptum.cache.runner.Client`. :ivar pulls: all that were made."""

    clock: Clock = field(factory=Clock)
    workers: MemoryWorkers = field(factory=MemoryWorkers)
    pulls: list[MemoryPull] = field(factory=list)

    def pull(self, url: URL, draft: Sink, make_room: MakeRoom) -> MemoryPull:
        made = MemoryPull(url, draft, make_room)
        self.pulls.append(made)
        return made

    @property
    def running(self) -> list[MemoryPull]:
        return [each for each in self.pulls if each.ending is not None]


class CacheHouse:
    """
    One cache, and what it would be told.

    :ivar held: digests that boot entries name. :ivar changes: how often it had something to say.
    """

    def __init__(self, path: Path, budget: int = 0) -> None:
        self.path = path
        self.client = MemoryClient()
        self.held: set[str] = set()
        self.changes = 0
        self.clock = self.client.clock
        self.service = CacheService(
            CacheDirectory(path, spare=0),
            self.client,
            budget,
            lambda: self.held,
            self._changed,
            self.now,
            lambda: 0.0,
        )
        self.service.startService()

    def _changed(self) -> None:
        self.changes += 1

    def now(self) -> float:
        return START + self.clock.seconds()

    def names(self) -> list[str]:
        return sorted(each.name for each in self.path.iterdir() if each.suffix != ".json")


def plant(path: Path, data: bytes, used: int = START) -> str:
    """:returns: the digest of an image that was pulled before."""
    directory = CacheDirectory(path, spare=0)
    directory.open()
    draft = directory.draft(digest(data))
    draft.begin(0, len(data))
    draft.write([data])
    return draft.finish("http://images/planted", used).digest
