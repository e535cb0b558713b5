"""Answer sets for tests, out of file names and bytes."""

from collections.abc import Mapping

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.documents import (
    DEFAULT,
    GROUPS,
    Document,
    Folder,
    Kind,
    Listing,
    Place,
    format_of,
)
from rescriptum.answers.facts import Facts
from rescriptum.answers.resolution import Answer, resolve
from rescriptum.web.request import Request

#: A file's name below the set's directory, and what is in it.
Files = Mapping[str, bytes | str]


def place_of(directory: str) -> Place:
    """``groups/dell``, ``default`` or a machine's name."""
    if directory == DEFAULT:
        return Place(Kind.DEFAULT)
    room, _, name = directory.partition("/")
    return Place(Kind.GROUP, name) if room == GROUPS else Place(Kind.MACHINE, directory)


def listing(files: Files) -> Listing:
    """:returns: what a store that holds just these would list."""
    found: dict[Place, list[Document]] = {}
    for name, data in sorted(files.items()):
        directory, _, file = name.rpartition("/")
        kind = format_of(file)
        assert kind is not None, name
        raw = data.encode() if isinstance(data, str) else data
        found.setdefault(place_of(directory), []).append(Document.of(name, kind, raw))
    return Listing({place: Folder(place, tuple(each)) for place, each in found.items()})


def answer_set(files: Files) -> AnswerSet:
    return AnswerSet.of(listing(files))


def facts_of(target: str, body: bytes = b"", peer: str = "192.0.2.7") -> Facts:
    """:param target: path and query, as asked."""
    request = Request("GET", target, (peer, 0))
    return Facts.of(request.segments, request.query, body, peer=peer)


def asked(answers: AnswerSet, target: str, body: bytes = b"", peer: str = "192.0.2.7") -> Answer:
    """:raises RescriptumError: as resolving does."""
    return resolve(answers, facts_of(target, body, peer))
