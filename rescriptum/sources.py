"""Where settings are written: the environment over a TOML file over an environment file."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from attrs import field, frozen

from . import envfile
from .settings import BY_PATH, BY_VARIABLE, PREFIX, SETTINGS, Setting
from .values import Problem

MAX_FILE = 1 << 20


@frozen
class Value:
    """
    What one setting is, and who said so.

    :ivar text: None: unset.
    :ivar source: ``default``, ``environment``, or ``FILE`` or ``FILE:LINE``.
    """

    setting: Setting
    text: str | None = field(repr=False)
    source: str

    @property
    def given(self) -> bool:
        return self.source != "default"


@frozen
class Sources:
    """
    What they say.

    :ivar values: of every setting, by its variable.
    """

    values: Mapping[str, Value]
    toml_file: Path | None
    env_file: Path | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    @classmethod
    def gather(cls, environ: Mapping[str, str], toml_file: Path | None = None) -> Self:
        """
        :param toml_file: from the command line, over ``RESCRIPTUM_CONFIG``.
        :returns: what all sources say; nothing is raised, problems are values.
        """
        problems: list[Problem] = []
        warnings: list[Problem] = []
        env = {name: text.strip() for name, text in environ.items() if text.strip()}
        if toml_file is None and "RESCRIPTUM_CONFIG" in env:
            toml_file = Path(env["RESCRIPTUM_CONFIG"])
        env_file = Path(env["RESCRIPTUM_ENV_FILE"]) if "RESCRIPTUM_ENV_FILE" in env else None
        values = {each.variable: Value(each, each.default, "default") for each in SETTINGS}

        def put(variable: str, text: str, source: str) -> None:
            setting = BY_VARIABLE.get(variable)
            if setting is None:
                warnings.append(Problem(source, f"no such setting: {variable}"))
            elif text.strip():
                values[variable] = Value(setting, text.strip(), source)

        if env_file is not None:
            lines, found = envfile.parse(_text_of(env_file, problems), str(env_file))
            problems += found
            warnings += _readable_by_others(env_file)
            for variable, line in lines.items():
                put(variable, line.value, f"{env_file}:{line.number}")
        if toml_file is not None:
            for path, text in _toml_values(toml_file, problems):
                if path in BY_PATH:
                    put(BY_PATH[path].variable, text, str(toml_file))
                else:
                    warnings.append(Problem(str(toml_file), f"no such setting: {path}"))
            source = str(toml_file)
            if any(each.setting.secret and each.source == source for each in values.values()):
                warnings += _readable_by_others(toml_file)
        for variable, text in env.items():
            if variable.startswith(PREFIX):
                put(variable, text, "environment")
        if toml_file is not None and "RESCRIPTUM_CONFIG" not in env:
            named = values["RESCRIPTUM_CONFIG"].setting
            values[named.variable] = Value(named, str(toml_file), "--config")
        return cls(values, toml_file, env_file, tuple(problems), tuple(warnings))


def _text_of(path: Path, problems: list[Problem]) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ValueError(f"larger than {MAX_FILE} bytes")
        return data.decode("utf-8")
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else str(e)
        problems.append(Problem(str(path), f"cannot be read: {reason}"))
        return ""


def _readable_by_others(path: Path) -> list[Problem]:
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except (OSError, ValueError):
        return []
    if not mode & 0o044:
        return []
    return [Problem(str(path), f"others can read it (mode {mode:04o}); want 0600")]


def _toml_values(path: Path, problems: list[Problem]) -> list[tuple[str, str]]:
    """:returns: dotted paths and text, tables walked."""
    try:
        tree = tomllib.loads(_text_of(path, problems))
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        problems.append(Problem(str(path), f"not TOML: {e}"))
        return []
    found: list[tuple[str, str]] = []
    todo: list[tuple[str, object]] = [(name, value) for name, value in tree.items()]
    while todo:
        name, value = todo.pop(0)
        if isinstance(value, dict):
            todo += [(f"{name}.{key}", each) for key, each in value.items()]
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            found.append((name, ",".join(value)))
        elif isinstance(value, bool | int | str):
            found.append((name, str(value)))
        else:
            problems.append(Problem(str(path), f"{name}: want text or a number"))
    return found
