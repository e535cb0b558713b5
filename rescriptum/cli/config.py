"""``rescriptum config``: every setting, who said so, and changes to the file that holds them."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, TextIO

import tomlkit
from tomlkit.exceptions import TOMLKitError
from twisted.python.usage import UsageError

from .. import envfile
from ..config import Reading, read
from ..errors import Refused
from ..net.addresses import derived_host
from ..settings import BY_VARIABLE
from ..sources import Value
from .options import Command


def _shown(value: Value) -> str:
    """:returns: the effective value, a derived one included, as people read it."""
    if value.setting.secret:
        return "(set)" if value.given else "(not set)"
    if value.text is not None:
        return value.text
    if value.setting.variable == "RESCRIPTUM_PUBLIC_HOST":
        return derived_host()
    return ""


def as_json(reading: Reading) -> dict[str, object]:
    """:returns: what ``rescriptum config --json`` prints."""
    target = _target(reading)
    problems = reading.all_problems()
    return {
        "env_file": str(reading.env_file) if reading.env_file else None,
        "toml_file": str(reading.toml_file) if reading.toml_file else None,
        "target": str(target) if target else None,
        "writable": target is not None and writable(target),
        "settings": [
            {
                "key": each.setting.variable,
                "path": each.setting.path or None,
                "value": None if each.setting.secret else _shown(each) or None,
                "set": each.given,
                "source": each.source,
                "default": each.setting.default,
                "secret": each.setting.secret,
                "help": each.setting.help,
            }
            for each in reading.values.values()
        ],
        "warnings": [str(each) for each in reading.warnings],
        "starts": not problems,
        "error": [str(each) for each in problems] or None,
    }


def _target(reading: Reading) -> Path | None:
    """:returns: the file that ``set`` writes: TOML where one is named, else the environment's."""
    return reading.toml_file or reading.env_file


def writable(path: Path) -> bool:
    """:returns: whether ``set`` can put a file in the place of ``path``; nothing is made for it."""
    real = Path(os.path.realpath(path))
    replaceable = real.is_file() or not real.exists()
    return replaceable and real.parent.is_dir() and os.access(real.parent, os.W_OK | os.X_OK)


class SetOptions(Command):
    """``config set``."""

    synopsis = "Usage: rescriptum config set KEY=VALUE..."
    longdesc = (
        "Changes the named TOML file, or else the environment file; comments stay. "
        "A token is a line of standard input: KEY=- takes it from there."
    )

    def parseArgs(self, *pairs: str) -> None:
        self.changes: dict[str, str | None] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals:
                raise UsageError(f"want KEY=VALUE, not {pair!r}")
            if key in self.changes:
                raise UsageError(f"{key} is given twice")
            self.changes[key] = value
        if not pairs:
            raise UsageError("which setting?")

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        for key, value in self.changes.items():
            if key in BY_VARIABLE and BY_VARIABLE[key].secret:
                # Everybody on the machine can read command lines, and shells remember them.
                if value != "-":
                    raise Refused(f"{key}: want {key}=- and the token on standard input")
                self.changes[key] = token = sys.stdin.readline().strip()
                try:
                    BY_VARIABLE[key].parse(token)
                except ValueError as e:
                    raise Refused(f"{key}: {e}") from None
        return _change(reading, self.changes, out, err)


class UnsetOptions(Command):
    """``config unset``."""

    synopsis = "Usage: rescriptum config unset KEY..."
    longdesc = "Comments the setting out in an environment file, removes it from a TOML file."

    def parseArgs(self, *keys: str) -> None:
        if not keys:
            raise UsageError("which setting?")
        self.changes: dict[str, str | None] = dict.fromkeys(keys)

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        return _change(reading, self.changes, out, err)


class ConfigOptions(Command):
    """``config``."""

    synopsis = "Usage: rescriptum config [--json | --value KEY | set KEY=VALUE... | unset KEY...]"
    longdesc = "Works on a broken configuration too. Exit code 0: a server would start on this."
    optFlags: ClassVar[list[list[str | None]]] = [["json", None, "For scripts."]]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["value", None, None, "Print this setting's effective value alone; exit code 1: unset."]
    ]
    subCommands: ClassVar[list[list[object]]] = [
        ["set", None, SetOptions, "Write settings to the file that is named."],
        ["unset", None, UnsetOptions, "Take settings out of it."],
    ]

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        if self["value"] is not None:
            value = reading.values.get(self["value"])
            if value is None:
                raise Refused(f"no such setting: {self['value']}")
            if value.setting.secret:
                raise Refused(f"{self['value']} is a secret: nobody is shown it")
            out.write(f"{_shown(value)}\n" if _shown(value) else "")
            return 0 if _shown(value) else 1
        if self["json"]:
            json.dump(as_json(reading), out, indent=2)
            out.write("\n")
        else:
            _table(reading, out)
        problems = reading.all_problems()
        for warning in reading.warnings:
            err.write(f"warning: {warning}\n")
        for problem in problems:
            err.write(f"error: {problem}\n")
        return 1 if problems else 0


def _table(reading: Reading, out: TextIO) -> None:
    rows = [(each.setting.variable, _shown(each), each.source) for each in reading.values.values()]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    for name, text, source in rows:
        out.write(f"{name:{widths[0]}}  {text:{widths[1]}}  {source}\n")


def _change(reading: Reading, changes: Mapping[str, str | None], out: TextIO, err: TextIO) -> int:
    unknown = [key for key in changes if key not in BY_VARIABLE or not BY_VARIABLE[key].path]
    if unknown:
        raise Refused(f"no such setting in a file: {', '.join(unknown)}")
    for key, value in changes.items():
        if value is not None and not value.isprintable():
            raise Refused(f"{key}: want one line of text, not {value!r}")
    target = _target(reading)
    if target is None:
        raise Refused("name a file to write to: RESCRIPTUM_CONFIG, RESCRIPTUM_ENV_FILE or --config")
    try:
        before = target.read_bytes().decode("utf-8") if target.exists() else ""
        after = _edited(before, changes, toml=reading.toml_file is not None)
        real = Path(os.path.realpath(target))
        _replace(real, after, lambda draft: _would_start(reading, draft, target))
    except OSError as e:
        raise Refused(f"{target}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise Refused(f"{target}: not UTF-8: {e}") from e
    for key in changes:
        if reading.values[key].source == "environment":
            err.write(f"warning: {key}: the environment overrides what the file says\n")
    out.write(f"{target}: {', '.join(changes)}\n")
    return 0


def _edited(text: str, changes: Mapping[str, str | None], toml: bool) -> str:
    if not toml:
        return envfile.edited(text, changes)
    try:
        document = tomlkit.parse(text)
        for key, value in changes.items():
            *tables, name = BY_VARIABLE[key].path.split(".")
            table: tomlkit.TOMLDocument | tomlkit.items.Table = document
            for each in tables:
                if each not in table:
                    table[each] = tomlkit.table()
                table = table[each]
            if value is None:
                table.pop(name, None)
            else:
                table[name] = _toml_value(key, value)
    except (TOMLKitError, TypeError, AttributeError) as e:
        raise Refused(f"the file does not hold settings as TOML tables: {e}") from e
    return tomlkit.dumps(document)


def _toml_value(key: str, value: str) -> str | int:
    """A number where the setting is one; whether it is right is found out with the whole file."""
    try:
        parsed = BY_VARIABLE[key].parse(value)
    except ValueError:
        return value
    return parsed if isinstance(parsed, int) else value


def _would_start(reading: Reading, draft: Path, target: Path) -> None:
    """:raises Refused: where no server would start on ``draft`` in the place of ``target``."""
    environ = {
        each.setting.variable: each.text
        for each in reading.values.values()
        if each.source == "environment" and each.text is not None
    }
    if reading.env_file is not None:
        environ["RESCRIPTUM_ENV_FILE"] = str(reading.env_file)
    if target == reading.toml_file:
        problems = read(environ, draft).all_problems()
    else:
        problems = read({**environ, "RESCRIPTUM_ENV_FILE": str(draft)}).all_problems()
    if problems:
        text = "; ".join(str(each) for each in problems).replace(str(draft), str(target))
        raise Refused(f"no server would start on that: {text}")


def _replace(path: Path, text: str, approve: Callable[[Path], None]) -> None:
    """Put ``text`` in the place of ``path`` in one step, its owner and mode kept."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        approve(draft)
        if path.exists():
            was = path.stat()
            os.chmod(draft, was.st_mode & 0o7777)
            if os.geteuid() == 0:
                os.chown(draft, was.st_uid, was.st_gid)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
