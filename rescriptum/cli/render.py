"""``rescriptum render``: what an installer would receive, before any machine is powered on."""

import time
from pathlib import Path
from typing import ClassVar, TextIO

from twisted.python.usage import UsageError

from ..answers.facts import Facts
from ..answers.resolution import resolve
from ..answers.store import AnswerDirectory
from ..config import Config
from ..errors import Refused
from ..web.request import Request
from .options import Command


class RenderOptions(Command):
    """``render``."""

    synopsis = "Usage: rescriptum render (ID | [--query QUERY] [--body FILE]) [--path PATH]"
    longdesc = (
        "Prints the document that a request would get, and nothing else, on standard output. "
        "ID alone carries no fact, or mac where it is one: --query and --body carry more. "
        "Exit code 0: there is an answer; 1: there is none, or it cannot be filled."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["query", "q", None, "What stands behind the ? of a URL: 'mac=52:54:00:00:00:01'."],
        ["body", "b", None, "A file with what is posted; read as JSON where it is JSON."],
        ["path", "p", None, "The path of the URL, which says the format: /debian/preseed."],
    ]

    identity: str | None = None

    def parseArgs(self, *words: str) -> None:
        if len(words) > 1:
            raise UsageError("one ID at a time")
        self.identity = words[0] if words else None

    def postOptions(self) -> None:
        asked = self["query"] is not None or self["body"] is not None
        if self.identity is not None and asked:
            raise UsageError("an ID, or --query and --body; not both")
        if self.identity is None and not asked and self["path"] is None:
            raise UsageError("for which machine? an ID, --query or --body")

    def _facts(self) -> Facts:
        """:raises Refused: for a file that cannot be read."""
        path, query = self["path"] or "", self["query"] or ""
        request = Request("GET", f"{path}?{query}", ("", 0))
        if self.identity is not None:
            return Facts(request.segments, raw=self.identity.encode("utf-8", "surrogateescape"))
        body = b""
        if self["body"] is not None:
            try:
                body = Path(self["body"]).read_bytes()
            except OSError as e:
                raise Refused(f"{e.filename}: {e.strerror}") from e
        return Facts.of(request.segments, request.query, body)

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises RescriptumError: when there is no answer, as the server would say in its log.
        """
        answers = AnswerDirectory(config.answers.directory, time.time).read()
        for problem in answers.problems:
            err.write(f"warning: {problem}\n")
        answer = resolve(answers, self._facts())
        err.write(
            f"# format={answer.format.family} machine={answer.machine} group={answer.group}\n"
        )
        out.flush()
        out.buffer.write(answer.body)  # byte for byte: no encoding of the terminal's
        out.buffer.flush()
        return 0
