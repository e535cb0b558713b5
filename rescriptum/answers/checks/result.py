"""What trying an answer set tells."""

from attrs import field, frozen

from .finding import Severity


@frozen
class Result:
    """
    One thing to tell the operator.

    :ivar source: the document that it is about, or the place in the set.
    :ivar path: of the value, in what is served; ``line`` of a text, 0 where there is none.
    :ivar machine: who asked, where it is about an answer.
    :ivar group: that the answer came from, where one did.
    :ivar by: who says so: an installer's own tool, or empty.
    """

    severity: Severity
    source: str
    text: str
    path: str = ""
    line: int = 0
    format: str = ""
    machine: str = ""
    group: str = ""
    by: str = ""


@frozen
class Rendered:
    """
    What an installer would receive.

    :ivar kind: what it was taken for, or empty.
    :ivar layers: how many documents it is made of.
    """

    body: bytes = field(repr=False)
    format: str
    source: str
    machine: str
    group: str
    kind: str = ""
    layers: int = 1


@frozen
class Tried:
    """
    What became of a request.

    :ivar rendered: None where there is no answer, or where this one has been seen before.
    """

    results: tuple[Result, ...] = ()
    rendered: Rendered | None = None
