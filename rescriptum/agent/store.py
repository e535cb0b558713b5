"""
The data directory: every file of an agent, written whole or not at all, read by one agent alone.
"""

import fcntl
import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from attrs import field, frozen
from twisted.logger import Logger

from ..contract.bounds import name
from ..contract.joining import Role, TrustBundle
from ..contract.keys import Key, load, private_jwk
from ..contract.refusals import Rejected
from ..contract.structure import JSON, LONGEST_DOCUMENT, parsed, rendered, structured
from ..errors import ConfigError
from ..net.directories import sync
from ..values import Problem
from .journal import DamagedJournal, Journal

_T = TypeVar("_T")

IDENTITY, TRUST, JOURNAL, LOCK = "identity.json", "trust.json", "journal.db", "agent.lock"
#: What SQLite has beside a database.
_BESIDE = ("-wal", "-shm")


@frozen
class Identity:
    """
    Who this agent is, since it joined.

    :ivar key: private: what makes it this node.
    """

    node_id: str
    site: str
    role: Role
    key: Key = field(repr=False, eq=False)


@frozen
class _StoredIdentity:
    node_id: str = field(validator=name())
    site: str = field(validator=name())
    role: Role
    node_key: JSON = field(repr=False)


class DataDirectory:
    """
    One directory, mode 0700, held by one process; each file has mode 0600.

    A file that is damaged is set aside and begun anew where nothing depends on it. Identity and
    trust are never: without them an agent would be another one, or obey strangers.
    """

    _log = Logger()
    _lock: int | None = None

    def __init__(self, path: Path) -> None:
        """Nothing is opened or made before :meth:`open`."""
        self.path = path

    def open(self) -> None:
        """
        Make it where it is missing, and hold it until :meth:`close`.

        :raises ConfigError: when it cannot be written, or another agent holds it.
        """
        try:
            if not self.path.is_dir():
                self.path.mkdir(mode=0o700, parents=True)
                sync(self.path.parent)
            if not os.access(self.path, os.R_OK | os.W_OK | os.X_OK):
                raise self._wrong("cannot be written by this user; it needs to own it")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            lock = os.open(self.path / LOCK, flags, 0o600)
        except OSError as e:
            raise self._wrong(f"cannot be made or written: {e.strerror}") from e
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(OSError):  # a full disk: the lock holds, and nobody is told who has it
                os.ftruncate(lock, 0)
                os.write(lock, f"{os.getpid()}\n".encode())
        except BlockingIOError:
            holder = os.read(lock, 20).decode("ascii", "replace").strip()
            os.close(lock)
            raise self._wrong(
                f"another agent runs on it (process {holder or 'unknown'}); give each its own"
            ) from None
        except OSError as e:
            os.close(lock)
            raise self._wrong(f"cannot be locked: {e.strerror}") from e
        self._lock = lock

    def close(self) -> None:
        """Another agent may have it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def identity(self) -> Identity | None:
        """
        :returns: None: this agent has not joined.
        :raises ConfigError: when there is one that cannot be read: it is not put aside.
        """
        data = self._precious(IDENTITY)
        if data is None:
            return None
        try:
            stored = structured(_StoredIdentity, parsed(data))
            key = load(rendered(stored.node_key), "Ed25519")
        except Rejected as e:
            raise self._damaged(IDENTITY, e) from None
        return Identity(stored.node_id, stored.site, stored.role, key)

    def trust(self) -> TrustBundle:
        """
        :raises ConfigError: when there is none, or one that cannot be read: an agent that knows no
            command roots would take commands from anybody.
        """
        data = self._precious(TRUST)
        if data is None:
            raise self._wrong(
                f"{TRUST} is missing; put it back, or join again: remove {IDENTITY} and use a"
                " fresh token"
            )
        try:
            return structured(TrustBundle, parsed(data))
        except Rejected as e:
            raise self._damaged(TRUST, e) from None

    def joined(self, identity: Identity, trust: TrustBundle) -> None:
        """
        Keep what a join has brought. The identity is written last: where there is one, there is
        the trust that it came with.

        :raises OSError: when it cannot be written; then this agent has not joined.
        """
        stored = _StoredIdentity(
            identity.node_id, identity.site, identity.role, JSON(private_jwk(identity.key))
        )
        self.write(TRUST, rendered(trust))
        self.write(IDENTITY, rendered(stored))

    def load(self, name: str, kind: type[_T], now: float) -> _T | None:
        """
        Read a file that can be begun anew.

        :param kind: an attrs class, as :func:`rescriptum.contract.structure.structured` wants it.
        :param now: Unix time, for the name of one that has to be set aside.
        :returns: None: there is none, or it was damaged and is set aside.
        :raises OSError: when the disk does not answer.
        """
        data = self.read(name)
        if data is None:
            return None
        try:
            return structured(kind, parsed(data))
        except Rejected as e:
            self.set_aside(name, str(e), now)
            return None

    def save(self, name: str, value: object) -> None:
        """
        :param value: of an attrs class.
        :raises OSError: when it cannot be written; what was there still is.
        """
        self.write(name, rendered(value))

    def read(self, name: str) -> bytes | None:
        """
        :returns: None: there is none.
        :raises OSError: when the disk does not answer.
        """
        try:
            with open(self.path / name, "rb") as file:
                # One byte more than may be parsed: what is longer is damaged, not cut.
                return file.read(LONGEST_DOCUMENT + 1)
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """
        The old file, or the new one, whole, whenever the power fails.

        :raises OSError: when it cannot be written; what was there still is.
        """
        path, draft = self.path / name, self.path / f".{name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            file = os.open(draft, flags, 0o600)
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            finally:
                os.close(file)
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        sync(self.path)

    def remove(self, name: str) -> None:
        """
        Whether it is there or not.

        :raises OSError: when the disk does not answer.
        """
        try:
            os.unlink(self.path / name)
        except FileNotFoundError:
            return
        sync(self.path)

    def set_aside(self, name: str, reason: str, now: float) -> str:
        """
        Keep a file that is damaged, out of the way, for whoever wants to know why.

        :returns: what it is called now.
        :raises OSError: when it cannot be.
        """
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = f"{name}.corrupt-{stamp}"
        os.replace(self.path / name, self.path / aside)
        sync(self.path)
        self._log.error(
            "{file} is damaged ({reason}): kept as {aside}, and begun anew",
            file=str(self.path / name),
            reason=reason,
            aside=aside,
        )
        return aside

    def journal(self, now: float) -> Journal:
        """
        Open the journal, or make it. A damaged one is set aside: the new one refuses commands
        that were issued before it was made, since nobody knows whether they were run.

        :raises ConfigError: when there can be none.
        :raises Unavailable: when the disk does not answer, or a newer release wrote it.
        """
        path = self.path / JOURNAL
        try:
            for _ in range(2):
                self._ready(path)
                try:
                    return Journal(str(path), int(now))
                except DamagedJournal as e:
                    # The database first: where it is gone, nobody reads what was beside it.
                    aside = self.set_aside(JOURNAL, str(e), now)
                    for suffix in _BESIDE:
                        with suppress(FileNotFoundError):
                            os.replace(f"{path}{suffix}", self.path / f"{aside}{suffix}")
            raise self._wrong(f"{JOURNAL} cannot be read as soon as it is written")
        except OSError as e:
            raise self._wrong(f"{JOURNAL} cannot be opened: {e.strerror}") from e

    def _ready(self, path: Path) -> None:
        """
        A file for SQLite with our mode. It is empty, so what stood beside another one of its name,
        which a crash may have left, SQLite removes unread.
        """
        if path.exists():
            return
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        sync(self.path)

    def _precious(self, name: str) -> bytes | None:
        path = self.path / name
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
            if mode & 0o077:
                self._log.warn(
                    "{file} can be read by others (mode {mode}); want 0600",
                    file=str(path),
                    mode=f"{mode:04o}",
                )
            return self.read(name)
        except FileNotFoundError:
            return None
        except OSError as e:
            raise self._wrong(f"{name} cannot be read: {e.strerror}") from e

    def _damaged(self, name: str, error: Rejected) -> ConfigError:
        return self._wrong(
            f"{name} is damaged ({error}); put back a copy, or join again: remove {IDENTITY} and"
            " use a fresh token"
        )

    def _wrong(self, text: str) -> ConfigError:
        return ConfigError([Problem(str(self.path), text)])
