"""What a family of formats does for documents: one module each, one row of the table each."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from attrs import frozen

from ..control import Control
from ..template import Template


@frozen
class Head:
    """
    What one reading of a document tells, without composing it.

    :ivar placeholders: whether there is anything in it to fill.
    """

    control: Control
    placeholders: bool


class Value(NamedTuple):
    """
    One value of a document, for people.

    :ivar path: where it is: ``global.fqdn``, ``/profile/users/user[name=root]/uid``, or empty
        for a line of text.
    :ivar text: what it is, placeholders as they are written.
    """

    path: str
    text: str


@frozen
class Family:
    """
    How documents of some formats are read and laid over each other. All are pure functions.

    :ivar name: what logs call the format.
    :ivar read: bytes of one document to its head. Runs once for each document of a set when
        it is loaded: it has to be quick. Raises MalformedDocument, ``line N: …``, for a
        document that does not parse, a placeholder that cannot be read, a control that is
        wrong.
    :ivar compose: the bytes of the layers, the lowest first (one at least), each of which has
        been read without error, to what is served: control stripped, the higher layer winning.
        A template where there is something to fill, whose fillings are escaped as the format
        wants. Raises MalformedDocument when the layers cannot be laid over each other.
    :ivar values: the bytes of one document, or of what ``compose`` made of some, to the values
        in it, in order, control left out; lists are one value each.
    """

    name: str
    read: Callable[[bytes], Head]
    compose: Callable[[Sequence[bytes]], bytes | Template]
    values: Callable[[bytes], list[Value]]
