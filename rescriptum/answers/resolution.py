"""From a request to its answer: which document, and what it says once it is filled."""

from attrs import field, frozen

from ..errors import NotFound
from . import nocloud
from .documents import DEFAULT, AnswerSet, Document
from .facts import Facts
from .formats.table import Format, accepted
from .selection import Claim


@frozen
class Answer:
    """
    What a machine receives.

    :ivar machine: whose document it is, or empty.
    :ivar group: ``default`` where no machine claimed the request.
    """

    body: bytes = field(repr=False)
    format: Format
    machine: str
    group: str


def resolve(answers: AnswerSet, facts: Facts) -> Answer:
    """
    :raises NotFound: when no document claims the request and there is no default for it.
    :raises MalformedDocument: when the document that claims it is broken.
    :raises Unfillable: when that document needs what the request does not carry.
    """
    formats = accepted(facts.segments)
    claims = answers.index.claims(facts.values)
    machine, document = _claimed(answers, claims, formats) or _default(answers, claims, formats)
    group = "" if machine else DEFAULT
    body = document.rendered(bound := facts.bound(machine or None))
    asked = facts.segments[-1] if facts.segments else ""
    if document.format.family == "yaml" and asked in nocloud.PARTS:
        body = nocloud.part(asked, machine or _instance(bound))
    return Answer(body, document.format, machine, group)


def _claimed(
    answers: AnswerSet, claims: tuple[Claim, ...], formats: tuple[Format, ...]
) -> tuple[str, Document] | None:
    """The most specific claim; among equal ones the first format; among those the first name."""
    candidates = (
        (-claim.specificity, order, claim.identity, document)
        for claim in claims
        for order, kind in enumerate(formats)
        if (document := answers.machines[claim.identity].get(kind.extension)) is not None
    )
    best = min(candidates, key=lambda candidate: candidate[:3], default=None)
    return best and best[2:]


def _default(
    answers: AnswerSet, claims: tuple[Claim, ...], formats: tuple[Format, ...]
) -> tuple[str, Document]:
    for kind in formats:
        document = answers.defaults.get(kind.extension)
        if document is not None:
            return "", document
    wanted = ", ".join(kind.extension for kind in formats)
    why = f"{claims[0].identity} has no document for it" if claims else "no machine claims it"
    raise NotFound(f"{why} and there is no default ({wanted})")


def _instance(facts: Facts) -> str:
    return str(facts.mac or facts.first("serial") or facts.first("uuid") or DEFAULT)
