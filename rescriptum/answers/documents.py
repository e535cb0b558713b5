"""The answer set as a value: what lies in the directory, and what is wrong with it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from attrs import field, frozen

from ..errors import MalformedDocument, Unfillable
from ..values import Problem
from .facts import Facts, normalise
from .formats.table import ALIASES, BY_EXTENSION, Format
from .selection import Index
from .template import Template

#: Of one document, in bytes.
MAX_DOCUMENT = 1024 * 1024

#: Names of directories that are no machines, in any case.
DEFAULT = "default"
GROUPS = "groups"


def format_of(filename: str) -> Format | None:
    """:returns: by the extension, in any case; None for files that are no documents."""
    _, dot, extension = filename.rpartition(".")
    return BY_EXTENSION.get(extension.lower()) if dot else None


@frozen
class Document:
    """
    One file of the set.

    :ivar source: where it is, below the set's directory.
    :ivar body: what is served: bytes as they are, or a template; None for what cannot be served.
    :ivar error: why it cannot. Such a document still claims its requests: they get an error,
        never somebody else's answer.
    """

    source: str
    format: Format
    body: bytes | Template | None = field(repr=False)
    error: str = ""

    @classmethod
    def of(cls, source: str, kind: Format, data: bytes) -> Self:
        """Parsed, or broken with the reason."""
        if len(data) > MAX_DOCUMENT:
            return cls(source, kind, None, f"larger than {MAX_DOCUMENT} bytes")
        try:
            return cls(source, kind, kind.parse(data))
        except MalformedDocument as e:
            return cls(source, kind, None, str(e))

    def rendered(self, facts: Facts) -> bytes:
        """
        :raises MalformedDocument: when it is broken.
        :raises Unfillable: when it needs what the request does not carry.
        """
        if self.body is None:
            raise MalformedDocument(f"{self.source}: {self.error}")
        if isinstance(self.body, bytes):
            return self.body
        try:
            return self.body.fill(facts).encode("utf-8", "surrogateescape")
        except Unfillable as e:
            raise Unfillable(f"{self.source}: {e}") from e


@frozen
class Folder:
    """
    A directory of the set.

    :ivar documents: its files that have a known extension, by file name.
    :ivar error: why it cannot be read.
    """

    name: str
    documents: tuple[Document, ...] = ()
    error: str = ""


@frozen
class Listing:
    """
    All that lies in the set's directory but hidden entries and ``groups``.

    :ivar folders: by name.
    :ivar loose: files with a known extension that lie beside the folders.
    :ivar problems: of the directory itself.
    """

    folders: tuple[Folder, ...] = ()
    loose: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


Documents = Mapping[str, Document]


@frozen
class AnswerSet:
    """
    What requests are answered from, never changed: a changed directory makes another one.

    :ivar machines: by identity, as the directory is named; each has its documents by extension.
    :ivar defaults: for requests that no machine claims, by extension.
    :ivar problems: what an operator has to mend, in a fixed order.
    """

    machines: Mapping[str, Documents]
    defaults: Documents
    problems: tuple[Problem, ...]
    index: Index = field(repr=False)

    @classmethod
    def of(cls, listing: Listing) -> Self:
        machines: dict[str, Documents] = {}
        default: Folder | None = None
        defaults: Documents = {}
        problems = list(listing.problems)
        problems += [
            Problem(name, f"not served: it belongs in {_new_path(name)}") for name in listing.loose
        ]
        for folder in listing.folders:
            kept, wrong = _by_extension(folder)
            problems += wrong
            if folder.name.lower() != DEFAULT:
                machines[folder.name] = kept
            elif default is None:
                default, defaults = folder, kept
            else:
                problems.append(Problem(folder.name, f"ignored: {default.name} is there too"))
        problems += _names_that_mislead(machines)
        named = [name for name in machines if name.isprintable()]
        return cls(machines, defaults, tuple(problems), Index.of(named))


def _new_path(name: str) -> str:
    stem, _, _ = name.rpartition(".")
    kind = format_of(name)
    assert kind is not None  # loose files are those with a format
    return f"{stem}/{kind.filename}"


def _by_extension(folder: Folder) -> tuple[Documents, list[Problem]]:
    kept: dict[str, Document] = {}
    problems = []
    if folder.error:
        # Which documents are in there nobody knows: none of its requests may fall through.
        problems.append(Problem(folder.name, folder.error))
        for kind in BY_EXTENSION.values():
            kept[kind.extension] = Document(folder.name, kind, None, folder.error)
    for document in folder.documents:
        first = kept.setdefault(document.format.extension, document)
        if first is not document:
            text = f"ignored: {first.source} is the {document.format.extension} document here"
            problems.append(Problem(document.source, text))
        elif document.error:
            problems.append(Problem(document.source, document.error))
    return kept, problems


def _names_that_mislead(names: Iterable[str]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name in names:
        needle = normalise(name)
        if not name.isprintable():
            yield Problem(repr(name), "never claims a request: its name is not printable text")
        elif not needle:
            yield Problem(name, "never claims a request: its name has no ASCII letter or digit")
        elif needle in ALIASES:
            text = "claims every request with that word in its path; for all machines there is "
            yield Problem(name, f"{text}{DEFAULT}/")
        elif needle in seen:
            yield Problem(name, f"names the same machine as {seen[needle]}")
        seen.setdefault(needle, name)
