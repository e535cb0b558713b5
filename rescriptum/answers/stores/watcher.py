"""Tells the reactor that something has happened in directories that are watched."""

from collections.abc import Callable

from twisted.internet.interfaces import (
    IDelayedCall,
    IReactorFDSet,
    IReactorTime,
    IReadDescriptor,
)
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from .watches import Watches

#: Seconds from the first event to the reading of all of them: changes come in crowds.
SETTLE = 0.05


@implementer(IReadDescriptor)
class Watcher:
    """Tells in the reactor that watched directories have changed."""

    _log = Logger()
    _fd = -1

    def __init__(self, readers: IReactorFDSet, clock: IReactorTime, watches: Watches) -> None:
        self._readers = readers
        self._clock = clock
        self._watches = watches
        self._settling: IDelayedCall | None = None
        self._changed: Callable[[], None] = lambda: None
        self._said = ""
        self._overrun = False

    @property
    def complete(self) -> bool:
        """Whether nothing can change that is not told."""
        return self._watches.active and not self._watches.polled

    def start(self, changed: Callable[[], None]) -> None:
        """:param changed: called once each time, until :meth:`resume`."""
        self._changed = changed
        fd = self._watches.open()
        self._fd = -1 if fd is None else fd
        self._report()

    def resume(self) -> None:
        """What has happened has been read, as far as it could be."""
        self._report()
        if self._fd >= 0 and self._settling is None:
            self._readers.addReader(self)

    def doubt(self) -> None:
        """In a thread, before the store is read: what was told is not to be relied on."""
        self._watches.doubt()

    def stop(self) -> None:
        """Nobody may be reading what is watched."""
        self._readers.removeReader(self)
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        self._fd = -1
        self._watches.close()

    def _report(self) -> None:
        trouble = self._watches.trouble
        if trouble and trouble != self._said:
            self._log.warn(
                "answers: not all directories are watched, the rest is looked at each second: "
                "{reason}",
                reason=trouble,
            )
        elif self._said and not trouble:
            self._log.info("answers: all directories are watched")
        self._said = trouble
        if self._watches.overrun and not self._overrun:
            self._overrun = True
            self._log.info(
                "answers: more changed at once than fs.inotify.max_queued_events allows: "
                "everything was looked at"
            )

    def fileno(self) -> int:
        return self._fd

    def logPrefix(self) -> str:
        return "answers"

    def doRead(self) -> None:
        # What there is stays to be read, and the reactor would call again and again.
        self._readers.removeReader(self)
        self._settling = self._clock.callLater(SETTLE, self._settled)

    def _settled(self) -> None:
        self._settling = None
        self._changed()

    def connectionLost(self, reason: Failure) -> None:
        """The reactor ends; the service that started this stops it."""
