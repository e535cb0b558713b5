"""Where each value of an answer came from."""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from ..errors import MalformedDocument, Unfillable
from .composer import Body
from .facts import Facts
from .formats.family import Family, Value
from .resolution import Chosen, filled
from .template import Template


@frozen
class Origin:
    """
    One value of the answer.

    :ivar path: where it is in the document; empty for a line of text.
    :ivar source: the layer that it came from; ``(made up)`` of a document that is no one's.
    """

    path: str
    text: str
    source: str


def made_up(family: Family, body: bytes) -> Iterator[Origin]:
    """:returns: the values of a document that nobody wrote."""
    for value in family.values(body):
        yield Origin(value.path, value.text, "(made up)")


def origins_of(chosen: Chosen, body: Body, facts: Facts) -> Iterator[Origin]:
    """
    :param body: of the layers, to be filled; what cannot be filled is shown as it is written.
    :returns: the values of the answer, in order.
    """
    family = chosen.format.family
    layers = [(each.source, family.values(each.data)) for each in chosen.layers]
    plain = _unfilled(body)
    try:
        served = filled(chosen, body, facts).body
    except Unfillable:
        served = plain
    values = family.values(served)
    if any(value.path for value in values):
        return _by_path(values, layers)
    return _by_line(values, family.values(plain), layers)


def _unfilled(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.unfilled().encode("utf-8", "surrogateescape")


def _by_path(
    values: Iterable[Value], layers: Sequence[tuple[str, list[Value]]]
) -> Iterator[Origin]:
    """A value is the highest layer's that has one in that place."""
    highest = {value.path: source for source, found in layers for value in found}
    for value in values:
        yield Origin(value.path, value.text, highest.get(value.path, ""))


def _by_line(
    served: Sequence[Value],
    lines: Sequence[Value],
    layers: Sequence[tuple[str, list[Value]]],
) -> Iterator[Origin]:
    """Lines stand in the order of the layers; a line that is left out is passed over."""
    stock = [(source, _parts(value.text)) for source, found in layers for value in found]
    at = 0
    for shown, line in zip(served, lines, strict=False):
        wanted = _parts(line.text)
        ahead = at
        while ahead < len(stock) and stock[ahead][1] != wanted:
            ahead += 1
        source = ""
        if ahead < len(stock):
            source, at = stock[ahead][0], ahead + 1
        yield Origin("", shown.text, source)


def _parts(line: str) -> tuple[str, ...]:
    try:
        parts = Template.parse(line).parts
    except MalformedDocument:
        return (line,)
    return tuple(part if isinstance(part, str) else f"\0{part.name}" for part in parts)
