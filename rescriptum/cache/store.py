"""The cache's directory. Everything here blocks: it runs in a worker thread."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from attrs import evolve, frozen
from twisted.logger import Logger

from ..contract.sources import is_digest
from ..errors import Malformed, Unavailable, Unverified
from ..net.directories import sync
from .images import LONGEST_SIDECAR, CachedImage, Sidecar

#: What is being written, and is nothing after a crash.
_DRAFT: Final = ".pull-"
#: Bytes that stay free: the agent's journal may be on the same disk.
SPARE: Final = 256 * 1024 * 1024
#: Bytes read at once, and between two times that whoever waits is asked whether to go on.
_PIECE: Final = 1024 * 1024
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: What a file system says that cannot reserve.
_CANNOT = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class DiskFull(Unavailable):
    """There is no room for an image; what there is stays."""

    code = "disk-full"


class WrongBytes(Unverified):
    """What came is not the image that it was to be."""

    code = "image-unverified"


class DiskFailed(Unavailable):
    """The disk does not take, or give, what it should."""

    code = "disk-failed"


@contextmanager
def _told(what: str) -> Iterator[None]:
    """What the disk says, as an error of ours."""
    try:
        yield
    except OSError as e:
        kind = DiskFull if e.errno in _FULL else DiskFailed
        raise kind(f"{what}: {e.strerror or e}") from e


@frozen
class Found:
    """
    What is in the directory.

    :ivar ready: images that are known to be what they are called.
    :ivar unchecked: those of which that has to be found out first.
    """

    ready: tuple[CachedImage, ...]
    unchecked: tuple[CachedImage, ...]


class CacheDirectory:
    """Images, named by their digests, each with a sidecar; mode 0700, held by one agent."""

    _log = Logger()

    def __init__(self, path: Path, spare: int = SPARE) -> None:
        """:param spare: bytes of the disk that no image may take."""
        self.path = path
        self._spare = spare

    def open(self) -> Found:
        """
        Make the directory where it is missing, remove what a crash has left, and look.

        :raises Unavailable: when that cannot be.
        """
        with _told(f"{self.path} cannot be opened"):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.scandir(self.path) as entries:
                names = sorted(each.name for each in entries)
            for name in names:
                orphan = name.endswith(".json") and is_digest(name[:-5]) and name[:-5] not in names
                if name.startswith(_DRAFT) or orphan:
                    (self.path / name).unlink()
            found = [self._look(name) for name in names if is_digest(name)]
        there = [each for each in found if each is not None]
        return Found(
            tuple(image for image, known in there if known),
            tuple(image for image, known in there if not known),
        )

    def _look(self, digest: str) -> tuple[CachedImage, bool] | None:
        """:returns: the image, and whether it is known to be what it is called."""
        there = os.lstat(self.path / digest)
        if not stat.S_ISREG(there.st_mode):
            self._log.warn("{file} is no file, and left alone", file=str(self.path / digest))
            return None
        image = CachedImage(digest, _version(there), max(0, int(there.st_mtime)))
        try:
            sidecar = self._sidecar(digest)
        except Malformed as e:
            self._log.warn(
                "{file}.json is damaged ({reason}): the image is verified anew",
                file=str(self.path / digest),
                reason=str(e),
            )
            return image, False
        if sidecar is None:
            return image, False
        image = evolve(image, used=sidecar.used, url=sidecar.url)
        return image, image.sidecar() == sidecar

    def _sidecar(self, digest: str) -> Sidecar | None:
        """
        :returns: None: there is none.
        :raises Malformed: when it cannot be read, or makes no sense.
        """
        try:
            with open(self.path / f"{digest}.json", "rb") as file:
                return Sidecar.parse(file.read(LONGEST_SIDECAR))
        except FileNotFoundError:
            return None
        except OSError as e:
            raise Malformed(e.strerror or str(e)) from e

    def altered(self, images: Sequence[CachedImage]) -> list[CachedImage]:
        """:returns: those of ``images`` that somebody else wrote to, or removed."""
        return [each for each in images if self._version_of(each.digest) != each.version]

    def _version_of(self, digest: str) -> tuple[int, int, int, int] | None:
        try:
            return _version(os.lstat(self.path / digest))
        except OSError:
            return None

    def check(self, image: CachedImage, going: Callable[[], bool]) -> CachedImage | None:
        """
        Find out whether a file is what it is called. One that is not is removed.

        :param going: asked now and then whether to go on.
        :returns: None: it is not, it has gone, or there was no time.
        :raises Unavailable: when the disk does not answer.
        """
        path = self.path / image.digest
        digest = hashlib.sha256()
        with _told(f"{path} cannot be read"):
            try:
                file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed below
            except FileNotFoundError:
                return None
            with file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
                    if not going():
                        return None
                version = _version(os.fstat(file.fileno()))
        if digest.hexdigest() != image.digest:
            self._log.error(
                "{file} is not what it is called: its SHA-256 is {digest}; it is removed",
                file=str(path),
                digest=digest.hexdigest(),
            )
            self.remove(image.digest)
            return None
        image = evolve(image, version=version)
        try:
            self.remember(image)
        except Unavailable as e:  # the image is no worse for that: the next start verifies it anew
            self._log.warn("{reason}", reason=str(e))
        return image

    def remember(self, image: CachedImage) -> None:
        """
        Write the sidecar, in one step.

        :raises Unavailable: when it cannot be; what was there still is.
        """
        draft = self.path / f"{_DRAFT}{image.digest}.json"
        with _told(f"{image.digest}.json cannot be written"):
            try:
                with open(draft, "wb", opener=_private) as file:
                    file.write(image.sidecar().render())
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, self.path / f"{image.digest}.json")
            except OSError:
                with suppress(OSError):
                    draft.unlink()
                raise

    def remove(self, digest: str) -> None:
        """
        Whoever reads the image reads it to its end.

        :raises Unavailable: when the disk says no.
        """
        with _told(f"{digest} cannot be removed"):
            # An image without a sidecar would be verified again; a sidecar alone is nothing.
            for name in (digest, f"{digest}.json"):
                (self.path / name).unlink(missing_ok=True)

    def room(self) -> int:
        """:returns: bytes that images may still take; below 0: there is less than is to stay."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize - self._spare

    def draft(self, digest: str) -> "Draft":
        """:returns: an image to be written; nothing is on the disk yet."""
        return Draft(self, digest)


class Draft:
    """
    An image on its way: a file, and the digest of what is in it so far.

    One method at a time.

    :ivar have: bytes.
    """

    def __init__(self, directory: CacheDirectory, digest: str) -> None:
        self._directory = directory
        self._digest = digest
        self._path = directory.path / f"{_DRAFT}{digest}"
        self._fd = -1
        self._reserved = 0
        self._broken = False
        self.have = 0
        self._hash = hashlib.sha256()

    def begin(self, have: int, length: int | None) -> None:
        """
        Take bytes from now on.

        :param have: those that stay: all, or none of them.
        :param length: of the whole image, where it is known.
        :raises DiskFull: when there is no room for it.
        :raises Unavailable: when it cannot be written.
        """
        self._broken = False
        if have != self.have:
            self.have = 0
            self._hash = hashlib.sha256()
        with _told("the image cannot be written"):
            self._open()
            os.lseek(self._fd, self.have, os.SEEK_SET)
            if length is not None and length > self._reserved:
                self._reserve(length)

    def _open(self) -> None:
        if self._fd < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(self._path, flags, 0o600)

    def _reserve(self, length: int) -> None:
        needed = length - os.fstat(self._fd).st_blocks * 512
        room = self._directory.room()
        if needed > room:
            raise DiskFull(f"{needed} bytes more are needed, and there is room for {max(0, room)}")
        try:
            os.posix_fallocate(self._fd, 0, length)
        except OSError as e:
            if e.errno not in _CANNOT:
                raise
        self._reserved = length

    def write(self, chunks: Sequence[bytes]) -> None:
        """
        :raises DiskFull: when there is no room for more.
        :raises Unavailable: when it cannot be written; then nothing can before :meth:`begin`, as
            something would be missing in between.
        """
        if self._broken:
            raise DiskFailed("what came before could not be written")
        self._broken = True
        with _told("the image cannot be written"):
            for chunk in chunks:
                if self.have + len(chunk) > self._reserved and self._directory.room() < len(chunk):
                    raise DiskFull("the disk is full")
                left = memoryview(chunk)
                while left:
                    done = os.write(self._fd, left)
                    self._hash.update(left[:done])
                    self.have += done
                    left = left[done:]
        self._broken = False

    def end(self) -> None:
        """Take none for a while: what there is stays."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):  # of a network file system; finish() sees that it is there
                os.close(fd)

    def finish(self, url: str, now: int) -> CachedImage:
        """
        Put it in its place, if it is what it should be; else there is nothing of it any more.

        :raises WrongBytes: when it is not.
        :raises Unavailable: when the disk says no.
        """
        found = self._hash.hexdigest()
        if found != self._digest:
            have = self.have
            self.discard()
            raise WrongBytes(f"{have} bytes came, and their SHA-256 is {found}")
        with _told("the image cannot be put in its place"):
            self._open()
            os.ftruncate(self._fd, self.have)
            os.fsync(self._fd)
            image = CachedImage(self._digest, _version(os.fstat(self._fd)), now, url)
            self._directory.remember(image)
            os.rename(self._path, self._directory.path / self._digest)
            self.end()
            sync(self._directory.path)
        return image

    def discard(self) -> None:
        """There is nothing of it any more; it may begin anew."""
        self.end()
        with suppress(OSError):  # at the next start it goes
            self._path.unlink(missing_ok=True)
        self.have = self._reserved = 0
        self._hash = hashlib.sha256()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _version(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
