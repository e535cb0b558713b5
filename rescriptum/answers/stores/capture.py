"""Requests, kept in a directory for replaying: never read, never deleted, so many and no more."""

import os
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure

from ...errors import Unavailable
from ...interfaces import Workers
from ...web.bursts import Burst
from ...web.reply import Finished
from ...web.request import Request
from ..captured import BODY, META, Captured, number_of

#: Captures in one directory, those of earlier runs included.
MOST: Final = 1000
#: Bytes that may wait to be written, each request counted as OVERHEAD more than its body; what
#: comes while there are more is not kept.
WAITING: Final = 8 << 20
OVERHEAD: Final = 4096


class Captures:
    """
    What ``RESCRIPTUM_CAPTURE_DIR`` asks for. Whatever goes wrong here, the request was answered.

    The answer listener calls :meth:`keep` with each exchange that is over. One thread at a time
    writes, so that a slow disk does not take those that answers are made in.
    """

    _log = Logger()

    def __init__(self, directory: Path, workers: Workers, now: Callable[[], float]) -> None:
        """:param now: Unix time."""
        self._directory = directory
        self._workers = workers
        self._now = now
        self._failures = Burst("Requests that could not be kept", LogLevel.warn)
        self._queue: deque[tuple[Captured, bytes]] = deque()
        self._waiting = 0
        self._writing = False
        self._full = False
        # The thread's own: captures that are there, and the number of the last one.
        self._count: int | None = None
        self._number = 0

    def keep(self, done: Finished, composition: str = "") -> None:
        """
        Write the request down, later.

        :param composition: what the log says of its answer, ``format=toml machine=… group=…``.
        """
        request, now = done.request, self._now()
        self._failures.look(now)
        if self._full or request is None or not _may_be_kept(request):
            return
        size = len(request.body)
        if self._waiting + size + OVERHEAD > WAITING:
            self._failed(Failure(Unavailable("too many are waiting to be written")))
            return
        kind = request.header("content-type") or ""
        captured = Captured(
            int(now),
            done.peer,
            request.method,
            request.target,
            kind,
            size,
            f"{done.status} {composition}".strip(),
        )
        self._queue.append((captured, request.body))
        self._waiting += size + OVERHEAD
        if not self._writing:
            self._writing = True
            Deferred.fromCoroutine(self._write_all()).addErrback(self._failed)

    async def _write_all(self) -> None:
        try:
            while self._queue:
                captured, body = self._queue.popleft()
                try:
                    if not await self._workers.run(partial(self._write, captured, body)):
                        self._reached()
                except (OSError, Unavailable):
                    self._failed(Failure())
                finally:
                    self._waiting -= len(body) + OVERHEAD
        finally:
            self._writing = False

    def _reached(self) -> None:
        self._full = True
        self._queue.clear()
        self._log.warn(
            "Capture: {count} requests in {directory}, no more are kept",
            count=MOST,
            directory=str(self._directory),
        )

    def _failed(self, failure: Failure) -> None:
        if not self._failures.add(self._now()):
            return
        if failure.check(OSError, Unavailable):
            reason = getattr(failure.value, "strerror", None) or failure.getErrorMessage()
            self._log.warn(
                "Capture: a request is not kept in {directory}: {reason}",
                directory=str(self._directory),
                reason=reason,
            )
        else:
            self._log.failure("A request could not be kept", failure)

    # In a thread, one at a time.

    def _write(self, captured: Captured, body: bytes) -> bool:
        """
        :returns: whether there is room for another.
        :raises OSError: when it cannot be written; nothing of it is left behind.
        """
        if self._count is None:
            found = [number_of(name) for name in os.listdir(self._directory)]
            numbers = [each for each in found if each is not None]
            self._count, self._number = len(numbers), max(numbers, default=0)
        if self._count >= MOST:
            return False
        self._number += 1
        stem = self._directory / captured.name(self._number)
        written: list[Path] = []
        try:
            for suffix, data in ((BODY, body), (META, captured.meta().encode("utf-8"))):
                _create(Path(f"{stem}{suffix}"), data, written)
        except OSError:
            for path in written:
                path.unlink(missing_ok=True)
            raise
        self._count += 1
        return self._count < MOST


def replayed(meta: str, body: bytes) -> Request:
    """
    The request of a capture, to be asked again.

    :param meta: what its ``.meta`` says; ``body`` is what its ``.body`` holds.
    :raises MalformedRequest: naming the key of ``meta`` and what would be right.
    """
    captured = Captured.parse(meta)
    headers = (("content-type", captured.media_type),) if captured.media_type else ()
    return Request(captured.method, captured.target, captured.peer, headers, body)


def _may_be_kept(request: Request) -> bool:
    """Not what reports an installation: its body may hold the token, as Proxmox's does."""
    first = request.segments[0].lower() if request.segments else ""
    return request.target.startswith("/") and first != "installed"


def _create(path: Path, data: bytes, written: list[Path]) -> None:
    """A new file, for its owner's eyes: what hardware there is is nobody else's affair."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as file:
        written.append(path)
        file.write(data)
