"""One request after the other: what an installer would receive, and what is wrong with it."""

from collections.abc import Mapping
from hashlib import sha256

from attrs import define, evolve, field

from ...errors import MalformedDocument, NotFound, RescriptumError, Unfillable
from ...values import Problem
from ..answerset import AnswerSet
from ..claimed import by_identity, group_of
from ..composer import Body, Composer
from ..documents import DEFAULT, Document
from ..facts import RESERVED, Facts, normalise
from ..resolution import Chosen, choose, filled
from ..template import Placeholder
from .finding import Check, Checked, Severity
from .result import Rendered, Result, Tried
from .table import CHECKS
from .telling import elsewhere, findings, needs, result_of, unheld
from .trials import Trial


@define
class Walk:
    """
    Tries requests, and remembers what they reached.

    :ivar reached: the documents that were layers of an answer.
    :ivar given: labels of given requests, and whether anything answered them.
    """

    _answers: AnswerSet
    _composer: Composer = field(factory=Composer)
    _checks: Mapping[str, Check] = CHECKS
    reached: set[Document] = field(factory=set)
    given: dict[str, bool] = field(factory=dict)
    _seen: set[tuple[object, ...]] = field(factory=set)
    _filled: set[tuple[object, ...]] = field(factory=set)
    _checked: dict[tuple[str, bytes], Checked] = field(factory=dict)
    _known: dict[str, list[Problem]] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        for each in self._answers.problems:
            self._known.setdefault(each.text, []).append(each)

    def attempt(self, trial: Trial) -> Tried:
        """:returns: everything about it; nothing is raised."""
        if trial.wanted is None:
            self.given.setdefault(trial.who, False)
        try:
            chosen = choose(self._answers, trial.facts)
        except NotFound as e:
            return self._unanswered(trial, str(e))
        except RescriptumError as e:
            return self._refused(trial, str(e))
        if trial.wanted is None:
            self.given[trial.who] = True
        elif trial.wanted not in chosen.layers:
            return Tried(tuple(elsewhere(trial, trial.wanted, chosen)))
        self.reached.update(chosen.layers)
        asked = trial.who if trial.wanted is None else chosen.machine or normalise(trial.who)
        key = (chosen.layers, chosen.format.extension, asked)
        if key in self._seen or chosen.made_up is not None:
            return Tried()
        self._seen.add(key)
        try:
            return self._rendered(trial, chosen, self._composer.body(chosen.layers))
        except MalformedDocument as e:
            return self._refused(trial, str(e))

    def _unanswered(self, trial: Trial, reason: str) -> Tried:
        wanted = trial.wanted
        if wanted is None:
            return Tried()
        said = f"asked for {trial.who}, nothing is served: {reason}"
        if trial.role == "example":
            said = f"does not reach it: {unheld(wanted, trial.facts) or reason}"
        return Tried((result_of(trial, Severity.PROBLEM, wanted.source, said),))

    def _refused(self, trial: Trial, reason: str) -> Tried:
        """A broken document, whose problem may be known: then it is the same one."""
        source, _, text = reason.partition(": ")
        at = 0
        while at >= 0:
            for known in self._known.get(reason[at:].removeprefix(": "), ()):
                if reason.startswith(known.source):
                    source, text = known.source, known.text
            at = reason.find(": ", at + 1)
        who = "" if trial.role == DEFAULT else trial.who
        return Tried((Result(Severity.PROBLEM, source, text, machine=who),))

    def _rendered(self, trial: Trial, chosen: Chosen, body: Body) -> Tried:
        top = chosen.layers[-1]
        facts = self._fuller(trial, chosen, body)
        missing = _missing(chosen, body, facts)
        if missing:
            if (top, self._who(trial, chosen)) in self._filled:
                return Tried()
            if trial.role == "guess" and chosen.default:
                return Tried()  # who is a stranger may never ask for what there is by default
            return Tried(tuple(needs(trial, chosen, missing)))
        try:
            answer = filled(chosen, body, facts)
        except Unfillable as e:
            return self._refused(trial, str(e))
        if trial.wanted is None:
            self._filled.update([(top, self._who(trial, chosen)), (top, "")])
        extension = chosen.format.extension
        checked = self._check(extension, answer.body)
        rendered = Rendered(
            answer.body,
            extension,
            top.source,
            chosen.machine or trial.who,
            chosen.group,
            checked.kind,
            len(chosen.layers),
        )
        return Tried(tuple(findings(trial, chosen, checked)), rendered)

    def _who(self, trial: Trial, chosen: Chosen) -> str:
        """:returns: which member of a group; empty where the topmost document says who it is."""
        group = group_of(self._answers, trial.facts, chosen.format)
        return normalise(group.by) if group is not None and by_identity(group) else ""

    def _fuller(self, trial: Trial, chosen: Chosen, body: Body) -> Facts:
        """:returns: the facts, with the first spare ones that fill the same answer."""
        if _missing(chosen, body, trial.facts):
            for spare in trial.spare:
                facts = _with(trial.facts, spare)
                if not _missing(chosen, body, facts) and self._same(chosen, facts):
                    return facts
        return trial.facts

    def _same(self, chosen: Chosen, facts: Facts) -> bool:
        """:returns: whether more facts still get the same answer."""
        try:
            return choose(self._answers, facts).layers == chosen.layers
        except RescriptumError:
            return False

    def _check(self, extension: str, body: bytes) -> Checked:
        """Machines of one group often get the same: that is looked at once."""
        check = self._checks.get(extension)
        if check is None:
            return Checked("")
        key = extension, sha256(body).digest()
        if key not in self._checked:
            self._checked[key] = check(body)
        return self._checked[key]


def _missing(chosen: Chosen, body: Body, facts: Facts) -> tuple[str, ...]:
    """:returns: the facts that the answer needs and the request does not carry."""
    if isinstance(body, bytes):
        return ()
    bound = chosen.bound(facts)
    return tuple(
        dict.fromkeys(
            part.name.lower()
            for part in body.parts
            if isinstance(part, Placeholder)
            and bound.first(part.name) is None
            and not any(each.name == "default" for each in part.filters)
        )
    )


def _with(facts: Facts, spare: tuple[tuple[str, str], ...]) -> Facts:
    carried = {name.lower() for name in facts.names}
    more = tuple(pair for pair in spare if pair[0].lower() not in carried | RESERVED)
    return evolve(facts, query=(*facts.query, *more))
