"""What a BMC is asked and answers, as values."""

import json
from collections.abc import Mapping
from enum import Enum

from attrs import field, frozen

from .switches import Switch, Switches

Document = dict[str, object]


class Rude(Enum):
    """What happens to an answer on its way."""

    HANG = "hang"  # it never comes
    CUT = "cut"  # half of it comes
    DROP = "drop"  # the connection is closed instead


@frozen
class Ask:
    """
    One request.

    :ivar path: as sent, without the query. :ivar headers: by their names in lower case.
    :ivar fresh: a token that nobody can guess, for a session that this may make.
    :ivar at_once: requests that are being answered, this one too.
    :ivar again: whether its connection has had a 500 before.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    now: float
    fresh: str = field(repr=False)
    at_once: int = 1
    again: bool = False

    @property
    def place(self) -> str:
        """The path without a slash at its end."""
        return self.path.rstrip("/")

    @property
    def document(self) -> Document | None:
        """:returns: the body; None where it is no object."""
        try:
            told = json.loads(self.body)
        except ValueError:
            return None
        return told if isinstance(told, dict) else None


@frozen
class Answer:
    """
    One reply.

    :ivar document: None: an empty body. :ivar raw: a body that is no document.
    """

    status: int = 200
    document: object = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes = b""
    rude: Rude | None = None

    @property
    def body(self) -> bytes:
        if self.document is None:
            return self.raw
        return json.dumps(self.document).encode()


NOTHING = Answer(204)


def refusal(
    switches: Switches,
    status: int,
    message: str,
    text: str,
    *,
    related: tuple[str, ...] = (),
    args: tuple[str, ...] = (),
) -> Answer:
    """
    :param message: of the Base registry; or with a registry of its own before it.
    :param related: properties that it is about. :param args: of the message.
    """
    bare = message.rpartition(".")[2]
    full = message if "." in message else f"Base.1.8.{message}"
    named = bare if Switch.BARE_MESSAGE_IDS in switches else full
    told: Document = {
        "MessageId": named,
        "Message": text,
        "MessageArgs": list(args),
        "RelatedProperties": list(related),
        "Severity": "Critical",
        "Resolution": "None.",
    }
    info: object = told if Switch.EXTENDED_OBJECT in switches else [told]
    error = {"code": "Base.1.8.GeneralError", "message": text, "@Message.ExtendedInfo": info}
    return Answer(status, {"error": error})
