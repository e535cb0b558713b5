"""What the values of a structured document have to be, written down as a table of shapes."""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, time

from .finding import Finding, either, hint, problem, warning

#: From a value and where it is to what is wrong with it.
Shape = Callable[[object, str], Iterator[Finding]]

_MAX_SHOWN = 60


def kind_of(value: object) -> str:
    """:returns: what a value is, in the words of messages."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return "binary data"


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (int, "a whole number"),
    (float, "a number"),
    (Mapping, "a table"),
    ((list, tuple, set), "a list"),
    ((date, time), "a date or time"),
)


def words(several: str) -> tuple[str, ...]:
    """:returns: the words of a text: how the tables of known names are written."""
    return tuple(several.split())


def shown(value: object) -> str:
    """:returns: a value as messages quote it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def child(at: str, name: object) -> str:
    """:returns: where a key of the table at ``at`` is."""
    return f"{at}.{name}" if at else str(name)


def _wanted(what: str, value: object, at: str) -> Finding:
    return problem(f"want {what}, not {kind_of(value)}", at)


def anything(value: object, at: str) -> Iterator[Finding]:
    """Whatever it is."""
    return iter(())


def text(value: object, at: str) -> Iterator[Finding]:
    """Any text."""
    if not isinstance(value, str):
        yield _wanted("text", value, at)


def flag(value: object, at: str) -> Iterator[Finding]:
    """True or false."""
    if not isinstance(value, bool):
        yield _wanted("true or false", value, at)


def number(value: object, at: str) -> Iterator[Finding]:
    """Any number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield _wanted("a number", value, at)


def whole(value: object, at: str) -> Iterator[Finding]:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        yield _wanted("a whole number", value, at)


def choice(*words: str) -> Shape:
    """One of some words."""

    def check(value: object, at: str) -> Iterator[Finding]:
        if not isinstance(value, str):
            yield _wanted(either(words), value, at)
        elif value not in words:
            said = f"want {either(words)}, not {shown(value)}"
            yield problem(said + hint(value, words), at)

    return check


def listed(each: Shape) -> Shape:
    """A list, all of one shape."""

    def check(value: object, at: str) -> Iterator[Finding]:
        if not isinstance(value, list):
            yield _wanted("a list", value, at)
            return
        for number_, item in enumerate(value):
            yield from each(item, f"{at}[{number_}]")

    return check


def tabled(each: Shape) -> Shape:
    """A table of any keys, all of one shape."""

    def check(value: object, at: str) -> Iterator[Finding]:
        if not isinstance(value, Mapping):
            yield _wanted("a table", value, at)
            return
        for name, item in value.items():
            yield from each(item, child(at, name))

    return check


def perhaps(each: Shape) -> Shape:
    """That, or nothing."""

    def check(value: object, at: str) -> Iterator[Finding]:
        return iter(()) if value is None else each(value, at)

    return check


def by_kind(**shapes: Shape) -> Shape:
    """
    What a value has to be depends on what kind of thing it is.

    :param shapes: by the last word of its kind: ``text``, ``table``, ``list``, ``number``,
        ``false``, ``nothing``, ``data``.
    """
    wanted = either(_NAMES[each] for each in shapes)

    def check(value: object, at: str) -> Iterator[Finding]:
        shape = shapes.get(kind_of(value).rsplit(" ", 1)[-1])
        if shape is None:
            yield _wanted(wanted, value, at)
        else:
            yield from shape(value, at)

    return check


_NAMES = {
    "text": "text",
    "table": "a table",
    "list": "a list",
    "number": "a number",
    "false": "true or false",
    "nothing": "nothing",
    "data": "binary data",
}


def table(
    known: Mapping[str, Shape],
    required: Collection[str] = (),
    similar: bool = False,
    folded: bool = False,
) -> Shape:
    """
    A table of known keys; others are warned about.

    :param similar: whether only those are that look like a known one: for tables that others
        add to.
    :param folded: whether ``_`` is the same as ``-`` in a key.
    """
    spelled: Callable[[str], str] = (lambda key: key.replace("_", "-")) if folded else str

    def check(value: object, at: str) -> Iterator[Finding]:
        if not isinstance(value, Mapping):
            yield _wanted("a table", value, at)
            return
        seen: set[str] = set()
        for name, item in value.items():
            where = child(at, name)
            if not isinstance(name, str):
                yield warning(f"want text for a key, not {kind_of(name)}", where)
                continue
            key = spelled(name)
            if key in seen:
                yield problem("it is there in both spellings", where)
            seen.add(key)
            if key in known:
                yield from known[key](item, where)
            elif (meant := hint(name, known)) or not similar:
                yield warning(f"unknown key{meant}", where)
        for key in required:
            if key not in seen:
                yield problem(f"{key} is missing", at)

    return check
