"""What became of requests for answers, and of the answer set itself, as events."""

from attrs import frozen

from ..boot.events import Event
from ..values import MAC


@frozen(kw_only=True)
class _Answered(Event):
    """
    A request on the answer listener.

    :ivar target: with its query, as asked.
    :ivar body: bytes that came with it.
    :ivar mac: of the machine, where the request named one.
    """

    link = "answer"

    method: str
    target: str
    body: int
    mac: MAC | None = None
    status: int
    seconds: float


@frozen(kw_only=True)
class AnswerSent(_Answered):
    """
    What the machine received.

    :ivar family: of the document, what the line calls its format.
    :ivar machine: the identity whose document claimed the request, or empty.
    :ivar group: the group below it, or ``default``, or empty.
    """

    name = "answer.sent"
    sentence = (
        "{method} {target} body={body} {status} format={family} machine={machine} group={group} "
        "bytes={size}"
    )

    family: str
    machine: str
    group: str
    size: int
    outcome: str = "sent"


@frozen(kw_only=True)
class AnswerRefused(_Answered):
    """No document, a document that cannot be rendered, a method, a body over its bound."""

    name = "answer.refused"
    sentence = "{method} {target} body={body} {status} {reason}"
    problem = True

    reason: str


@frozen(kw_only=True)
class MachineInstalled(Event):
    """
    An installer said that it is done.

    :ivar disarmed: which documents were taken out of use, and where they are now.
    """

    name = "machine.installed"
    link = "installed"
    sentence = "POST /installed: {disarmed}"

    mac: MAC | None = None
    disarmed: str


@frozen(kw_only=True)
class AdminChanged(Event):
    """
    A document of the answer set that somebody wrote or removed over the admin listener.

    :ivar document: which one: its place and its format's file.
    :ivar outcome: ``stored`` or ``deleted``.
    :ivar size: bytes of what is there now.
    """

    name = "admin.changed"
    link = "admin"
    sentence = "admin: {outcome} {document} bytes={size}"

    document: str
    outcome: str
    size: int


@frozen(kw_only=True)
class AdminRefused(Event):
    """
    A change that was not made, or somebody who was not let in.

    :ivar path: without its query.
    """

    name = "admin.refused"
    link = "admin"
    sentence = "admin: {method} {path} {status} {reason}"
    problem = True

    method: str
    path: str
    status: int
    reason: str
