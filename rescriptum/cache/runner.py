"""Pulls, two side by side, each tried again until its image is there, or not wanted any more."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from attrs import define, frozen
from hyperlink import URL
from twisted.internet.defer import CancelledError, Deferred, DeferredList, DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..errors import RescriptumError
from ..interfaces import Sink, Workers
from .backoff import WRONG, pause
from .images import CachedImage
from .responses import Known, shown
from .store import CacheDirectory, DiskFull, Draft, WrongBytes

_T = TypeVar("_T")

#: Attempts at once.
ABREAST: Final = 2
#: Bytes of an attempt that is no failure, however it ended.
_PROGRESS: Final = 1 << 20


#: Makes room for what has just been found out to come, if it can.
MakeRoom = Callable[[], Awaitable[None]]


class Attempts(Protocol):
    """What brings one image; see :class:`rescriptum.cache.client.Pull`."""

    @property
    def known(self) -> Known: ...
    async def attempt(self) -> None: ...
    def stop(self) -> None: ...


class Client(Protocol):
    """Where images come from; see :class:`rescriptum.cache.client.ImageClient`."""

    @property
    def clock(self) -> IReactorTime: ...
    @property
    def workers(self) -> Workers: ...
    def pull(self, url: URL, draft: Sink, make_room: MakeRoom) -> Attempts: ...


@frozen
class Trouble:
    """
    Why an image is not here.

    :ivar code: for programs, ``reason`` for people.
    """

    sha256: str
    code: str
    reason: str


@define(eq=False)
class Pulling:
    """
    One image that is wanted.

    :ivar failures: attempts in a row that brought nothing.
    """

    digest: str
    url: URL
    draft: Draft
    pull: Attempts
    failures: int = 0
    wanted: bool = True
    _trouble: Trouble | None = None
    _began: int | None = None
    _waiting: Deferred[Any] | None = None

    @property
    def trouble(self) -> Trouble | None:
        """What is in its way; None: it is on its way, or waits for its turn."""
        return None if self._began is not None and self._progressed() else self._trouble

    def _progressed(self) -> bool:
        have, began = self.draft.have, self._began or 0
        return have - (began if have >= began else 0) >= _PROGRESS

    def begin(self) -> None:
        """An attempt."""
        self._began = self.draft.have

    def failed(self, trouble: Trouble) -> bool:
        """
        An attempt has ended.

        :returns: whether that is news.
        """
        progressed = self._progressed()
        self._began = None
        self.failures = 1 if progressed else self.failures + 1
        before, self._trouble = self._trouble, None if progressed else trouble
        return self._trouble not in (None, before)

    async def until(self, waiting: Deferred[_T]) -> None:
        """:raises CancelledError: when it is not wanted any more."""
        self._waiting = waiting
        if not self.wanted:
            waiting.cancel()
        try:
            await waiting
        finally:
            self._waiting = None

    def drop(self) -> None:
        """Nobody wants it any more: what runs ends soon."""
        self.wanted = False
        self.pull.stop()
        if self._waiting is not None:
            self._waiting.cancel()


class Pulls:
    """What is being pulled: one that has failed gives its place to the next."""

    _log = Logger()

    def __init__(
        self,
        client: Client,
        directory: CacheDirectory,
        make_room: MakeRoom,
        arrived: Callable[[CachedImage], None],
        changed: Callable[[], None],
        now: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        """
        :param arrived: called with each image that is in its place.
        :param changed: called when there is something new to be said of one, or to be done.
        :param now: Unix time.
        """
        self._client = client
        self._directory = directory
        self._make_room = make_room
        self._arrived = arrived
        self._changed = changed
        self._now = now
        self._jitter = jitter
        self._all: dict[str, Pulling] = {}
        self._running: set[Deferred[None]] = set()
        self._turns = DeferredSemaphore(ABREAST)

    @property
    def all(self) -> tuple[Pulling, ...]:
        """Those that are wanted, in the order in which they were first."""
        return tuple(each for each in self._all.values() if each.wanted)

    def want(self, urls: Mapping[str, URL]) -> None:
        """:param urls: by digest: all that is wanted from now on, and not here."""
        for digest, each in list(self._all.items()):
            if each.wanted and urls.get(digest) != each.url:
                each.drop()
        for digest, url in urls.items():
            # One that was just dropped still has its file: when it is gone, there is another look.
            if digest not in self._all:
                draft = self._directory.draft(digest)
                pull = self._client.pull(url, draft, self._make_room)
                self._begin(Pulling(digest, url, draft, pull))

    async def stop(self) -> None:
        """Nothing is wanted any more; what has come of images that are not whole is thrown away."""
        self.want({})
        await DeferredList(list(self._running))

    def _begin(self, each: Pulling) -> None:
        self._all[each.digest] = each
        running = Deferred.fromCoroutine(self._run(each))
        self._running.add(running)
        running.addErrback(lambda failure: self._log.failure("A pull was lost", failure))
        running.addBoth(lambda _: self._running.discard(running))

    async def _run(self, each: Pulling) -> None:
        try:
            while each.wanted:
                turn = self._turns.acquire()
                await each.until(turn)
                try:
                    seconds = await self._attempted(each)
                finally:
                    self._turns.release()
                if seconds is None:
                    return
                waiting: Deferred[None] = Deferred()
                timer = self._client.clock.callLater(seconds, waiting.callback, None)
                try:
                    await each.until(waiting)
                finally:
                    if timer.active():
                        timer.cancel()
        except CancelledError:
            pass  # nobody wants it any more
        finally:
            try:
                await self._client.workers.run(each.draft.discard)
            finally:
                del self._all[each.digest]
                self._changed()

    async def _attempted(self, each: Pulling) -> float | None:
        """:returns: seconds until the next attempt; None: the image is there."""
        each.begin()
        try:
            await each.pull.attempt()
            finish = partial(each.draft.finish, each.url.to_text(True), int(self._now()))
            image = await self._client.workers.run(finish)
        except DiskFull as e:
            await self._client.workers.run(each.draft.discard)  # room for others, and the journal
            return self._failed(each, e)
        except RescriptumError as e:
            return self._failed(each, e)
        except Exception as e:  # noqa: BLE001 - one image never stops another
            self._log.failure("The pull of {digest} failed", digest=each.digest)
            return self._failed(each, RescriptumError(type(e).__name__))
        self._log.info("Pulled image {digest}: {size} bytes", digest=image.digest, size=image.size)
        self._arrived(image)
        return None

    def _failed(self, each: Pulling, error: RescriptumError) -> float:
        news = each.failed(Trouble(each.digest, error.code, str(error)))
        wrong = isinstance(error, WrongBytes)
        seconds = WRONG if wrong else pause(each.failures, self._jitter())
        if each.wanted and news:
            self._log.warn(
                "Image {digest} from {url}: {code}: {reason}; next in {seconds:.0f} s",
                digest=each.digest,
                url=shown(each.url),
                code=error.code,
                reason=str(error),
                seconds=seconds,
            )
            self._changed()
        return seconds
