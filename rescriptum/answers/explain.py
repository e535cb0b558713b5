"""Why a request gets the answer it gets: what was considered, and where each value came from."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from attrs import frozen

from ..errors import RescriptumError
from .answerset import AnswerSet
from .claimed import BY_FACTS, BY_IDENTITY, Strength
from .composer import compose
from .control import Control
from .documents import DEFAULT, Document
from .facts import Facts, normalise
from .formats.table import PARTS, Format, accepted
from .origins import Origin, made_up, origins_of
from .resolution import Chosen, choose, filled
from .selection import Claim, is_address


@frozen
class Candidate:
    """
    A document that was considered.

    :ivar role: ``machine``, ``group`` or ``default``.
    :ivar won: whether it is a layer of the answer.
    :ivar why: why, in a sentence without a subject.
    """

    source: str
    role: str
    won: bool
    why: str


@frozen
class Explanation:
    """
    :ivar candidates: in order: the strongest claim first, what claims nothing last.
    :ivar layers: sources, the lowest first.
    :ivar values: of the answer, in order; empty where there is none.
    :ivar error: why there is no answer, or empty.
    """

    candidates: tuple[Candidate, ...]
    layers: tuple[str, ...] = ()
    values: tuple[Origin, ...] = ()
    error: str = ""


def explain(answers: AnswerSet, facts: Facts) -> Explanation:
    """Whatever becomes of the request is part of the explanation: nothing is raised."""
    chosen: Chosen | None = None
    origins: tuple[Origin, ...] = ()
    error = ""
    try:
        chosen = choose(answers, facts)
        if chosen.made_up is not None:
            origins = tuple(made_up(chosen.format.family, chosen.made_up))
        else:
            body = compose(chosen.layers)
            origins = tuple(origins_of(chosen, body, facts))
            filled(chosen, body, facts)
    except RescriptumError as e:
        error = str(e)
    layers = () if chosen is None else tuple(each.source for each in chosen.layers)
    return Explanation(tuple(_candidates(answers, facts, chosen)), layers, origins, error)


def _candidates(answers: AnswerSet, facts: Facts, chosen: Chosen | None) -> Iterator[Candidate]:
    formats = accepted(facts.segments)
    asked = facts.segments[-1] if facts.segments else ""
    if asked in PARTS and (chosen is None or chosen.format.family.name == "yaml"):
        formats = (PARTS[asked], *formats)
    found = [
        *_machines(answers, facts, formats),
        *_groups(answers, facts, formats),
        *_defaults(answers, formats),
    ]
    found.sort(key=lambda each: (-each[0][0], -each[0][1], each[1]))
    layers = () if chosen is None else chosen.layers
    above = dict(zip_longest(layers, layers[1:]))
    for strength, _, role, document, why in found:
        if document in above:
            why = _won(above[document], why, strength)
            yield Candidate(document.source, role, True, why)
        else:
            why = _lost(chosen, role, document, why, strength)
            yield Candidate(document.source, role, False, why)


#: Strength, then order in the table of formats and by name; role, document, and why it claims.
_Found = tuple[Strength, tuple[int, str], str, Document, str]


def _machines(answers: AnswerSet, facts: Facts, formats: Sequence[Format]) -> Iterator[_Found]:
    for claim in answers.index.claims(facts.values):
        documents = answers.machines[claim.owner].documents
        for at, kind in enumerate(formats):
            if kind.extension in documents:
                strength = BY_IDENTITY, claim.specificity
                document = documents[kind.extension]
                yield strength, (at, claim.owner), "machine", document, _named(claim, facts)
        if not any(kind.extension in documents for kind in formats):
            for document in documents.values():
                order = len(formats), claim.owner
                yield (0, 0), order, "machine", document, "named, but in a format not asked for"
    for at, kind in enumerate(formats):
        for name, document in answers.selecting.get(kind.extension, ()):
            strength, why = _selected(document.control, facts)
            yield strength, (at, name), "machine", document, why


def _groups(answers: AnswerSet, facts: Facts, formats: Sequence[Format]) -> Iterator[_Found]:
    for at, kind in enumerate(formats):
        claimants = answers.groups.claimants(kind.extension)
        named: dict[str, Claim] = {}
        for claim in claimants.members.claims(facts.values):
            named.setdefault(claim.owner, claim)
        for name, chain in answers.groups.chains.get(kind.extension, {}).items():
            document = chain.document
            strength, why = _selected(document.control, facts)
            if name in named:
                strength = BY_IDENTITY, named[name].specificity
                why = f"its member {_named(named[name], facts)}"
            elif strength == (0, 0) and document.control.members:
                why = _unnamed(document.control.members) + (f"; {why}" if why else "")
            if chain.error:
                why = f"{why}, and it is broken: {chain.error}" if why else f"broken: {chain.error}"
            otherwise = "only through extends"
            if kind.extension in PARTS:
                otherwise = "beside user-data, or through extends"
            yield strength, (at, name), "group", document, why or otherwise


def _defaults(answers: AnswerSet, formats: Sequence[Format]) -> Iterator[_Found]:
    for at, kind in enumerate(formats):
        document = answers.defaults.get(kind.extension)
        if document is not None:
            yield (0, -1), (at, ""), DEFAULT, document, "nothing claims the request"


def _named(claim: Claim, facts: Facts) -> str:
    mac = facts.mac
    if mac is not None and is_address(claim.identity) and normalise(claim.identity) != mac.bare:
        # The same machine, booted from another of its interfaces: worth a look.
        return f"{claim.identity} is named, though it boots from {mac}"
    return f"{claim.identity} is named"


def _unnamed(members: Sequence[str]) -> str:
    if len(members) == 1:
        return f"its member {members[0]} is not named"
    return f"none of its {len(members)} members is named"


def _selected(control: Control, facts: Facts) -> tuple[Strength, str]:
    if not control.criteria:
        return (0, 0), ""
    for criterion in control.criteria:
        if not criterion.holds(facts):
            carried = facts.labels.get(criterion.label, ())
            said = " and ".join(carried[:3]) if carried else "nothing of it"
            return (0, 0), f"{criterion} does not hold: the request says {said}"
    why = " and ".join(f"{each} holds" for each in control.criteria)
    return (BY_FACTS, len(control.criteria)), why


def _won(above: Document | None, why: str, strength: Strength) -> str:
    """:param above: the next layer; what claims nothing by itself is there for its sake."""
    if strength == (0, 0) and above is not None and above.control.extends is not None:
        return f"{above.source} extends it"
    return why


def _lost(
    chosen: Chosen | None, role: str, document: Document, why: str, strength: Strength
) -> str:
    if chosen is None or strength == (0, 0):
        return why
    if role == DEFAULT:
        return "another default comes first" if chosen.default else "the request is claimed"
    if document.format is not chosen.format:
        extension = chosen.format.extension
        if extension in PARTS and document.format.family is chosen.format.family:
            return f"{why}, but {extension} was asked for, beside it"
        return f"{why}, but {extension} was chosen"
    top = chosen.layers[-1] if chosen.layers else None
    if role == "group" and top is not None and top.control.extends is not None:
        return f"{why}, but {top.source} extends {top.control.extends}"
    return f"{why}, but another claims it more closely, or comes first by name"
