"""``rescriptum render``: what an installer would receive, before any machine is powered on."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar, TextIO

from attrs import asdict
from twisted.python.usage import UsageError

from ..answers.answerset import AnswerSet
from ..answers.explain import Explanation, explain
from ..answers.facts import Facts
from ..answers.resolution import resolve
from ..config import Config
from ..roles.stores import store_of
from ..values import printable
from ..web.request import Request
from .options import Command
from .requests import captured, contents


class RenderOptions(Command):
    """``render``."""

    synopsis = (
        "Usage: rescriptum render (ID | [--query QUERY] [--body FILE] | --capture FILE) "
        "[--path PATH] [--peer ADDRESS] [--explain [--json]]"
    )
    longdesc = (
        "Prints the document that a request would get, and nothing else, on standard output. "
        "ID alone carries no fact, or mac where it is one: --query, --body and --capture carry "
        "more. --explain prints instead which documents were considered and why each won or "
        "lost, the layers, and from which layer each value came. "
        "Exit code 0: there is an answer; 1: there is none, or it cannot be filled."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["query", "q", None, "What stands behind the ? of a URL: 'mac=52:54:00:00:00:01'."],
        ["body", "b", None, "A file with what is posted; read as JSON where it is JSON."],
        ["capture", "c", None, "A request that the server kept, by its .meta file."],
        ["path", "p", None, "The path of the URL, which says the format: /debian/preseed."],
        ["peer", None, None, "The address that asks, which match = {peer = …} looks at."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["explain", "e", "Say why, and where each value came from, instead of the document."],
        ["json", None, "The explanation as JSON."],
    ]

    identity: str | None = None

    def parseArgs(self, *words: str) -> None:
        if len(words) > 1:
            raise UsageError("one ID at a time")
        self.identity = words[0] if words else None

    def postOptions(self) -> None:
        asked = self["query"] is not None or self["body"] is not None
        if (self.identity is not None) + asked + (self["capture"] is not None) > 1:
            raise UsageError("an ID, or --query and --body, or --capture; one of them")
        if self.identity is None and not asked and self["path"] is None and not self["capture"]:
            raise UsageError("for which machine? an ID, --query, --body or --capture")
        if self["capture"] is not None and self["path"] is not None:
            raise UsageError("--capture has a path of its own")
        if self["json"] and not self["explain"]:
            raise UsageError("--json is of --explain; a document is printed as it is")

    def _facts(self) -> Facts:
        """:raises Refused: for a file that cannot be read."""
        if self["capture"] is not None:
            return captured(Path(self["capture"]))
        path, query = self["path"] or "", self["query"] or ""
        request = Request("GET", f"{path}?{query}", ("", 0))
        peer = self["peer"] or ""
        if self.identity is not None:
            raw = self.identity.encode("utf-8", "surrogateescape")
            return Facts(request.segments, raw=raw, peer=peer)
        body = b"" if self["body"] is None else contents(Path(self["body"]))
        return Facts.of(request.segments, request.query, body, peer=peer)

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises RescriptumError: when there is no answer, as the server would say in its log.
        """
        with closing(store_of(config)) as store:
            answers = AnswerSet.of(store.listing())
        for problem in answers.problems:
            print(f"warning: {problem}", file=err)
        facts = self._facts()
        if self["explain"]:
            explanation = explain(answers, facts)
            if self["json"]:
                print(json.dumps(asdict(explanation), indent=2), file=out)
            else:
                out.writelines(f"{printable(each)}\n" for each in _lines(explanation))
            return 1 if explanation.error else 0
        answer = resolve(answers, facts)
        about = f"format={answer.format.family.name} machine={answer.machine} group={answer.group}"
        err.write(f"# {printable(about)}\n")
        out.flush()
        out.buffer.write(answer.body)  # byte for byte: no encoding of the terminal's
        out.buffer.flush()
        return 0


def _lines(explanation: Explanation) -> Iterator[str]:
    wide = max((len(each.source) for each in explanation.candidates), default=0)
    yield "Candidates, the strongest claim first:"
    for each in explanation.candidates:
        verdict = "won " if each.won else "lost"
        yield f"  {verdict}  {each.role:7}  {each.source:{wide}}  {each.why}"
    if not explanation.candidates:
        yield "  none: no document is in a format that was asked for"
    if explanation.layers:
        yield "Layers, the lowest first:"
    for number, source in enumerate(explanation.layers, 1):
        yield f"  {number}  {source}"
    if explanation.values:
        yield "Values:"
    wide = max((len(each.source) for each in explanation.values), default=0)
    for value in explanation.values:
        text = f"{value.path} = {value.text}" if value.path else value.text
        yield f"  {value.source:{wide}}  {text}"
    if explanation.error:
        yield f"No answer: {explanation.error}"
