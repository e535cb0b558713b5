"""
One pull of one image, as ``bench.pull`` measures it: ``python -m bench.pull_client HOW URL
SHA256 DIRECTORY``, with HOW one of ``rescriptum`` and ``treq``. Prints one JSON object.

How late a timer was is told as by :mod:`bench.http_lag`: without the time for which the kernel let
our threads wait for a processor.
"""

import hashlib
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

from treq.client import HTTPClient
from twisted.internet import epollreactor
from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.web.client import Agent

from rescriptum.cache.client import HostPolicy, ImageClient
from rescriptum.cache.service import CacheService
from rescriptum.cache.store import CacheDirectory
from rescriptum.contract.specs import CacheImage
from rescriptum.net.workers import WorkerPool

from .http_lag import EVERY, waited_for_processors


class Diary:
    """How late a timer was, in milliseconds."""

    def __init__(self, reactor: epollreactor.EPollReactor) -> None:
        self._reactor = reactor
        self._last = self._waited = 0.0
        self.late: list[float] = []

    def look(self) -> None:
        waited, now = waited_for_processors(), self._reactor.seconds()
        if self._last:
            late = now - self._last - EVERY - (waited - self._waited)
            self.late.append(max(0.0, late) * 1000)
        self._last, self._waited = now, waited
        self._reactor.callLater(EVERY, self.look)


async def by_cache(
    reactor: epollreactor.EPollReactor, url: str, digest: str, directory: Path
) -> int:
    """:returns: bytes that the cache has, when it has them all."""
    workers = WorkerPool(reactor, "cache", 3)
    writer = WorkerPool(reactor, "writer", 1)
    workers.start()
    writer.start()
    try:
        done: Deferred[None] = Deferred()
        cache = CacheService(
            CacheDirectory(directory / "cache"),
            ImageClient(reactor, HostPolicy(), workers, writer),
            0,
            frozenset,
            lambda: done.callback(None),
            time.time,
            lambda: 0.0,
        )
        await cache.converge([CacheImage(digest, url)])
        await done
        await cache.stopService()
        return cache.status().bytes
    finally:
        workers.stop()
        writer.stop()


async def by_treq(
    reactor: epollreactor.EPollReactor, url: str, digest: str, directory: Path
) -> int:
    """The way that anybody would write it: each piece is hashed and written as it comes."""
    hashed = hashlib.sha256()
    path = directory / "image"
    with path.open("wb") as file:

        def piece(data: bytes) -> None:
            hashed.update(data)
            file.write(data)

        response = await HTTPClient(Agent(reactor)).get(url, unbuffered=True)
        await response.collect(piece)
        file.flush()
        os.fsync(file.fileno())
    return path.stat().st_size if hashed.hexdigest() == digest else 0


HOW = {"rescriptum": by_cache, "treq": by_treq}


async def measured(
    reactor: epollreactor.EPollReactor, how: str, url: str, digest: str, directory: str
) -> None:
    diary = Diary(reactor)
    diary.look()
    began = reactor.seconds()
    size = await HOW[how](reactor, url, digest, Path(directory))
    seconds = reactor.seconds() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "MBps": size / seconds / 1e6,
        "size": size,
        "cpu": used.ru_utime + used.ru_stime,
        "lag_max": max(diary.late),
        "lag_p99": statistics.quantiles(diary.late, n=100)[98] if len(diary.late) > 1 else 0.0,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    react(lambda reactor, *given: Deferred.fromCoroutine(measured(reactor, *given)), sys.argv[1:])
