"""
One image onto one disk, as ``bench.image`` measures it: ``python -m bench.image_client HOW URL
SHA256 DISK``, with HOW one of ``rescriptum`` and ``in-turn``. Prints one JSON object.

``in-turn`` is the same stages by the same code, each when the one before it has ended.
"""

import hashlib
import json
import resource
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from attrs import define, field
from twisted.internet import epollreactor
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall, react

from rescriptum.cache.client import HostPolicy, ImageClient
from rescriptum.contract.sources import image_url
from rescriptum.net.workers import WorkerPool
from rescriptum.ramdisk.image.compression import unpacked
from rescriptum.ramdisk.image.store import BUFFER, Disk, buffer
from rescriptum.ramdisk.image.writing import Writing
from rescriptum.roles.machine import DISK_THREADS

#: Stage -> how the thread that does it is called.
THREADS = {
    "receive": "MainThread",
    "hash": "PoolThread-image",
    "unpack": "image unpack",
    "write": "image write",
}
#: Seconds between two looks at what the threads have used.
EVERY = 0.02

#: Stage -> seconds.
Busy = dict[str, float]


class TimedDisk(Disk):
    """:ivar seconds: that writes and syncs have taken, whether by a processor or by the disk."""

    seconds = 0.0

    def write(self, data: memoryview, at: int) -> None:
        began = time.monotonic()
        super().write(data, at)
        self.seconds += time.monotonic() - began

    def sync(self) -> None:
        began = time.monotonic()
        super().sync()
        self.seconds += time.monotonic() - began


@define
class Kept:
    """A sink that keeps what comes. Satisfies :class:`rescriptum.interfaces.Sink`."""

    have: int = 0
    chunks: list[bytes] = field(factory=list)

    def begin(self, have: int, length: int | None) -> None:
        self.have, self.chunks = 0, []

    def write(self, chunks: Sequence[bytes]) -> None:
        self.chunks += chunks
        self.have += sum(map(len, chunks))

    def end(self) -> None:
        pass


def look(busy: Busy) -> None:
    """Take down what the stages' threads have used so far, of processors."""
    for thread in threading.enumerate():
        for stage, name in THREADS.items():
            if thread.name.startswith(name):
                try:
                    stat = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
                except OSError:
                    continue  # it has just ended
                busy[stage] = int(stat.split()[0]) / 1e9


@contextmanager
def clocked(busy: Busy, stage: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    busy[stage] = time.monotonic() - began


async def _room() -> None:
    pass


async def overlapped(
    images: ImageClient, disk_threads: WorkerPool, url: str, digest: str, disk: TimedDisk
) -> Busy:
    """As the ramdisk does it."""
    busy: Busy = {}
    look(busy)
    before = busy["receive"]
    looking = LoopingCall(look, busy)
    ended = looking.start(EVERY)
    writing = Writing(disk)
    try:
        await images.pull(image_url(url), writing, _room).attempt()
        await disk_threads.run(partial(writing.finish, digest))
    finally:
        looking.stop()
        await ended
        await disk_threads.run(writing.stop)
    busy["receive"] -= before
    return busy | {"write": disk.seconds}


async def in_turn(
    images: ImageClient, disk_threads: WorkerPool, url: str, digest: str, disk: TimedDisk
) -> Busy:
    """With as much memory as it takes."""
    busy: Busy = {}
    kept = Kept()
    with clocked(busy, "receive"):
        await images.pull(image_url(url), kept, _room).attempt()
    with clocked(busy, "hash"):
        hashed = hashlib.sha256()
        for chunk in kept.chunks:
            hashed.update(chunk)
    if hashed.hexdigest() != digest:
        raise ValueError("another image")
    filled = [buffer() for _ in range(-(-disk.size // BUFFER))]
    for each in filled:
        each[:] = bytes(BUFFER)  # the pipeline's few are in memory before long
    with clocked(busy, "unpack"):
        at = 0
        for piece in unpacked(iter(kept.chunks)):
            left = memoryview(piece)
            while left:
                into, within = filled[at // BUFFER], at % BUFFER
                taken = left[: BUFFER - within]
                into[within : within + len(taken)] = taken
                at, left = at + len(taken), left[len(taken) :]
    with clocked(busy, "write"):
        disk.empty_ends()
        for number, each in enumerate(filled):
            with memoryview(each) as view, view[: at - number * BUFFER] as data:
                disk.write(data, number * BUFFER)
        disk.sync()
    return busy


Way = Callable[[ImageClient, WorkerPool, str, str, TimedDisk], Awaitable[Busy]]
HOW: Mapping[str, Way] = {"rescriptum": overlapped, "in-turn": in_turn}


async def measured(
    reactor: epollreactor.EPollReactor, how: str, url: str, digest: str, path: str
) -> None:
    disk_threads = WorkerPool(reactor, "disk", DISK_THREADS)
    writer = WorkerPool(reactor, "image", 1)
    disk = TimedDisk.open(Path(path))
    disk_threads.start()
    writer.start()
    try:
        began, before = time.monotonic(), time.process_time()
        images = ImageClient(reactor, HostPolicy(), disk_threads, writer)
        busy = await HOW[how](images, disk_threads, url, digest, disk)
        seconds, cpu = time.monotonic() - began, time.process_time() - before
    finally:
        disk.close()
        disk_threads.stop()
        writer.stop()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "MiB": most, **busy}))


if __name__ == "__main__":
    react(lambda reactor, *given: Deferred.fromCoroutine(measured(reactor, *given)), sys.argv[1:])
