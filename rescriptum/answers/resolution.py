"""From a request to its answer: which documents, and what they say once they are filled."""

from attrs import evolve, field, frozen

from ..errors import MalformedDocument, NotFound, Unfillable
from . import nocloud
from .answerset import AnswerSet
from .claimed import (
    BY_IDENTITY,
    Claimed,
    Strength,
    by_identity,
    group_of,
    machine_of,
    refuse_doubt,
)
from .composer import Body, Composer, Layers, broken, compose
from .documents import DEFAULT, Document
from .facts import Bound, Facts
from .formats.table import PARTS, Format, accepted
from .groups import Chain
from .selection import Claim


@frozen
class Chosen:
    """
    Whose answer a request gets.

    :ivar machine: the machine whose document is the top layer, or empty.
    :ivar group: the group below it, ``default`` where nothing claimed the request, or empty.
    :ivar layers: the lowest first. None for a part of a NoCloud seed that is made up.
    :ivar default: whether nothing claimed the request. A group may be called so, too.
    """

    format: Format
    machine: str
    group: str
    layers: Layers = field(repr=False)
    made_up: bytes | None = field(default=None, repr=False)
    default: bool = False

    def bound(self, facts: Facts) -> Bound:
        """:returns: the facts of the request with those of what was chosen."""
        return facts.bound(self.machine or None, None if self.default else self.group or None)


@frozen
class Answer:
    """
    What a machine receives.

    :ivar machine: whose document it is, or empty.
    :ivar group: the group below it, ``default`` where nothing claimed the request, or empty.
    """

    body: bytes = field(repr=False)
    format: Format
    machine: str
    group: str


def resolve(answers: AnswerSet, facts: Facts, composer: Composer | None = None) -> Answer:
    """
    :raises NotFound: when no document claims the request and there is no default for it.
    :raises MalformedDocument: when a document that claims it is broken.
    :raises Unfillable: when its answer needs what the request does not carry.
    """
    chosen = choose(answers, facts)
    if chosen.made_up is not None:
        return filled(chosen, chosen.made_up, facts)
    body = compose(chosen.layers) if composer is None else composer.body(chosen.layers)
    return filled(chosen, body, facts)


def filled(chosen: Chosen, body: Body, facts: Facts) -> Answer:
    """:raises Unfillable: naming the topmost document of the answer."""
    if not isinstance(body, bytes):
        try:
            body = body.fill(chosen.bound(facts)).encode("utf-8", "surrogateescape")
        except Unfillable as e:
            raise Unfillable(f"{chosen.layers[-1].source}: {e}") from e
    return Answer(body, chosen.format, chosen.machine, chosen.group)


def choose(answers: AnswerSet, facts: Facts) -> Chosen:
    """
    Machine and group are chosen within one format: that of the strongest claim, and of equal
    ones the first that the path asks for, or else of the table.

    :raises NotFound: when no document claims the request and there is no default for it.
    :raises MalformedDocument: when what claims it is a group that is broken.
    """
    formats = accepted(facts.segments)
    claims = answers.index.claims(facts.values)
    strongest: Strength = (0, 0)
    best: tuple[Format, Claimed | None, Claimed | None] | None = None
    for kind in formats:
        machine = machine_of(answers, facts, claims, kind)
        group = group_of(answers, facts, kind)
        for each in machine, group:
            if each is not None and each.strength > strongest:
                strongest, best = each.strength, (kind, machine, group)
    if strongest[0] < BY_IDENTITY:
        for kind in formats:
            refuse_doubt(answers, kind, machine=False, group=False)
    chosen = _default(answers, claims, formats) if best is None else _laid(answers, *best)
    asked = facts.segments[-1] if facts.segments else ""
    if asked in PARTS and chosen.format.family.name == "yaml":
        return _part(answers, chosen, PARTS[asked], claims, facts)
    return chosen


def _laid(
    answers: AnswerSet, kind: Format, machine: Claimed | None, group: Claimed | None
) -> Chosen:
    extends = machine is not None and machine.document.control.extends is not None
    refuse_doubt(answers, kind, by_identity(machine), extends or by_identity(group))
    if machine is not None and extends:
        return _extending(answers, kind, machine.name, machine.document)
    below = () if group is None else _unbroken(answers.groups.chains[kind.extension][group.name])
    top = () if machine is None else (machine.document,)
    name = "" if group is None else group.name
    return Chosen(kind, "" if machine is None else machine.name, name, (*below, *top))


def _extending(answers: AnswerSet, kind: Format, machine: str, document: Document) -> Chosen:
    """What a machine's document names goes before what claims the request."""
    layers = (*_extended(answers, document), document)
    return Chosen(kind, machine, document.control.extends or "", layers)


def _extended(answers: AnswerSet, document: Document) -> Layers:
    """What a machine's or default document stands on because it says so."""
    parent = document.control.extends
    if document.error or parent is None:
        return ()
    chain = answers.groups.chain(document.format.extension, parent)
    if chain is None:
        reason = answers.groups.missing(document.format.extension, parent)
        raise MalformedDocument(f"{document.source}: {reason}")
    return _unbroken(chain)


def _unbroken(chain: Chain) -> Layers:
    if chain.error:
        raise MalformedDocument(f"{chain.document.source}: {chain.error}")
    return chain.layers


def _default(answers: AnswerSet, claims: tuple[Claim, ...], formats: tuple[Format, ...]) -> Chosen:
    for kind in formats:
        found = _default_of(answers, kind)
        if found is not None:
            return found
    wanted = ", ".join(kind.extension for kind in formats)
    why = f"{claims[0].owner} has no document for it" if claims else "nothing claims it"
    raise NotFound(f"{why} and there is no default ({wanted})")


def _default_of(answers: AnswerSet, kind: Format) -> Chosen | None:
    document = answers.defaults.get(kind.extension)
    if document is None:
        return None
    layers = (*_extended(answers, document), document)
    return Chosen(kind, "", DEFAULT, layers, default=True)


def _part(
    answers: AnswerSet, whole: Chosen, kind: Format, claims: tuple[Claim, ...], facts: Facts
) -> Chosen:
    """A file of a NoCloud seed beside the user-data, from whoever that comes from; or made up."""
    for each in whole.layers:
        if each.error:
            raise broken(each)
    name, document = _part_of_machine(answers, whole, kind, claims, facts)
    if document is None and whole.default:
        default = _default_of(answers, kind)
        if default is not None:
            return default
    elif document is not None and document.control.extends is not None:
        return _extending(answers, kind, name, document)
    below = _part_of_groups(answers, whole, kind)
    if document is not None:
        return Chosen(kind, name, "" if whole.default else whole.group, (*below, document))
    if below:
        return evolve(whole, format=kind, layers=below)
    instance = whole.machine or str(
        facts.mac or facts.first("serial") or facts.first("uuid") or DEFAULT
    )
    return evolve(whole, format=kind, layers=(), made_up=nocloud.part(kind.extension, instance))


def _part_of_groups(answers: AnswerSet, whole: Chosen, kind: Format) -> Layers:
    group = whole.layers[-1].control.extends if whole.default else whole.group
    data = answers.groups.chain(whole.format.extension, group or "")
    chain = None if data is None else answers.groups.nearest(kind.extension, data)
    return () if chain is None else _unbroken(chain)


def _part_of_machine(
    answers: AnswerSet, whole: Chosen, kind: Format, claims: tuple[Claim, ...], facts: Facts
) -> tuple[str, Document | None]:
    """Where the user-data is no machine's, a machine may have a part alone."""
    if whole.machine:
        name = whole.machine
        return name, answers.machines[name].documents.get(kind.extension)
    machine = machine_of(answers, facts, claims, kind)
    return ("", None) if machine is None else (machine.name, machine.document)
