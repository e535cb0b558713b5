"""The controllers file: TOML to values, every problem with its line, and no secret in any."""

import re
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, cast

from attrs import define, field
from hyperlink import DecodedURL

from ..contract.pins import Pin
from ..errors import ConfigError
from ..values import MAC, Problem, Secret
from .controllers import ASKED, Commands, Controlled, Controller, Controllers, Ipmi, Redfish, Wake
from .fields import KINDS

#: Machines of one file.
MOST: Final = 20_000
_KEY: Final = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*=""")
_TRUST: Final = ("pinnedpubkey", "cacert", "verify")
_BASE: Final = ("redfish", "v1")


def lines_of(text: str) -> dict[tuple[str, str], int]:
    """
    :returns: where each machine's table begins, by its name and an empty text, and each of its
        keys is, by both names: as far as single lines tell.
    """
    found: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            table = _header(line)
            found.setdefault((table, ""), number)
        elif match := _KEY.match(line):
            name = next(each for each in match.groups() if each is not None)
            # Before the first header a key is a machine: an inline table.
            found.setdefault((table, name) if table else (name, ""), number)
    return found


def _header(line: str) -> str:
    try:
        tree = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ""
    return next(iter(tree), "")


@define
class _Machine:
    """
    One table.

    :ivar values: those that are right, by key.
    """

    name: str
    _told: Callable[[str, str, str], None]
    values: dict[str, object] = field(factory=dict)
    good: bool = True

    def wrong(self, key: str, text: str) -> None:
        self.good = False
        self._told(self.name, key, text)


class _File:
    def __init__(self, text: str, source: str, normalise: Callable[[str], str]) -> None:
        self._text = text
        self._lines = lines_of(text)
        self._source = source
        self._normalise = normalise
        self.problems: list[Problem] = []
        self.machines: dict[str, Controlled] = {}

    def tell(self, table: str, key: str, text: str) -> None:
        line = self._lines.get((table, key), self._lines.get((table, "")))
        source = f"{self._source}:{line}" if line is not None else self._source
        named = f"{table}: {key}" if key else table
        self.problems.append(Problem(source, f"{named}: {text}"))

    def read(self) -> None:
        try:
            tree = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as e:
            line = re.search(r"\(at line (\d+)", str(e))
            where = f"{self._source}:{line[1]}" if line else self._source
            hint = 'not TOML; an id with colons stands in quotes: ["52:54:00:12:34:56"]'
            self.problems.append(Problem(where, f"{hint}: {e}"))
            return
        except RecursionError:
            self.problems.append(Problem(self._source, "not TOML that anybody would nest so deep"))
            return
        if len(tree) > MOST:
            text = f"{len(tree)} machines; want {MOST} at the most"
            self.problems.append(Problem(self._source, text))
            return
        for name, table in tree.items():
            self._machine(name, table)

    def _machine(self, name: str, table: object) -> None:
        if not isinstance(table, dict):
            self.tell(name, "", 'want a table for each machine: ["ID"], and kind below it')
            return
        needle = self._normalise(name)
        if not needle:
            self.tell(name, "", "want an id with letters or digits")
            return
        if needle in self.machines:
            self.tell(name, "", f"is the same machine as {self.machines[needle].name}")
            return
        machine = _Machine(name, self.tell)
        made = self._made(machine, table)
        if made is not None:
            self.machines[needle] = Controlled(name, made)

    def _made(self, machine: _Machine, table: dict[str, object]) -> Controller | None:
        kinds = ", ".join(KINDS)
        kind = table.get("kind")
        if kind is None:
            inner = bool(table) and all(isinstance(each, dict) for each in table.values())
            hint = "; an id with dots stands in quotes" if inner else ""
            machine.wrong("", f"want kind = one of {kinds}{hint}")
            return None
        if not isinstance(kind, str) or kind not in KINDS:
            near = get_close_matches(kind, KINDS, 1) if isinstance(kind, str) else []
            hint = f"; did you mean {near[0]}?" if near else ""
            machine.wrong("kind", f"want one of {kinds}{hint}")
            return None
        self._fill(machine, kind, table)
        _MAKING[kind](machine)
        return _made_of(kind, machine) if machine.good else None

    def _fill(self, machine: _Machine, kind: str, table: dict[str, object]) -> None:
        fields = {each.name: each for each in KINDS[kind]}
        for key, value in table.items():
            if key == "kind":
                continue
            row = fields.get(key)
            if row is None:
                near = get_close_matches(key, fields, 1, 0.5)
                hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(fields)}"
                machine.wrong(key, f"{kind} has no such key; {hint}")
                continue
            try:
                machine.values[key] = row.parse(value)
            except ValueError as e:
                machine.wrong(key, str(e))
        for row in fields.values():
            if row.required and row.name not in table:
                machine.wrong("", f"{kind} needs {row.name}: {row.help}")


def _check_redfish(machine: _Machine) -> None:
    said = [each for each in _TRUST if each in machine.values]
    if machine.good and len(said) != 1:
        machine.wrong(
            said[1] if said else "",
            f"want exactly one of {', '.join(_TRUST)}: who vouches for the BMC",
        )
    url = machine.values.get("url")
    cleartext = isinstance(url, DecodedURL) and url.scheme != "https"
    if machine.good and cleartext and "verify" not in machine.values:
        machine.wrong("url", "want https://; http:// goes with verify = false alone")


def _check_commands(machine: _Machine) -> None:
    if machine.good and not any(each in machine.values for each in ASKED):
        machine.wrong("", f"want at least one of {', '.join(ASKED)}")


def _check_wake(machine: _Machine) -> None:
    if machine.good and "mac" not in machine.values:
        try:
            machine.values["mac"] = MAC.parse(machine.name)
        except ValueError:
            machine.wrong("", "wol needs mac: its id is not one")


_MAKING: Final[Mapping[str, Callable[[_Machine], None]]] = {
    "redfish": _check_redfish,
    "ipmi": lambda machine: None,
    "command": _check_commands,
    "wol": _check_wake,
}


def _made_of(kind: str, machine: _Machine) -> Controller:
    values = machine.values
    timeout = cast(int, values.get("timeout", 60 if kind == "command" else 120))
    if kind == "command":
        argv: dict[str, tuple[str, ...]] = {
            each: cast(tuple[str, ...], values[each]) for each in ASKED if each in values
        }
        return Commands(argv, timeout)
    if kind == "wol":
        return Wake(
            cast(MAC, values["mac"]),
            cast(str, values.get("broadcast", "255.255.255.255")),
            cast(int, values.get("port", 9)),
            cast(str, values.get("interface", "")),
        )
    user, password = cast(str, values["user"]), cast(Secret, values["pass"])
    if kind == "ipmi":
        options: dict[str, object] = {}
        if "cipher" in values:
            options["cipher_suites"] = [values["cipher"]]
        if "privilege" in values:
            options["privilege"] = values["privilege"]
        return Ipmi(cast(str, values["address"]), user, password, options, timeout)
    path = cast(tuple[str, ...], values.get("base", _BASE))
    return Redfish(
        cast(DecodedURL, values["url"]).replace(path=path),
        user,
        password,
        cast(Pin | None, values.get("pinnedpubkey")),
        cast(Path | None, values.get("cacert")),
        cast(str, values.get("system", "")),
        cast(bool, values.get("legacy_tls", False)),
        timeout,
    )


def read(text: str, source: str, normalise: Callable[[str], str]) -> Controllers:
    """
    :param source: the file's name, for problems.
    :param normalise: what makes one identity of its spellings.
    :raises ConfigError: with every problem there is.
    """
    file = _File(text, source, normalise)
    file.read()
    if file.problems:
        raise ConfigError(file.problems)
    return Controllers(file.machines)
