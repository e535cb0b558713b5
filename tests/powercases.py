"""Commands about the power of machines, run in the tests' own reactor."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from attrs import frozen
from twisted.internet import reactor as global_reactor
from twisted.trial.unittest import TestCase

from rescriptum.cli.options import Command, PerformedLater
from rescriptum.config import read
from rescriptum.values import printable

from .test_answers_stores_copying import plant

MAC, ID = "52:54:00:12:34:56", "52-54-00-12-34-56"
_C = TypeVar("_C", bound=Command)


@frozen
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> Any:
        return json.loads(self.out)


def script(path: Path, text: str) -> Path:
    """:returns: a program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


class PowerCase(TestCase):
    """A directory with a controllers file and an answer set."""

    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir(parents=True)
        self.file = self.here / "controllers.toml"
        self.answers = plant(self.here / "answers", {})
        self.settings: dict[str, str] = {"RESCRIPTUM_INSTALLED_TOKEN": "0123456789abcdef"}
        self.said: list[Said] = []

    def control(self, text: str) -> None:
        self.file.touch(0o600)
        self.file.write_text(text)

    def plant(self, files: Mapping[str, bytes]) -> None:
        plant(self.answers, dict(files))

    async def run_command(
        self, options: Command, *argv: str, reactor: object = global_reactor
    ) -> Said:
        """:raises RescriptumError: which the console script would tell in one line."""
        options.parseOptions(list(argv))
        assert isinstance(options, PerformedLater)
        self.answers.mkdir(exist_ok=True)
        environ = {
            "RESCRIPTUM_CONTROLLERS_FILE": str(self.file),
            "RESCRIPTUM_ANSWERS_DIR": str(self.answers),
            **self.settings,
        }
        out, err = io.StringIO(), io.StringIO()
        code = await options.perform_async(reactor, read(environ).config(), out, err)
        said = Said(code, out.getvalue(), err.getvalue())
        self.said.append(said)
        for line in (said.out + said.err).splitlines():
            self.assertEqual(line, printable(line))
        return said
