"""What a document says of itself beside what it serves: whom it is for, and what it stands on."""

from collections.abc import Iterable, Mapping
from typing import Self

from attrs import frozen

from ..errors import MalformedDocument
from .criteria import Criterion

#: Keys at the top of a structured document that are read here and never served.
KEYS = ("extends", "members", "match", "examples")

Pairs = tuple[tuple[str, str], ...]


@frozen
class Control:
    """
    The part of a document that is stripped before it is served.

    :ivar extends: the group that this document is laid over, as its directory is named.
    :ivar members: identities that a group claims, as written.
    :ivar criteria: what all has to hold of a request that the document claims by its facts.
    :ivar examples: facts of requests that ``check`` tries a group with.
    """

    extends: str | None = None
    members: tuple[str, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    examples: tuple[Pairs, ...] = ()

    def __bool__(self) -> bool:
        return self is not NOTHING and self != NOTHING

    @classmethod
    def of_table(cls, table: Mapping[str, object]) -> Self:
        """
        :param table: a structured document's top: plain Python values, or a library's own that
            are instances of them. Keys that are none of ``KEYS`` are not looked at.
        :raises MalformedDocument: naming the key and what would be right.
        """
        extends = table.get("extends")
        if extends is not None and not (isinstance(extends, str) and extends.strip()):
            raise MalformedDocument(f"extends: want the name of one group, not {extends!r}")
        match = table.get("match", {})
        if not isinstance(match, Mapping):
            raise MalformedDocument(f"match: want a table of facts and patterns, not {match!r}")
        examples = table.get("examples", [])
        if not isinstance(examples, list):
            raise MalformedDocument(f"examples: want a list of tables of facts, not {examples!r}")
        return cls(
            None if extends is None else str(extends),
            _texts("members", table.get("members", [])),
            tuple(
                Criterion.of(str(label), _texts(f"match.{label}", value))
                for label, value in match.items()
            ),
            tuple(_facts(each) for each in examples),
        )

    @classmethod
    def of_pairs(
        cls,
        extends: str | None,
        members: Iterable[str],
        match: Iterable[tuple[str, str]],
        examples: Iterable[Pairs] = (),
    ) -> Self:
        """
        For formats whose control is a list of words; a label that comes again is any of its
        patterns.

        :raises MalformedDocument: naming the key and what would be right.
        """
        if extends is not None and not extends.strip():
            raise MalformedDocument("extends: want the name of one group")
        patterns: dict[str, list[str]] = {}
        for label, pattern in match:
            patterns.setdefault(label.lower(), []).append(pattern)
        criteria = tuple(Criterion.of(label, tuple(each)) for label, each in patterns.items())
        return cls(extends, tuple(members), criteria, tuple(examples))


#: What most documents say of themselves.
NOTHING = Control()


def _text(field: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise MalformedDocument(f"{field}: want text, a number, true or false, not {value!r}")


def _texts(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text(field, each) for each in value)
    return (_text(field, value),)


def _facts(value: object) -> Pairs:
    if not isinstance(value, Mapping):
        raise MalformedDocument(f"examples: want tables of facts, not {value!r}")
    return tuple((str(name), _text(f"examples.{name}", each)) for name, each in value.items())
