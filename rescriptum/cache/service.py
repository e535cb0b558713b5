"""The cache of one site: what is wanted is pulled, what is too much goes, the rest is served."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final

from attrs import define, field, frozen
from hyperlink import URL
from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..contract.reports import State
from ..contract.sources import image_url, is_digest
from ..contract.specs import CacheImage
from ..contract.structure import JSON
from ..errors import Malformed, RescriptumError, Unverified
from ..values import Content
from .eviction import evicted
from .images import CachedImage
from .runner import Client, Pulls, Trouble
from .store import CacheDirectory

#: Images that an inventory lists, and troubles that a status does.
LISTED, TOLD = 1000, 16
#: Seconds between two times that an image's last use is written down.
USE: Final = 3600


@frozen
class CacheStatus:
    """
    How far the cache has come.

    :ivar bytes: of all images; ``budget``: what they may be, 0: no bound.
    :ivar ready: how many there are; ``pulling`` and ``failed``: of those that are wanted.
    :ivar troubles: of what has failed, the first of them.
    """

    bytes: int
    budget: int
    ready: int
    pulling: int
    failed: int
    troubles: tuple[Trouble, ...] = ()

    @property
    def state(self) -> State:
        """Of the section that it is a part of."""
        if self.failed:
            return State.FAILED
        return State.CONVERGING if self.pulling else State.READY

    @property
    def reason(self) -> str:
        """For people; empty where there is nothing to say."""
        if not self.troubles:
            return ""
        first = self.troubles[0]
        more = f", and {self.failed - 1} more" if self.failed > 1 else ""
        return f"image {first.sha256[:12]}: {first.reason}{more}"


@define
class _Brought:
    """An image that somebody waits for. :ivar waiting: each of them."""

    image: CacheImage
    waiting: list[Deferred[None]] = field(factory=list)


class CacheService(Service):
    """
    The images of one data directory.

    It makes no promise before :meth:`converge` was called: then the directory is opened, what a
    crash has left is removed, and files that may not be what they are called are verified.
    """

    name = "cache"
    _log = Logger()

    def __init__(
        self,
        directory: CacheDirectory,
        client: Client,
        budget: int,
        held: Callable[[], Collection[str]],
        changed: Callable[[], None],
        now: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        """
        :param budget: bytes that images may take; 0: no bound.
        :param held: digests that stay beside those that the site is to have: what boot entries
            and grants for BMCs name.
        :param changed: called when :meth:`converge` has something to do, or something new to say.
        :param now: Unix time.
        :param jitter: at random, at least 0 and less than 1.
        """
        self._directory = directory
        self._workers = client.workers
        self._budget = budget
        self._held = held
        self._changed = changed
        self._now = now
        self._pulls = Pulls(client, directory, self._evict, self._arrived, self._news, now, jitter)
        self._ready: dict[str, CachedImage] = {}
        self._unchecked: dict[str, CachedImage] = {}
        self._going: set[str] = set()
        self._named: frozenset[str] = frozenset()
        self._wrong: tuple[Trouble, ...] = ()
        self._brought: dict[str, _Brought] = {}
        self._opened = False
        self._looking = False
        self._stopping = False
        self._tasks: set[Deferred[None]] = set()

    def stopService(self) -> Deferred[None]:
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        self._stopping = True
        await self._pulls.stop()
        await DeferredList(list(self._tasks))

    # What is there.

    def find(self, digest: str) -> Content | None:
        """
        :param digest: as a stranger sent it.
        :returns: an image that can be served now.
        """
        image = self._ready.get(digest)
        return None if image is None else image.content(self._directory.path)

    def used(self, digest: str) -> None:
        """An image was asked for; that is written down once an hour at most."""
        image, now = self._ready.get(digest), int(self._now())
        if image is not None and now - image.used >= USE:
            self._ready[digest] = image = image.used_at(now)
            self._spawn(self._remember(image))

    async def _remember(self, image: CachedImage) -> None:
        await self._workers.run(partial(self._directory.remember, image))

    # What is wanted.

    async def converge(self, images: Sequence[CacheImage]) -> CacheStatus:
        """
        Pull in the background what is missing, and evict what is too much.

        :param images: that the site is to have: they are never evicted.
        :raises Unavailable: when the directory cannot be opened: the next call tries again.
        """
        if not self._opened:
            await self._open()
        elif not self._looking:
            self._looking = True
            self._spawn(self._look())
        wanted = [*images, *(each.image for each in self._brought.values())]
        self._named = frozenset(each.sha256 for each in wanted)
        there = self._ready.keys() | self._unchecked.keys() | self._going
        urls, self._wrong = _wanted([each for each in wanted if each.sha256 not in there])
        if not self._stopping:
            self._pulls.want(urls)
        self._settle()
        await self._evict()
        return self.status()

    async def bring(self, image: CacheImage) -> None:
        """
        Have an image that the site need not have. It stays while this is awaited; whoever wants it
        to stay longer holds it in the very turn of the reactor in which this returns.

        :raises Unverified: when it cannot be had, or is not what its digest says.
        """
        if self.find(image.sha256) is not None:
            return
        waiting: Deferred[None] = Deferred()
        brought = self._brought.setdefault(image.sha256, _Brought(image))
        brought.waiting.append(waiting)
        self._changed()
        try:
            await waiting
        finally:
            brought.waiting.remove(waiting)
            if not brought.waiting:
                del self._brought[image.sha256]
                self._changed()

    def _news(self) -> None:
        self._settle()
        self._changed()

    def _settle(self) -> None:
        """Tell those who wait for an image that it is there, or cannot be had."""
        if not self._brought:
            return
        pulls = (each.trouble for each in self._pulls.all)
        troubles = {each.sha256: each for each in (*self._wrong, *pulls) if each is not None}
        for digest, brought in tuple(self._brought.items()):
            trouble = troubles.get(digest)
            for waiting in tuple(brought.waiting):
                if waiting.called:
                    continue
                if digest in self._ready:
                    waiting.callback(None)
                elif trouble is not None:
                    waiting.errback(Unverified(f"{trouble.code}: {trouble.reason}"))

    async def _open(self) -> None:
        found = await self._workers.run(self._directory.open)
        self._opened = True
        self._ready = {each.digest: each for each in found.ready}
        self._doubt(found.unchecked)

    async def _look(self) -> None:
        """Whoever frees space by hand, or writes to an image, has it pulled or verified anew."""
        ready = tuple(self._ready.values())
        try:
            altered = await self._workers.run(partial(self._directory.altered, ready))
        finally:
            self._looking = False
        # Those that were evicted, or pulled anew, meanwhile are another matter.
        doubtful = [each for each in altered if self._ready.get(each.digest) == each]
        for each in doubtful:
            del self._ready[each.digest]
        self._doubt(doubtful)

    def _doubt(self, images: Sequence[CachedImage]) -> None:
        self._unchecked.update({each.digest: each for each in images})
        if images:
            self._spawn(self._check(images))

    async def _check(self, images: Sequence[CachedImage]) -> None:
        for image in images:
            check = partial(self._directory.check, image, lambda: not self._stopping)
            try:
                checked = await self._workers.run(check)
            except RescriptumError as e:
                self._log.warn(
                    "Image {digest} was not verified: {reason}",
                    digest=image.digest,
                    reason=str(e),
                )
                checked = None
            # Unless it was evicted meanwhile.
            if self._unchecked.pop(image.digest, None) is not None and checked is not None:
                self._ready[image.digest] = checked
            self._news()

    # Room.

    async def _evict(self) -> None:
        """One at a time: what is named may change before the next one goes."""
        while going := self._surplus():
            image = going[0]
            table = self._ready if image.digest in self._ready else self._unchecked
            # Nobody is given it from here on; who reads it reads it to its end.
            del table[image.digest]
            self._going.add(image.digest)
            try:
                await self._workers.run(partial(self._directory.remove, image.digest))
            except RescriptumError:
                table[image.digest] = image
                raise
            finally:
                self._going.discard(image.digest)
            if image.digest in self._named:
                self._changed()  # since it began to go
            self._log.info(
                "Evicted image {digest}: {size} bytes", digest=image.digest, size=image.size
            )

    def _surplus(self) -> tuple[CachedImage, ...]:
        there = [*self._ready.values(), *self._unchecked.values()]
        coming = sum(each.pull.known.length or each.draft.have for each in self._pulls.all)
        return evicted(there, self._named.union(self._held()), self._budget, coming)

    def _arrived(self, image: CachedImage) -> None:
        self._ready[image.digest] = image
        self._settle()

    # What is said of it.

    def status(self) -> CacheStatus:
        """:returns: as it is now."""
        troubles = [each.trouble for each in self._pulls.all if each.trouble is not None]
        told = (*self._wrong, *troubles)
        pulling = len(self._pulls.all) - len(troubles)
        return CacheStatus(
            self._bytes(),
            self._budget,
            len(self._ready),
            pulling + len(self._unchecked.keys() & self._named),
            len(told),
            told[:TOLD],
        )

    def _bytes(self) -> int:
        return sum(each.size for each in (*self._ready.values(), *self._unchecked.values()))

    def inventory(self) -> JSON:
        """:returns: for the ``images`` of an inventory: those used last come first."""
        ready = sorted(self._ready.values(), key=lambda each: (-each.used, each.digest))
        listed: list[JSON] = [
            {"sha256": each.digest, "state": "pulling", "bytes": each.draft.have}
            for each in self._pulls.all
        ]
        listed += [{"sha256": each.digest, "state": "ready", "bytes": each.size} for each in ready]
        return {"images": listed[:LISTED], "bytes": self._bytes(), "budget": self._budget}

    def _spawn(self, work: Coroutine[Deferred[Any], Any, None]) -> None:
        task = Deferred.fromCoroutine(work)
        self._tasks.add(task)
        task.addErrback(self._lost)
        task.addBoth(lambda _: self._tasks.discard(task))

    def _lost(self, failure: Failure) -> None:
        if failure.check(RescriptumError):
            self._log.warn("The cache: {reason}", reason=str(failure.value))
        else:
            self._log.failure("The cache failed", failure)


def _wanted(images: Sequence[CacheImage]) -> tuple[Mapping[str, URL], tuple[Trouble, ...]]:
    """:returns: URLs by digest; and what nobody could pull."""
    urls: dict[str, URL] = {}
    wrong = []
    for each in images:
        if not is_digest(each.sha256):
            shown = "".join(c if c.isalnum() else "?" for c in each.sha256)
            reason = "sha256: not 64 lower-case hexadecimal digits"
            wrong.append(Trouble(shown, "invalid-digest", reason))
            continue
        try:
            urls.setdefault(each.sha256, image_url(each.url))
        except Malformed as e:
            wrong.append(Trouble(each.sha256, "invalid-url", str(e)))
    return urls, tuple(wrong)
