"""
What the kernel tells of changes in directories: inotify(7), over ctypes.

Not ``twisted.internet.inotify``: it drops the kernel's word that its queue ran over, closes itself
when one watched directory is removed, hides why a watch was refused, and keeps a path object for
each, where there may be a hundred thousand.
"""

import ctypes
import errno
import os
import struct
from typing import NamedTuple, Protocol

_CLOSE_WRITE = 0x0008
_ATTRIB = 0x0004
_MOVED = 0x0040 | 0x0080
_CREATE = 0x0100
_DELETE = 0x0200
_DELETE_SELF = 0x0400
_MOVE_SELF = 0x0800
_UNMOUNT = 0x2000
_Q_OVERFLOW = 0x4000
_IGNORED = 0x8000
_ONLYDIR = 0x01000000

# Not IN_MODIFY: a file that is being written is no document yet; when it is closed, it is.
_MASK = _CLOSE_WRITE | _ATTRIB | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLYDIR

_HEADER = struct.Struct("=iIII")
#: One reading; more than the longest event has.
_BUFFER = 1 << 16


class Event(NamedTuple):
    """
    Something happened in a directory.

    :ivar watch: the directory's number, or -1: events were lost, since the queue was full.
    :ivar ended: whether the number means nothing any more.
    :ivar name: of the entry; empty for the directory itself.
    """

    watch: int
    ended: bool
    name: str


class Notifications(Protocol):
    """What is asked of :class:`Inotify`."""

    def fileno(self) -> int: ...
    def add(self, path: str) -> int: ...
    def remove(self, watch: int) -> None: ...
    def read(self) -> list[Event]: ...
    def close(self) -> None: ...


class Inotify:
    """One queue of events, and the descriptor that is readable while there are any."""

    def __init__(self) -> None:
        """:raises OSError: where there is no inotify, or this user has no more of it."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "inotify_init1"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._libc.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._fd = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def fileno(self) -> int:
        return self._fd

    def add(self, path: str) -> int:
        """
        Be told from now on of what happens in a directory, however often this is asked.

        :returns: the directory's number; two paths to one directory have the same.
        :raises OSError: with ENOSPC when this user may not watch any more.
        """
        return self._checked(self._libc.inotify_add_watch(self._fd, os.fsencode(path), _MASK))

    def remove(self, watch: int) -> None:
        """Be told no more; nothing for a number that has ended."""
        self._libc.inotify_rm_watch(self._fd, watch)

    def read(self) -> list[Event]:
        """:returns: everything that happened since this was last asked."""
        events: list[Event] = []
        while True:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return events
            at = 0
            while at < len(data):
                watch, mask, _, size = _HEADER.unpack_from(data, at)
                at += _HEADER.size
                name = data[at : at + size].rstrip(b"\0")
                at += size
                ended = bool(mask & (_IGNORED | _UNMOUNT))
                events.append(Event(watch, ended, os.fsdecode(name)))

    def close(self) -> None:
        os.close(self._fd)
