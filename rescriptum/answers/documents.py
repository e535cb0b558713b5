"""What an answer set is made of: documents, in the directories that say whom they are for."""

import re
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Self

from attrs import field, frozen

from ..errors import MalformedDocument
from ..values import Problem
from .control import NOTHING, Control
from .formats.table import BY_EXTENSION, PARTS, Format

#: Of one document, in bytes.
MAX_DOCUMENT = 1024 * 1024
#: Of what is said of a broken one, in characters.
MAX_ERROR = 400
#: Names of directories that are no machines, in any case.
DEFAULT = "default"
GROUPS = "groups"
#: What a directory is called that holds a machine's documents once it is installed.
DISARMED = "installed-"

_ID = re.compile(r"[0-9A-Za-z._:-]{1,200}")


class Kind(Enum):
    """Whom documents are for."""

    MACHINE = "machine"
    GROUP = "group"
    DEFAULT = "default"


@frozen(order=True, cache_hash=True)
class Place:
    """
    A directory of the set.

    :ivar name: of the machine or group, as the directory is named; empty for the default.
    """

    kind: Kind = field(order=lambda kind: kind.value)
    name: str = ""

    def __str__(self) -> str:
        """Below the set's directory."""
        if self.kind is Kind.DEFAULT:
            return DEFAULT
        return f"{GROUPS}/{self.name}" if self.kind is Kind.GROUP else self.name

    @classmethod
    def checked(cls, kind: Kind, name: str = "") -> Self:
        """
        A place that may be written to: its name becomes a directory's.

        :raises ValueError: saying what would be right.
        """
        if kind is Kind.DEFAULT:
            return cls(kind)
        if not _ID.fullmatch(name) or name.startswith("."):
            raise ValueError(f"want letters, digits, . _ : and -, no dot first, not {name!r}")
        if kind is Kind.MACHINE and name.lower() in (DEFAULT, GROUPS):
            raise ValueError(f"{name} is no machine")
        return cls(kind, name)


@frozen(order=True, cache_hash=True)
class Key:
    """
    Which document: there is one of each extension in a place.

    :ivar extension: a row of ``FORMATS``, or of ``PARTS``.
    """

    place: Place
    extension: str

    @property
    def format(self) -> Format:
        return BY_EXTENSION[self.extension]

    def __str__(self) -> str:
        """What a file is called that we make for it, below the set's directory."""
        return f"{self.place}/{self.format.filename}"


def format_of(filename: str) -> Format | None:
    """
    :returns: by the extension, in any case, or for a part of a NoCloud seed by its name; None
        for files that are no documents.
    """
    if filename == "user-data":
        return BY_EXTENSION["yaml"]
    stem, dot, extension = filename.rpartition(".")
    extension = extension.lower()
    part = PARTS.get(stem if extension in ("yaml", "yml") else filename)
    return part or (BY_EXTENSION.get(extension) if dot and extension not in PARTS else None)


@frozen(eq=False)
class Document:
    """
    One file of the set: compared by identity, since a changed file is another document.

    :ivar source: where it is, below the set's directory.
    :ivar data: as it is stored; empty for what cannot be read.
    :ivar control: whom it is for, and what it stands on.
    :ivar placeholders: whether there is anything in it to fill.
    :ivar error: why it cannot be served. Such a document still claims its requests: they get an
        error, never somebody else's answer.
    """

    source: str
    format: Format
    data: bytes = field(repr=False)
    control: Control = NOTHING
    placeholders: bool = False
    error: str = ""

    @classmethod
    def of(cls, source: str, kind: Format, data: bytes) -> Self:
        """Read, or broken with the reason."""
        if len(data) > MAX_DOCUMENT:
            return cls(source, kind, b"", error=f"larger than {MAX_DOCUMENT} bytes")
        # Or it is being written just now, and what was in it claims its requests all the same.
        if not data.strip() and kind.extension not in PARTS:
            return cls(source, kind, data, error="empty: want something in it, if only a comment")
        try:
            head = kind.family.read(data)
        except MalformedDocument as e:
            return cls(source, kind, data, error=_line(str(e)))
        return cls(source, kind, data, head.control or NOTHING, head.placeholders)

    @classmethod
    def unreadable(cls, source: str, kind: Format, reason: str) -> Self:
        """What there is, and nobody knows what it says."""
        return cls(source, kind, b"", error=reason)


def _line(text: str) -> str:
    return text if len(text) <= MAX_ERROR else f"{text[: MAX_ERROR - 1]}…"


Documents = Mapping[str, Document]


@frozen(eq=False)
class Folder:
    """
    A directory of the set; compared by identity, since a changed one is another folder.

    :ivar found: its documents in the order of their file names; of one extension the first counts.
    :ivar error: why it cannot be read.
    """

    place: Place
    found: tuple[Document, ...] = ()
    error: str = ""

    @cached_property
    def documents(self) -> Documents:
        """By extension. In a directory that cannot be read, all of them are there and broken."""
        source = str(self.place)
        if self.error:
            return {
                kind.extension: Document.unreadable(source, kind, self.error)
                for kind in BY_EXTENSION.values()
            }
        kept: dict[str, Document] = {}
        for document in self.found:
            kept.setdefault(document.format.extension, document)
        return kept

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Of this directory, whatever else there is in the set."""
        if self.error:
            return (Problem(str(self.place), self.error),)
        problems = []
        for document in self.found:
            first = self.documents[document.format.extension]
            if first is not document:
                text = f"ignored: {first.source} is the {document.format.extension} document here"
                problems.append(Problem(document.source, text))
            elif document.error:
                problems.append(Problem(document.source, document.error))
        return tuple(problems)


@frozen
class Listing:
    """
    All that a store holds, at one moment.

    :ivar folders: a folder that has not changed since the listing before is the same object.
    :ivar problems: of the store itself, and files that lie where they are not served.
    """

    folders: Mapping[Place, Folder] = field(factory=dict)
    problems: tuple[Problem, ...] = ()
