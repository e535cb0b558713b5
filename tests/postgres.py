"""
A PostgreSQL of our own, for as long as the tests run: made, restarted, and gone with them.

It listens on a UNIX socket in a temporary directory, as a user that is not root.
"""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from itertools import count
from pathlib import Path

from twisted.trial.unittest import SkipTest

#: Where distributions put the programs that are not on PATH.
_ELSEWHERE = Path("/usr/lib/postgresql")
_USERS = ("postgres", "nobody")
_ROLE = "rescriptum"
_DIE_WITH_PARENT = 1  # prctl(2): PR_SET_PDEATHSIG
_SETTINGS = (
    "listen_addresses=",
    "max_connections=100",
    "deadlock_timeout=100ms",
    "log_min_messages=fatal",
)
# Tests lose nothing by a power cut; whoever measures waits for the disk.
_CARELESS = ("fsync=off",)


class Server:
    """
    One server; each test gets a database of its own.

    :ivar sockets: the directory of its socket: the ``host`` of a URL.
    """

    def __init__(self, programs: Path, user: str, durable: bool = False) -> None:
        """
        :param durable: whether a commit waits for the disk.
        :raises SkipTest: where it does not start.
        """
        self._programs = programs
        self._settings = _SETTINGS if durable else (*_SETTINGS, *_CARELESS)
        self._user = user
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self.sockets = Path(tempfile.mkdtemp(prefix="rescriptum-pg-"))
        self._data, self._log = self.sockets / "data", self.sockets / "log"
        account = pwd.getpwnam(user)
        os.chown(self.sockets, account.pw_uid, account.pw_gid)
        atexit.register(self._remove)
        argv = f"{programs}/initdb -D {self._data} -U {_ROLE} -A trust -N -E UTF8 --locale=C.UTF-8"
        made = subprocess.run(
            argv.split(),
            capture_output=True,
            text=True,
            user=self._as(),
            cwd="/",
        )
        if made.returncode:
            raise SkipTest(f"initdb: {made.stderr.strip()[-300:]}")
        self.start()

    @property
    def pid(self) -> int:
        """Of the process that all others of it are children of."""
        assert self._process is not None, "not running"
        return self._process.pid

    def url(self, database: str, host: str = "", password: str = "") -> str:
        """:param host: ``NAME:PORT`` of a relay; none: the socket itself."""
        who = f"{_ROLE}:{password}" if password else _ROLE
        place = f"{host}/{database}" if host else f"/{database}?host={self.sockets}"
        return f"postgresql://{who}@{place}"

    def database(self) -> str:
        """:returns: the name of a new, empty database."""
        name = f"t{os.getpid()}_{next(self._numbers)}"
        # It sorts as people do, unless a table says otherwise.
        people = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
        self.sql(f"CREATE DATABASE {name} {people}")
        return name

    def sql(self, statement: str, database: str = "postgres") -> str:
        """:returns: what ``psql`` prints of it."""
        argv = f"{self._programs}/psql -h {self.sockets} -U {_ROLE} -d {database} -qAtX"
        done = subprocess.run(
            [*argv.split(), "-v", "ON_ERROR_STOP=1", "-c", statement],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return str(done.stdout).strip()

    def start(self) -> None:
        """:raises SkipTest: where it does not come up."""
        argv = f"{self._programs}/postgres -D {self._data} -k {self.sockets}".split()
        settings = [part for each in self._settings for part in ("-c", each)]
        library = ctypes.CDLL(None)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*argv, *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._as(),
                cwd="/",
                # However these tests end, it ends with them.
                preexec_fn=lambda: library.prctl(_DIE_WITH_PARENT, signal.SIGQUIT),
            )
        ready = f"{self._programs}/pg_isready -q -h {self.sockets} -U {_ROLE} -d postgres".split()
        end = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > end:
                raise SkipTest(f"postgres: {self._log.read_text()[-300:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Every connection is cut."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # "fast": it waits for nobody
            self._process.wait(60)
            self._process = None

    def restart(self) -> None:
        """As ``pg_ctl restart`` does it."""
        self.stop()
        self.start()

    def _as(self) -> str | None:
        return self._user if os.geteuid() == 0 else None

    def _remove(self) -> None:
        self.stop()
        shutil.rmtree(self.sockets, ignore_errors=True)


@cache
def _programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(_ELSEWHERE.glob("*/bin"), reverse=True)
    wanted = ("initdb", "postgres", "psql", "pg_isready")
    whole = (each for each in places if all((each / name).exists() for name in wanted))
    return next(whole, None)


def _user() -> str | None:
    """:returns: whom to run it as: it refuses to be root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    known = {each.pw_name for each in pwd.getpwall()}
    return next((each for each in _USERS if each in known), None)


@cache
def _server(durable: bool) -> Server:
    programs, user = _programs(), _user()
    assert programs is not None
    assert user is not None
    return Server(programs, user, durable)


def missing() -> str | None:
    """:returns: why there can be no server; None: there can."""
    if _programs() is None:
        return "PostgreSQL is not installed"
    return None if _user() else "no user to run PostgreSQL as"


def server(durable: bool = False) -> Server:
    """
    :param durable: whether a commit waits for the disk.
    :returns: the server of this whole run, started for the first test that asks.
    :raises SkipTest: with the reason, where there can be none.
    """
    why = missing()
    if why is not None:
        raise SkipTest(why)
    return _server(durable)
