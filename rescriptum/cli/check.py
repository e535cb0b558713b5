"""``rescriptum check``: would every machine receive something, and would its installer take it?"""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import ClassVar, TextIO

from twisted.python.usage import UsageError

from ..answers.answerset import AnswerSet, is_disarmed
from ..answers.checks import survey
from ..answers.checks.report import Report
from ..answers.checks.trials import Given, trials
from ..answers.checks.walk import Walk
from ..answers.facts import Facts
from ..config import Config
from ..errors import MalformedRequest, Refused
from ..roles.stores import store_of
from .options import Command
from .progress import Follow, counted
from .requests import captured, contents, is_captured
from .validators import EACH, Validators

#: Of a file with facts, in bytes: more than a thousand requests as installers send them.
MAX_FACTS = 64 << 20


class CheckOptions(Command):
    """``check``."""

    synopsis = "Usage: rescriptum check [--facts FILE]... [--json] [--every | --no-tools]"
    longdesc = (
        "Renders every document as its machines would receive it, and looks at what they would: "
        "with bundled checks, and with the installers' own tools that are on PATH. FILE is JSON: "
        "what an installer posts, or a list of such; or a .meta that RESCRIPTUM_CAPTURE_DIR kept. "
        "Exit code 0: everything renders; warnings and notes are worth reading. 1: there are "
        "problems. 2: wrong usage."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", "j", "For programs."],
        ["every", None, f"Let each tool look at every document, not at {EACH} of them."],
        ["no-tools", None, "Bundled checks only."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Given] = []

    def opt_facts(self, name: str) -> None:
        """What requests carry: a JSON file, or a .meta. May be given several times."""
        self.given += requests(Path(name))

    opt_f = opt_facts

    def postOptions(self) -> None:
        if self["every"] and self["no-tools"]:
            raise UsageError("--every is about the tools, which --no-tools leaves out")

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """:raises Unavailable: when the store cannot be read."""
        with closing(store_of(config)) as store:
            answers = AnswerSet.of(store.listing())
        report = Report(
            store.describe(),
            groups=len({name for named in answers.groups.chains.values() for name in named}),
            machines=sum(not is_disarmed(name) for name in answers.machines),
        )
        tools = None
        if not self["no-tools"]:
            path = os.environ.get("PATH", os.defpath)
            tools = Validators(path, None if self["every"] else EACH)
        with counted(err) as follow:
            _walk(answers, self.given, report, tools, follow)
        if self["json"]:
            out.write(json.dumps(report.as_json(), indent=1) + "\n")
        else:
            out.write(report.as_text())
        return 1 if report.fails else 0


def _walk(
    answers: AnswerSet,
    given: list[Given],
    report: Report,
    tools: Validators | None,
    follow: Follow,
) -> None:
    report.add(survey.loaded(answers)).add(survey.identities(answers))
    walk = Walk(answers)
    planned = list(trials(answers, given))
    advance = follow("answers")
    for number, trial in enumerate(planned, 1):
        tried = walk.attempt(trial)
        report.add(tried.results)
        if tried.rendered is not None:
            report.count(tried.rendered)
            if tools is not None:
                tools.offer(tried.rendered)
        advance(number, len(planned))
    report.add(survey.groups(answers, walk.reached)).add(survey.given(walk.given))
    if tools is not None:
        with closing(tools.results(follow("tools"))) as results:
            report.add(results)


def requests(path: Path) -> list[Given]:
    """
    :param path: of a ``.meta``, or of JSON: what one request posts, or a list of such.
    :raises UsageError: naming the file and what would be right.
    """
    try:
        if is_captured(path):
            return [Given(str(path), captured(path), located=True)]
        bodies = json.loads(contents(path, MAX_FACTS))
        if not isinstance(bodies, list):
            bodies = [bodies]
        return [
            Given(f"{path}: request {number}", _facts(body))
            for number, body in enumerate(bodies, 1)
        ]
    except Refused as e:
        raise UsageError(str(e)) from None
    except MalformedRequest as e:
        raise UsageError(f"{path}: {e}") from None
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{path}: want JSON: {e}") from None


def _facts(body: object) -> Facts:
    if not isinstance(body, dict):
        raise MalformedRequest(f"want what a request posts, a table of facts, not {body!r:.40}")
    return Facts.of((), (), json.dumps(body).encode("utf-8"))
