"""The catalogue, kept fresh while the server runs, and files inside media."""

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import MalformedImage, NotFound, RescriptumError, Unavailable
from ..interfaces import Workers
from ..values import Content
from .catalogue import Catalogue, Medium
from .disk.store import look_into, scan
from .probing import Probe, Scan, Seen, assemble
from .readers.store import Disc, Folder

#: Seconds after which the directory is listed again, when somebody asks.
FRESH = 1.0
#: Seconds for which an answer is still given at once while it is listed.
STALE = 3.0
#: Files inside images, and images with their directories, that are remembered.
MAX_FILES = 4096
MAX_DISCS = 8
MAX_REMEMBERED_PATH = 512

_Work = Callable[[], Coroutine[Deferred[Any], Any, None]]
_Version = tuple[int, int, int, int]


class _Running:
    """Work that is done once for all who wait for it."""

    _log = Logger()

    def __init__(self) -> None:
        self._waiting: list[Deferred[None]] = []
        self._running = False

    def start(self, work: _Work) -> None:
        """Do ``work``, unless it is being done."""
        if not self._running:
            self._running = True
            Deferred.fromCoroutine(work()).addBoth(self._done)

    async def over(self, work: _Work) -> None:
        """
        Wait until ``work`` is done, by this call or by an earlier one.

        :raises Unavailable: when it could not be done.
        """
        # One for each who waits: a client that leaves cancels its waiting, and not the work.
        mine: Deferred[None] = Deferred()
        self._waiting.append(mine)
        self.start(work)
        await mine

    def _done(self, result: Failure | None) -> None:
        self._running = False
        waiting, self._waiting = self._waiting, []
        if isinstance(result, Failure) and not result.check(RescriptumError):
            self._log.failure("The catalogue was not refreshed", result)
            result = Failure(Unavailable("the catalogue was not refreshed"))
        for each in waiting:
            each.callback(result)


class MediaStore:
    """
    The media directory as a :class:`Catalogue`.

    It is listed at most once a second, in a worker, and only while somebody asks; an image is
    looked into once and again when it or its sidecar changes.

    :ivar current: the newest catalogue there is.
    """

    _log = Logger()

    def __init__(self, directory: Path, workers: Workers, seconds: Callable[[], float]) -> None:
        """:param seconds: a clock that never goes back."""
        self._directory = directory
        self._workers = workers
        self._seconds = seconds
        self.current = Catalogue()
        self._scan = Scan()
        self._probes: dict[str, tuple[object, Probe]] = {}
        self._listed_at: float | None = None
        self._listing = _Running()
        self._probing = _Running()
        # Who waits for which image.
        self._wanted: dict[str, list[Deferred[None]]] = {}
        self._discs: OrderedDict[tuple[Path, _Version], Disc] = OrderedDict()
        # By image and path; with the version of the image that was looked at.
        self._files: OrderedDict[tuple[Path, str], tuple[_Version, Content | None]] = OrderedDict()

    async def catalogue(self) -> Catalogue:
        """
        :returns: a catalogue not older than a second, every image in it looked into.
        :raises Unavailable: when the workers have too much to do.
        """
        await self.listed()
        if self.current.pending:
            await self._probing.over(self._probe_all)
        return self.current

    async def listed(self) -> Catalogue:
        """
        :returns: a catalogue not older than a second; new images may be pending in it.
        :raises Unavailable: when the workers have too much to do.
        """
        if self._age() > FRESH:
            await self._listing.over(self._list)
        return self.current

    async def looked_into(self, name: str) -> Catalogue:
        """
        :returns: a catalogue not older than a second, in which the image ``name`` is not pending
            if it can be helped: it is the next that is looked into.
        :raises Unavailable: when the workers have too much to do.
        """
        await self.listed()
        if name in self.current.pending:
            mine: Deferred[None] = Deferred()
            self._wanted.setdefault(name, []).append(mine)
            self._probing.start(self._probe_all)
            await mine
        return self.current

    def at_once(self) -> Catalogue | None:
        """
        :returns: a catalogue that is good enough to answer from without waiting, or None. The
            directory is listed again beside that, so that a client that reads an image by
            thousands of ranges never waits for a disk to be listed.
        """
        age = self._age()
        if age > STALE:
            return None
        if age > FRESH:
            self._listing.start(self._list)
        return self.current

    def _age(self) -> float:
        return STALE + 1 if self._listed_at is None else self._seconds() - self._listed_at

    async def _list(self) -> None:
        found = await self._workers.run(lambda: scan(self._directory))
        self._listed_at = self._seconds()
        if found.fleeting:
            # A moment without descriptors, or of a network disk, takes no image from anybody.
            found = evolve(self._scan, problems=found.problems)
        keys = {seen.candidate.id: seen.key for seen in found.seen}
        self._scan = found
        self._probes = {
            name: (key, probe)
            for name, (key, probe) in self._probes.items()
            if keys.get(name) == key and not probe.fleeting
        }
        self._publish()
        if self.current.pending:
            self._probing.start(self._probe_all)

    async def _probe_all(self) -> None:
        shown = self._seconds()
        try:
            while (seen := self._next()) is not None:
                name = seen.candidate.id
                probe = await self._workers.run(partial(look_into, seen))
                # Whether it is still the same image, the next listing will know.
                self._probes[name] = seen.key, probe
                if name in self._wanted or self._seconds() - shown > FRESH:
                    shown = self._seconds()
                    self._publish()
                    self._release(name)
        finally:
            self._publish()
            for name in list(self._wanted):
                self._release(name)

    def _next(self) -> Seen | None:
        """:returns: an image that was not looked into: one that somebody waits for, or any."""
        unknown = [
            each
            for each in self._scan.seen
            if each.image is not None and each.candidate.id not in self._probes
        ]
        wanted = (each for each in unknown if each.candidate.id in self._wanted)
        return next(wanted, unknown[0] if unknown else None)

    def _release(self, name: str) -> None:
        for each in self._wanted.pop(name, []):
            each.callback(None)

    def _publish(self) -> None:
        probes = {name: probe for name, (_, probe) in self._probes.items()}
        before, self.current = self.current, assemble(self._scan, probes)
        # Not by looking through the other's: a directory of a thousand bad names has as many.
        was, now = set(before.problems), set(self.current.problems)
        for problem in self.current.problems:
            if problem not in was:
                self._log.warn("media: {problem}", problem=problem)
        for problem in before.problems:
            if problem not in now:
                self._log.info("media: no longer: {problem}", problem=problem)

    def remembered(self, medium: Medium, path: str) -> Content | None:
        """
        :returns: a file inside an image that was found before, or None: ask :meth:`file`.
        :raises NotFound: when it was looked for before, and is not there.
        """
        image = medium.image
        known = self._files.get((image.path, path)) if image is not None else None
        if image is None or known is None or known[0] != image.version:
            return None
        content = known[1]
        if content is None and medium.folder is None:
            raise NotFound(f"no {path!r} in {medium.id}")
        return content

    async def file(self, medium: Medium, path: str) -> Content:
        """
        :param path: inside the image, or the tree; without regard to case.
        :raises NotFound: when there is no such file.
        :raises MalformedImage: when the image contradicts itself on the way there.
        """
        image, folder = medium.image, medium.folder
        if image is not None:
            try:
                return await self._inside(image, path)
            except NotFound:
                if folder is None:
                    raise
        if folder is None:
            raise NotFound(f"no {path!r} in {medium.id}")
        return await self._workers.run(lambda: Folder(folder).find(path))

    async def _inside(self, image: Content, path: str) -> Content:
        key = image.path, image.version
        known = self._discs.get(key)

        def find() -> tuple[Disc, Content | None]:
            try:
                disc = known or Disc(image)
            except MalformedImage as e:
                raise NotFound(f"nothing is known of what is in {image.path.name}: {e}") from e
            try:
                return disc, disc.find(path)
            except NotFound:
                return disc, None

        disc, content = await self._workers.run(find)
        self._discs[key] = disc
        self._discs.move_to_end(key)
        if len(self._discs) > MAX_DISCS:
            self._discs.popitem(last=False)
        if len(path) <= MAX_REMEMBERED_PATH:
            self._files[image.path, path] = image.version, content
            if len(self._files) > MAX_FILES:
                self._files.popitem(last=False)
        if content is None:
            raise NotFound(f"no {path!r} in {image.path.name}")
        return content
