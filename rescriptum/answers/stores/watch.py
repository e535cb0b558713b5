"""
Directories that the kernel watches for us, so that nobody has to look at each of them.

What happened is read where the directories are, in a thread: a directory is watched first and
read then, and no event can come between. The reactor only learns that there is something to read.
"""

import errno
import os
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

from .filesystem import is_local
from .inotify import Inotify, Notifications

#: Seconds from the first event to the reading of all of them: changes come in crowds.
SETTLE = 0.05

_ADVICE = {
    errno.ENOSPC: "fs.inotify.max_user_watches is too small for them: raise it with sysctl",
    errno.ENOMEM: "there is no memory to watch them",
    errno.EMFILE: "fs.inotify.max_user_instances is used up: raise it with sysctl",
    errno.ENOSYS: "this system has no inotify",
}


def _reason(e: OSError) -> str:
    return _ADVICE.get(e.errno or 0, str(e.strerror))


class Watches:
    """
    The watched directories of one answer set, each by a key of its owner's. Opened and closed
    by a :class:`Watcher`, while nobody reads the set; until then nothing is watched.

    :ivar polled: keys of directories in which something may change without a word: on another
        computer's disk, behind a symbolic link, or one too many. Who reads the set keeps it.
    :ivar trouble: why there are more of those than there need be; empty when there are not.
    :ivar overrun: whether more has happened at once than the kernel keeps.
    """

    def __init__(
        self,
        make: Callable[[], Notifications] = Inotify,
        local: Callable[[str], bool] = is_local,
    ) -> None:
        """
        :param make: may raise OSError.
        :param local: whether all changes of a directory's file system are seen.
        """
        self._make = make
        self._is_local = local
        self.trouble = ""
        self.overrun = False
        self._source: Notifications | None = None
        self._clear()

    def _clear(self) -> None:
        self.polled: set[str] = set()
        self._watched: dict[str, tuple[int, int, int]] = {}
        self._keys: dict[int, str] = {}
        self._devices: dict[int, bool] = {}
        self._full = self._doubted = False

    def open(self) -> int | None:
        """
        :returns: a descriptor that is readable when something has happened, or None where there
            is no such thing.
        """
        try:
            self._source = self._make()
        except OSError as e:
            self.trouble = _reason(e)
            return None
        return self._source.fileno()

    def close(self) -> None:
        source, self._source = self._source, None
        self._clear()
        if source is not None:
            source.close()

    @property
    def active(self) -> bool:
        """Whether anything is watched at all."""
        return self._source is not None

    def doubt(self) -> None:
        """Whatever is told the next time, everything may have changed."""
        self._doubted = True

    def renew(self) -> None:
        """Before everything is looked at: what was refused may be granted now."""
        self._devices.clear()
        if self._full:
            self._full = False
            self.trouble = ""

    def watch(self, key: str, path: str, status: os.stat_result) -> bool:
        """
        :param status: of the directory; where another one has taken its place, that is watched.
        :returns: whether it is watched from now on and was not before: what was seen before may
            have changed without a word.
        """
        if self.holds(key, status):
            return False
        self.drop(key)
        if self._source is None or self._full or not self._sees(path, status.st_dev):
            return False
        try:
            number = self._source.add(path)
        except OSError as e:
            if e.errno in (errno.ENOSPC, errno.ENOMEM):
                self._full = True
                self.trouble = _reason(e)
            return False
        if number in self._keys:  # under another name: two mounts of one directory
            return False
        self._keys[number] = key
        self._watched[key] = (number, status.st_ino, status.st_dev)
        return True

    def rely(self, key: str, blind: bool) -> None:
        """
        :param blind: whether something in the directory may change without its being told.
        """
        if self._source is not None and (blind or key not in self._watched):
            self.polled.add(key)
        else:
            self.polled.discard(key)

    def holds(self, key: str, status: os.stat_result) -> bool:
        """:returns: whether it is this directory that is watched."""
        return self._watched.get(key, ())[1:] == (status.st_ino, status.st_dev)

    def drop(self, key: str) -> None:
        """A directory is not there any more, or not to be watched."""
        self.polled.discard(key)
        known = self._watched.pop(key, None)
        if known is not None and self._source is not None:
            del self._keys[known[0]]
            self._source.remove(known[0])

    def told(self) -> set[tuple[str, str]] | None:
        """
        :returns: directories' keys and the names of entries that have changed, an empty name for
            the directory itself; hidden entries left out. None when everything may have changed.
        """
        if self._source is None:
            return None
        found: set[tuple[str, str]] = set()
        lost, self._doubted = self._doubted, False
        for event in self._source.read():
            key = self._keys.get(event.watch)
            if event.watch < 0:
                lost = self.overrun = True
            elif key is None:
                continue
            elif event.ended:
                del self._keys[event.watch], self._watched[key]
                found.add((key, ""))
            elif not event.name.startswith("."):
                found.add((key, event.name))
        return None if lost else found

    def _sees(self, path: str, device: int) -> bool:
        if device not in self._devices:
            self._devices[device] = self._is_local(path)
        return self._devices[device]


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
