"""
``gateway.toml``: THE table of its keys, and the frozen value that it becomes.

Nothing needs to be in it, and there need not be one.
"""

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from attrs import field, frozen

from ..errors import ConfigError
from ..values import Listen, Problem

#: Bytes of a file.
LONGEST: Final = 1 << 20
DATA_DIR: Final = "/var/lib/rescriptum-gateway"
_NAME = re.compile(r"[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63})*|[0-9A-Fa-f:.]{2,45}")


@frozen
class Row:
    """
    One key.

    :ivar parse: from what TOML has to a value; raises ValueError, saying what would be right.
    :ivar default: as in TOML; None: unset is a value of its own.
    :ivar help: one sentence for people.
    """

    key: str
    parse: Callable[[object], object]
    default: object
    help: str


def _text(value: object) -> str:
    if type(value) is not str or not value or not value.isprintable():
        raise ValueError("want one line of text")
    return value


def _path(value: object) -> Path:
    path = Path(_text(value))
    if not path.is_absolute():
        raise ValueError(f"want an absolute path, not {str(path)!r}")
    return path


def _listen(value: object) -> Listen:
    return Listen.parse(_text(value))


def _number(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"want a whole number from {low} to {high}")
        return value

    return parse


def _one_of(*words: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in words:
            raise ValueError(f"want one of {', '.join(words)}")
        return str(value)

    return parse


def _names(value: object) -> tuple[str, ...]:
    if type(value) is not list or len(value) > 64:
        raise ValueError("want a list of up to 64 names")
    for each in value:
        if type(each) is not str or len(each) > 253 or not _NAME.fullmatch(each):
            raise ValueError(f"want names and addresses without port, not {str(each)[:80]!r}")
    return tuple(dict.fromkeys(str(each).lower() for each in value))


ROWS: Final = (
    Row(
        "data_dir",
        _path,
        DATA_DIR,
        "Keys, the database where none is named, and the serving certificate; made with mode 0700.",
    ),
    Row("listen", _listen, "0.0.0.0:8443", "Where agents and operators connect: HTTPS."),
    Row(
        "server_names",
        _names,
        None,
        "What agents call the gateway: names and addresses, the first one is shown; unset: this"
        " host's own.",
    ),
    Row(
        "database_url",
        _text,
        None,
        "postgresql://USER:PASSWORD@HOST/DATABASE, for many gateway processes; unset: SQLite in"
        " data_dir.",
    ),
    Row(
        "heartbeat_ms",
        _number(100, 20_000),
        5000,
        "How often agents say that they are there; where a third of the site's ttl is less, that.",
    ),
    Row("certificate", _path, None, "PEM: leaf, chain and CA, instead of the gateway's own."),
    Row("key", _path, None, "PEM: the certificate's private key, without a passphrase."),
    Row("sessions", _number(1, 100_000), 2000, "Agents that may be connected at once."),
    Row(
        "events_days",
        _number(1, 3650),
        7,
        "For how long events are remembered; of more than 200,000 the oldest go before.",
    ),
    Row("log", _one_of("all", "problems", "off"), "all", "How much is logged."),
    Row("log_file", _text, "stderr", "stderr, stdout or a path."),
)

BY_KEY: Final = {row.key: row for row in ROWS}


@frozen
class Config:
    """
    What a gateway process runs on.

    :ivar server_names: in lower case; empty: this host's own.
    :ivar database_url: a secret: it may hold a password.
    :ivar own: certificate and key that the operator brings; None: the gateway's own CA.
    """

    data_dir: Path
    listen: Listen
    server_names: tuple[str, ...]
    database_url: str = field(repr=False)
    heartbeat_ms: int
    own: tuple[Path, Path] | None
    sessions: int
    events_days: int
    log: str
    log_file: str

    @property
    def keys_dir(self) -> Path:
        """Where the gateway's own keys are, and nothing else: what to copy to another host."""
        return self.data_dir / "keys"


@frozen
class Reading:
    """A file, read. :ivar warnings: what works and is probably not meant."""

    config: Config
    warnings: tuple[Problem, ...]


def read(file: Path | None, data_dir: Path | None = None) -> Reading:
    """
    :param file: None: there is none.
    :param data_dir: from the command line, over the file.
    :raises ConfigError: with every problem there is.
    """
    source = "gateway" if file is None else str(file)
    problems: list[Problem] = []
    text = "" if file is None else _contents(file, problems)
    given = _parsed(text, source, problems)

    def at(key: str, what: str) -> Problem:
        line = re.search(rf"(?m)^[ \t]*\[*[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]", text)
        where = f"{source}:{text.count(chr(10), 0, line.start()) + 1}" if line else source
        return Problem(where, f"{key}: {what}")

    for key in given:
        if key not in BY_KEY:
            near = difflib.get_close_matches(key, BY_KEY, 1, 0.7)
            problems.append(at(key, "no such key" + (f"; {near[0]}?" if near else "")))
    values: dict[str, object] = {}
    for row in ROWS:
        value = given.get(row.key, row.default)
        values[row.key] = None
        if value is not None:
            try:
                values[row.key] = row.parse(value)
            except ValueError as e:
                problems.append(at(row.key, str(e)))
    if data_dir is not None:
        values["data_dir"] = data_dir.absolute()
    for one, other in (("certificate", "key"), ("key", "certificate")):
        if values[one] is not None and other not in given:
            problems.append(at(one, f"needs {other} too"))
        path = values[one]
        if isinstance(path, Path) and not path.is_file():
            problems.append(at(one, f"no such file: {path}"))
    if problems:
        raise ConfigError(problems)
    return Reading(_assembled(values), tuple(_wide(file, values)))


def _assembled(values: dict[str, object]) -> Config:
    data_dir = cast(Path, values["data_dir"])
    certificate, key = values["certificate"], values["key"]
    own = (certificate, key) if isinstance(certificate, Path) and isinstance(key, Path) else None
    return Config(
        data_dir,
        cast(Listen, values["listen"]),
        cast(tuple[str, ...], values["server_names"] or ()),
        cast(str, values["database_url"] or f"sqlite:///{data_dir / 'gateway.db'}"),
        cast(int, values["heartbeat_ms"]),
        own,
        cast(int, values["sessions"]),
        cast(int, values["events_days"]),
        cast(str, values["log"]),
        cast(str, values["log_file"]),
    )


def _contents(file: Path, problems: list[Problem]) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise ValueError(f"larger than {LONGEST} bytes")
        return data.decode("utf-8")
    except OSError as e:
        problems.append(Problem(str(file), f"cannot be read: {e.strerror}"))
    except ValueError as e:
        problems.append(Problem(str(file), f"cannot be read: {e}"))
    return ""


def _parsed(text: str, source: str, problems: list[Problem]) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        problems.append(Problem(source, f"not TOML: {e}"))
        return {}


def _wide(file: Path | None, values: dict[str, object]) -> list[Problem]:
    """:returns: files with something secret that more people can read than need to."""
    found = []
    looked_at: list[tuple[object, int]] = [(values["data_dir"], 0o700), (values["key"], 0o640)]
    if file is not None and values["database_url"] is not None:
        looked_at.append((file, 0o640))
    for path, most in looked_at:
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode) if isinstance(path, Path) else most
        except OSError:
            continue
        if mode & ~most & 0o077:
            text = f"others can read it (mode {mode:04o}); want {most:04o}"
            found.append(Problem(str(path), text))
    return found
