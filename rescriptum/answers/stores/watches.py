"""
Directories that the kernel watches for us, so that nobody has to look at each of them.

What happened is read where the directories are, in a thread: a directory is watched first and
read then, and no event can come between. The reactor only learns that there is something to read.
"""

import errno
import os
from collections.abc import Callable

from .filesystem import is_local
from .inotify import Inotify, Notifications

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
