"""Whom a request is claimed by in one format, how strongly, and by whom it may be."""

from collections.abc import Iterable

from attrs import field, frozen

from ..errors import MalformedDocument
from .answerset import AnswerSet
from .documents import Document
from .facts import Facts
from .formats.table import Format
from .selection import Claim

#: How a claim compares: by identity before by facts, then how specific, or how many criteria.
Strength = tuple[int, int]
BY_FACTS, BY_IDENTITY = 1, 2


@frozen
class Claimed:
    """
    What claims a request in one format.

    :ivar name: of the machine or group; ``document`` its own.
    :ivar by: the identity that was found, or the criteria that hold.
    """

    strength: Strength
    name: str
    by: str
    document: Document = field(repr=False)


def machine_of(
    answers: AnswerSet, facts: Facts, claims: tuple[Claim, ...], kind: Format
) -> Claimed | None:
    """:returns: the machine document of this format that claims the request best."""
    for claim in claims:
        document = answers.machines[claim.owner].documents.get(kind.extension)
        if document is not None:
            strength = BY_IDENTITY, claim.specificity
            return Claimed(strength, claim.owner, claim.identity, document)
    named = answers.selecting.get(kind.extension, ())
    return _by_facts(facts, named)


def group_of(answers: AnswerSet, facts: Facts, kind: Format) -> Claimed | None:
    """:returns: the group that claims the request best in this format."""
    claimants = answers.groups.claimants(kind.extension)
    for claim in claimants.members.claims(facts.values):
        chain = answers.groups.chains[kind.extension][claim.owner]
        strength = BY_IDENTITY, claim.specificity
        return Claimed(strength, claim.owner, claim.identity, chain.document)
    return _by_facts(facts, ((each.name, each.document) for each in claimants.selecting))


def _by_facts(facts: Facts, named: Iterable[tuple[str, Document]]) -> Claimed | None:
    """The most criteria; of equally many the first name."""
    best: Claimed | None = None
    for name, document in named:
        criteria = document.control.criteria
        strength = BY_FACTS, len(criteria)
        if best is not None and best.strength >= strength:
            continue
        if all(each.holds(facts) for each in criteria):
            best = Claimed(strength, name, ", ".join(map(str, criteria)), document)
    return best


def refuse_doubt(answers: AnswerSet, kind: Format, machine: bool, group: bool) -> None:
    """
    :param machine: whether an identity says which machine it is; ``group`` likewise.
    :raises MalformedDocument: when a document of this format cannot be read, so that the request
        may be one that it claims.
    """
    doubtful = [] if machine else [each for _, each in answers.doubtful.get(kind.extension, ())]
    if not group:
        doubtful += [each.document for each in answers.groups.claimants(kind.extension).doubtful]
    for each in doubtful:
        raise MalformedDocument(
            f"{each.source} may claim this request, and cannot be read: {each.error}"
        )


def by_identity(claimed: Claimed | None) -> bool:
    return claimed is not None and claimed.strength[0] == BY_IDENTITY
