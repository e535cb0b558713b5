"""
A listener that tells how late its reactor's timers are: ``python -m bench.http_lag PORT FILE``.

``GET /file`` sends the file; ``GET /lag`` says how late a timer was since it was last asked, in
milliseconds, and begins anew. Time for which the kernel let our threads wait for a processor is
not counted: it says how busy the machine is, not how long the reactor was held up.
"""

import json
import statistics
import sys
from pathlib import Path

from twisted.internet import epollreactor

from rescriptum.net.workers import WorkerPool
from rescriptum.values import Content, Extent, Listen
from rescriptum.web.reply import FileReply, Finished, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import Routes
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site

#: Seconds between two looks. epoll counts whole milliseconds: up to one of them is its own.
EVERY = 0.002


def waited_for_processors() -> float:
    """
    :returns: seconds, of all threads: one that is kept from running while it has the
        interpreter keeps the reactor from running too.
    """
    stats = [(each / "schedstat").read_text() for each in Path("/proc/self/task").iterdir()]
    return sum(int(each.split()[1]) for each in stats) / 1e9


class Watched:
    """One file, and the timer's diary."""

    routes = Routes()

    def __init__(self, reactor: epollreactor.EPollReactor, path: Path) -> None:
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        self._file = FileReply(Content(path, (Extent(0, found.st_size),), version))
        self._reactor = reactor
        self._late: list[float] = []
        self._last = self._waited = 0.0

    def look(self) -> None:
        waited = waited_for_processors()
        now = self._reactor.seconds()
        if self._last:
            late = now - self._last - EVERY - (waited - self._waited)
            self._late.append(max(0.0, late) * 1000)
        self._last, self._waited = now, waited
        self._reactor.callLater(EVERY, self.look)

    @routes.get("file")
    def file(self, request: Request) -> FileReply:
        return self._file

    @routes.get("lag")
    def lag(self, request: Request) -> Reply:
        late, self._late = self._late, []
        cuts = statistics.quantiles(late, n=100) if len(late) > 1 else [0.0] * 99
        figures = {"p50": cuts[49], "p99": cuts[98], "max": max(late, default=0), "n": len(late)}
        return Reply(json.dumps(figures).encode("ascii"), "application/json")

    def finished(self, done: Finished) -> None:
        """Nobody reads an access log of this."""

    def closed(self, peer: tuple[str, int]) -> None:
        """Nor of this."""


def main(port: int, path: Path) -> None:
    reactor = epollreactor.EPollReactor()
    workers = WorkerPool(reactor, "disk", 4)
    workers.start()
    watched = Watched(reactor, path)
    site = Site(watched, reactor=reactor, limits=Limits.media(), workers=workers)
    service = WebService(reactor, "lag", Listen("127.0.0.1", port), site)
    service.privilegedStartService()
    reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
    reactor.addSystemEventTrigger("after", "shutdown", workers.stop)
    reactor.callWhenRunning(watched.look)
    reactor.run()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
