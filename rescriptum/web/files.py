"""Files that replies are sent from: open once for all who read them."""

import errno
import os
import stat
from collections.abc import Callable
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ..errors import NotFound, RescriptumError, Unavailable
from ..interfaces import Workers
from ..values import Content

_Version = tuple[int, int, int, int]
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: What another try may get past.
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE, errno.EIO)
#: Seconds between two looks at an open file, and those that an unused one stays open for.
LOOK_AGAIN = 1.0
KEEP = 5.0


class OpenFile:
    """
    A descriptor and the number of replies that are being sent from it.

    :ivar version: of the file, as :attr:`rescriptum.values.Content.version`.
    """

    def __init__(self, fd: int, version: _Version, now: float) -> None:
        self.fd = fd
        self.version = version
        self.users = 0
        self.looked = now
        self.used = now
        self.dropped = False

    def unchanged(self) -> bool:
        """Whether nobody wrote to it since it was opened."""
        try:
            return _version(self.fd) == self.version
        except OSError:
            return False

    def release(self) -> None:
        """One user less; a file that the table no longer knows is closed by its last one."""
        self.users -= 1
        if self.dropped and not self.users:
            os.close(self.fd)


def _version(fd: int) -> _Version:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _open(content: Content) -> int:
    """
    Open the very file that ``content`` describes.

    :raises RescriptumError: the one that says what became of it.
    """
    try:
        fd = os.open(content.path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{content.path} has gone") from None
    except OSError as e:
        if e.errno in _PASSING:
            raise Unavailable(f"{content.path}: {e.strerror}") from e
        raise RescriptumError(f"{content.path}: {e.strerror}") from e
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotFound(f"{content.path} is no file")
    if _version(fd) != content.version:
        os.close(fd)
        raise _replaced(content)
    return fd


def _replaced(content: Content) -> Unavailable:
    # Whoever made the content will look again; what it says of the old file is not sent of the
    # new one.
    return Unavailable(f"{content.path} was changed a moment ago", retry_after=1)


class FileTable:
    """
    Descriptors by version: who reads a replaced image goes on reading the old one.

    A file is opened in the worker pool, and looked at once a second at most: one that was
    written to in place is dropped. Its bounds are the users, and ``spare`` files without any.
    """

    _log = Logger()

    def __init__(self, workers: Workers, now: Callable[[], float], spare: int = 64) -> None:
        """:param now: seconds that only go forward."""
        self._workers = workers
        self._now = now
        self._spare = spare
        # A version is of one file, whatever paths it has.
        self._open: dict[_Version, OpenFile] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    def take(self, content: Content) -> OpenFile | Deferred[OpenFile]:
        """
        :returns: the file, counted as used until :meth:`OpenFile.release`; at once where it is
            open already.
        :raises Unavailable: when it is not what ``content`` says any more.
        """
        file = self._open.get(content.version)
        if file is None:
            return Deferred.fromCoroutine(self._take(content))
        now = self._now()
        if now - file.looked >= LOOK_AGAIN:
            if not file.unchanged():
                self._drop(content.version)
                raise _replaced(content)
            file.looked = now
        file.users += 1
        file.used = now
        return file

    async def _take(self, content: Content) -> OpenFile:
        key = content.version
        fd = await self._workers.run(partial(_open, content))
        file = self._open.get(key)
        if file is not None:  # somebody else's opening was faster
            os.close(fd)
        else:
            self.sweep(self._spare - 1)
            file = OpenFile(fd, content.version, self._now())
            file.dropped = self._closed
            if not self._closed:
                self._open[key] = file
        file.users += 1
        file.used = self._now()
        return file

    def _drop(self, key: _Version) -> None:
        file = self._open.pop(key)
        file.dropped = True
        if not file.users:
            os.close(file.fd)

    def sweep(self, spare: int | None = None) -> None:
        """
        Close what nobody reads: a deleted image gives its disk space back.

        :param spare: how many of those may stay, the latest used; None: those used just now.
        """
        idle = sorted(
            (file.used, version) for version, file in self._open.items() if not file.users
        )
        oldest = self._now() - KEEP
        surplus = len(idle) - (self._spare if spare is None else spare)
        for rank, (used, version) in enumerate(idle):
            if rank < surplus or (spare is None and used <= oldest):
                self._drop(version)

    def close(self) -> None:
        """Forget every file; those in use are closed by their users."""
        self._closed = True
        for key in list(self._open):
            self._drop(key)
