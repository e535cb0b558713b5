"""
A process that is killed at its Nth write, for every N: what it leaves is for tests to look at.

``python -m tests.crashing DIRECTORY LIFE`` lives one in a child of its own, killed one write later
each time, until one comes to its end. ``DIRECTORY/HOW-N/`` is what it left, and ``HOW-N.told``
beside it what it had told others by then.

SQLite writes through system calls that its VFS lets tests replace (``xSetSystemCall``), and the
agent's own files through ``os``: both are counted together. Killed means ``os._exit``: nothing is
flushed, closed or undone, and what was written stays, as with SIGKILL.
"""

import ctypes
import itertools
import mmap
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rescriptum.agent.journal import Journal
from rescriptum.agent.store import JOURNAL, DataDirectory, Identity
from rescriptum.contract.commands import Result
from rescriptum.contract.joining import Role, TrustBundle
from rescriptum.contract.keys import load

from .agent_commands import NOW, command, digest, octets

KILLED = 99
#: Where a write ends: nothing of it was done, or half of it (of a call that does not write: all).
HOWS = ("before", "half")

#: Two joins of one agent; the keys are for these tests alone.
FIRST = Identity(
    "n1",
    "s1",
    Role.SITE,
    load(
        b'{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",'
        b'"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}',
        "Ed25519",
    ),
)
SECOND = Identity("n2", "s1", Role.SITE, FIRST.key)
FIRST_TRUST, SECOND_TRUST = TrustBundle(quorum=1), TrustBundle(quorum=2)
#: When the agent is started again, and when the first command has been forgotten.
LATER, LATE = NOW + 60, NOW + 3 * 86_400
DONE, REVOKED = Result(True, "ok"), Result(False, "revoked")

Say = Callable[[str], None]


def never(kind: str, then: str, now: str) -> Result | None:
    return None


def receive(journal: Journal, command_id: str, now: int) -> bool:
    taken = command(command_id, not_after=now + 600, text="x" * 5000)
    return journal.receive(taken, digest(taken), octets(taken), now)


def life(path: Path, say: Say) -> None:
    """An agent joins, takes commands, is started again, forgets, and joins again."""
    directory = DataDirectory(path)
    directory.open()
    directory.joined(FIRST, FIRST_TRUST)
    say("joined first")
    journal = directory.journal(NOW)
    for command_id in ("c1", "c2", "c3", "c4"):
        receive(journal, command_id, NOW)
        say(f"journalled {command_id}")
    journal.finish("c2", REVOKED, "boot-1", NOW)
    say("done c2")
    for command_id in ("c1", "c3"):
        journal.start(command_id, "boot-1")
        say(f"ran {command_id}")
    journal.finish("c1", DONE, "boot-1", NOW + 1)
    say("done c1")
    journal.acknowledge(["c1"])
    say("acknowledged c1")
    journal.close()
    journal = directory.journal(LATER)
    journal.recover("boot-2", never, LATER)
    say("done c3")
    receive(journal, "c5", LATE)
    say("journalled c5")
    directory.joined(SECOND, SECOND_TRUST)
    say("joined second")
    journal.close()
    directory.close()


def prepared(path: Path) -> None:
    """What is there before :func:`damaged`: a command has begun, and its journal is damaged."""
    directory = DataDirectory(path)
    directory.open()
    directory.joined(FIRST, FIRST_TRUST)
    journal = directory.journal(NOW)
    receive(journal, "c1", NOW)
    journal.close()
    journal = directory.journal(NOW)
    journal.start("c1", "boot-1")
    kept = path / "kept"
    shutil.copyfile(path / f"{JOURNAL}-wal", kept)
    journal.close()
    kept.rename(path / f"{JOURNAL}-wal")
    with open(path / JOURNAL, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 12_288)
    directory.close()


def damaged(path: Path, say: Say) -> None:
    """An agent is started whose journal is damaged."""
    directory = DataDirectory(path)
    directory.open()
    journal = directory.journal(LATER)
    say("opened")
    receive(journal, "c2", LATER)
    say("journalled c2")
    journal.close()
    directory.close()


LIVES: dict[str, tuple[Callable[[Path], None] | None, Callable[[Path, Say], None]]] = {
    "life": (None, life),
    "damaged": (prepared, damaged),
}


class Deaths:
    """
    Counts writes, and ends the process at one of them.

    :ivar seen: the names of the calls that were counted, SQLite's with a star.
    """

    def __init__(self, at: int, how: str) -> None:
        self._left = at
        self._how = how
        self.seen: set[str] = set()
        self._kept: list[object] = []

    def _due(self, name: str) -> bool:
        """:returns: whether the process ends within this call."""
        self.seen.add(name)
        self._left -= 1
        if self._left == 0 and self._how == "before":
            os._exit(KILLED)
        return self._left == 0

    def install(self) -> None:
        for name in ("fsync", "replace", "unlink", "mkdir", "ftruncate", "open"):
            setattr(os, name, self._whole(name, getattr(os, name)))
        write = os.write

        def half(file: int, data: Any) -> int:
            if self._due("write"):
                write(file, bytes(data)[: len(data) // 2])
                os._exit(KILLED)
            return write(file, data)

        os.write = half
        self._into_sqlite()

    def _whole(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            due = self._due(name)
            try:
                return call(*args, **named)
            finally:  # also where there is nothing to remove
                if due:
                    os._exit(KILLED)

        return counted

    def _into_sqlite(self) -> None:
        vfs = _default_vfs()
        size, offset = ctypes.c_size_t, ctypes.c_int64
        writes = {
            b"write": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, size),
            b"pwrite": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, size, offset),
            b"pwrite64": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, size, offset),
            b"ftruncate": (ctypes.c_int, ctypes.c_int, offset),
            b"unlink": (ctypes.c_int, ctypes.c_char_p),
        }
        for name, kinds in writes.items():
            kind = ctypes.CFUNCTYPE(*kinds)
            pointer = vfs.get(vfs.at, name)
            if not pointer:
                continue  # another build of SQLite has the other one of pwrite and pwrite64
            hook = kind(self._counted(name.decode(), kind(pointer)))
            self._kept.append(hook)
            vfs.set(vfs.at, name, ctypes.cast(hook, ctypes.c_void_p))

    def _counted(self, name: str, call: Callable[..., int]) -> Callable[..., int]:
        def counted(*args: Any) -> int:
            if not self._due(f"{name}*"):
                return call(*args)
            if "write" in name:
                file, data, length, *rest = args
                call(file, data, length // 2, *rest)
            else:
                call(*args)
            os._exit(KILLED)

        return counted


class _VFS(ctypes.Structure):
    """``sqlite3_vfs``, of version 3."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("methods", ctypes.c_void_p * 13),
        ("set_system_call", ctypes.c_void_p),
        ("get_system_call", ctypes.c_void_p),
        ("next_system_call", ctypes.c_void_p),
    ]


class _default_vfs:
    """The one that the ``sqlite3`` module writes through: the library is loaded already."""

    def __init__(self) -> None:
        library = ctypes.CDLL("libsqlite3.so.0")
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_VFS)
        self.at = library.sqlite3_vfs_find(None)
        vfs = self.at.contents
        assert vfs.version >= 3
        pointer = ctypes.POINTER(_VFS)
        self.get = ctypes.CFUNCTYPE(ctypes.c_void_p, pointer, ctypes.c_char_p)(vfs.get_system_call)
        self.set = ctypes.CFUNCTYPE(ctypes.c_int, pointer, ctypes.c_char_p, ctypes.c_void_p)(
            vfs.set_system_call
        )


def _child(path: Path, lived: Callable[[Path, Say], None], told: mmap.mmap, deaths: Deaths) -> None:
    def say(what: str) -> None:
        told.write(f"{what}\n".encode())  # memory that the parent shares: no write of ours

    deaths.install()
    lived(path, say)
    told.write(f"end {' '.join(sorted(deaths.seen))}\n".encode())


def main(root: Path, life: str) -> None:
    prepare, lived = LIVES[life]
    for how in HOWS:
        for at in itertools.count(1):
            path = root / f"{how}-{at:03}"
            if prepare is not None:
                prepare(path)
            with mmap.mmap(-1, 4096) as told:
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        _child(path, lived, told, Deaths(at, how))
                        status = 0
                    finally:
                        os._exit(status)
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                path.with_name(f"{path.name}.told").write_bytes(told[:].rstrip(b"\0"))
            if code == 0:
                break
            if code != KILLED:
                raise SystemExit(f"{path.name} ended by {code}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
