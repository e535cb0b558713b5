"""What the admin listener says of an answer set and of answers, as values."""

from collections.abc import Iterable, Mapping

from ...values import Problem
from ..answerset import AnswerSet
from ..documents import Kind
from ..resolution import Answer


def composition(answer: Answer) -> str:
    """:returns: what the log says of an answer, as a header may carry it."""
    text = f"format={answer.format.family.name} machine={answer.machine} group={answer.group}"
    return "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in text)


def documents(answers: AnswerSet, kind: Kind) -> list[Mapping[str, object]]:
    """:returns: all of this kind, in order; an identity comes once for each of its formats."""
    return [
        {"id": place.name or str(place), "format": extension, "bytes": len(document.data)}
        for place, folder in sorted(answers.listing.folders.items(), key=lambda item: item[0])
        if place.kind is kind and not folder.error
        for extension, document in folder.documents.items()
    ]


def shown(problems: Iterable[Problem]) -> list[Mapping[str, str]]:
    """:returns: where each is, and what it is."""
    return [{"source": each.source, "text": each.text} for each in problems]
