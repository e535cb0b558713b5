"""What is asked, what comes back, and what a BMC means by it when it says no."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from attrs import field, frozen

from ...contract.bmc import BmcRefusal
from ...values import printable, without_beginning
from .documents import Document, decoded, inner, path_of, text, texts

#: Characters of what a BMC said that are repeated.
_SAID: Final = 400
#: Messages of an error that are looked at.
_MESSAGES: Final = 16
#: Characters of a secret that is taken out of errors, and out of data: shorter ones are words, too.
_HIDDEN, _HIDDEN_IN_DATA = 3, 6


@frozen
class Ask:
    """
    One request.

    :ivar path: on the BMC. :ivar headers: may hold a secret.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)

    @property
    def writes(self) -> bool:
        return self.method not in ("GET", "HEAD")


@frozen
class Reply:
    """:ivar headers: by lower-case name; may hold a secret."""

    status: int
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def fine(self) -> bool:
        return 200 <= self.status < 300

    def document(self) -> Document:
        """:raises BmcRefusal: ``bad-response``."""
        return decoded(self.body)


class Dropped(BmcRefusal):
    """A connection that ended, or brought no HTTP, after a request had gone out on it."""


class Transport(Protocol):
    """One BMC, one request at a time."""

    async def ask(self, ask: Ask, seconds: float) -> Reply:
        """
        :raises Dropped: when no whole answer came.
        :raises BmcRefusal: ``unreachable``, ``tls-error``, ``pin-mismatch``, ``timeout``, and
            ``bad-response`` for an answer that is too long.
        """

    async def pause(self, seconds: float) -> None:
        """Wait."""

    def now(self) -> float:
        """:returns: seconds of some clock."""


@frozen
class Message:
    """
    One of an error's.

    :ivar name: of the message, without its registry, whether it had one or not (W212).
    """

    name: str
    said: str
    args: tuple[str, ...] = ()


def messages(document: Document) -> tuple[Message, ...]:
    """:returns: whatever the document says of itself: a list, or one object (W212)."""
    holders = (inner(document, "error"), document)
    made: list[Message] = []
    for holder in holders:
        found = holder.get("@Message.ExtendedInfo")
        listed: Sequence[object] = found if isinstance(found, list) else [found]
        for each in listed[:_MESSAGES]:
            entry = inner(each)
            said = text(entry, "Message") or text(entry, "Resolution")
            name = text(entry, "MessageId").rpartition(".")[2]
            if name or said:
                made.append(Message(name, said, texts(entry, "MessageArgs") or ()))
    error = holders[0]
    if not made and (text(error, "code") or text(error, "message")):
        made.append(Message(text(error, "code").rpartition(".")[2], text(error, "message")))
    return tuple(made)


def explained(reply: Reply) -> tuple[Message, ...]:
    """:returns: the messages of an answer that may be no JSON at all."""
    try:
        return messages(reply.document())
    except BmcRefusal:
        first = printable(reply.body[:_SAID].decode("utf-8", "replace").strip())
        return (Message("", first),) if first else ()


#: Whoever logs in must change the password first (W244).
CHANGE_FIRST: Final = frozenset({"PasswordChangeRequired", "SWC1908"})
#: What holds for as long as a machine tests itself, or another job goes on (W224, W228).
BUSY: Final = frozenset(
    {
        "InvalidOperationForSystemState",
        "UnableToModifyDuringSystemPOST",
        "ResourceInUse",
        "ServiceTemporarilyUnavailable",
        "SYS518",
        "SYS011",
    }
)
_BY_STATUS: Final = {
    401: "auth-failed",
    404: "not-found",
    405: "unsupported-operation",
    409: "conflict",
    410: "not-found",
    412: "conflict",
    428: "conflict",
    501: "unsupported-operation",
    503: "conflict",
}
_BY_MESSAGE: Final = {
    "ActionNotSupported": "unsupported-operation",
    "AccountLocked": "auth-failed",
    "ServiceShuttingDown": "conflict",
    **dict.fromkeys(CHANGE_FIRST, "auth-failed"),
    **dict.fromkeys(BUSY, "conflict"),
}


class Declined(BmcRefusal):
    """
    An answer that says no.

    :ivar reply: the answer. :ivar messages: of it.
    """

    def __init__(self, code: str, detail: str, reply: Reply, said: tuple[Message, ...]) -> None:
        super().__init__(code, detail)
        self.reply = reply
        self.messages = said

    def names(self, *names: str) -> bool:
        """:returns: whether it speaks of one of these, in a message's name, text or arguments."""
        spoken = [(each.name, each.said, *each.args) for each in self.messages]
        return any(name in part for parts in spoken for part in parts for name in names)

    @property
    def busy(self) -> bool:
        """Whether asking again in a while may help."""
        return self.reply.status == 503 or any(each.name in BUSY for each in self.messages)

    @property
    def change_first(self) -> bool:
        return any(each.name in CHANGE_FIRST for each in self.messages)


def declined(reply: Reply, masked: "Mask") -> Declined:
    """:returns: what an answer means that is no success."""
    said = explained(reply)
    code = next((_BY_MESSAGE[each.name] for each in said if each.name in _BY_MESSAGE), "")
    code = code or _BY_STATUS.get(reply.status, "")
    if not code:
        code = "refused" if 400 <= reply.status < 500 else "failed"
        code = code if reply.status >= 400 else "bad-response"
    words = "; ".join(dict.fromkeys(masked(each.said or each.name) for each in said))
    detail = f"HTTP {reply.status}" + (f": {words}" if words else "")
    if 300 <= reply.status < 400:
        detail = f"HTTP {reply.status}: it sends elsewhere, which is not followed"
    if any(each.name in CHANGE_FIRST for each in said):
        detail += " (the password must be changed first: management.rotateCredential)"
    return Declined(code, masked(detail)[:_SAID], reply, said)


@frozen(repr=False)
class Mask:
    """Takes secrets out of texts: a BMC may repeat in an error what it was sent."""

    _secrets: tuple[str, ...]

    @classmethod
    def of(cls, *secrets: str) -> "Mask":
        """:param secrets: longest first, so that none stays as a piece of another."""
        kept = {each for each in secrets if len(each) >= _HIDDEN}
        spelt = kept | {printable(each) for each in kept}
        return cls(tuple(sorted(spelt, key=len, reverse=True)))

    def __call__(self, said: str) -> str:
        for each in self._secrets:
            said = said.replace(each, "***")
        for each in self._secrets:  # what is long was cut
            said = without_beginning(said, each, _HIDDEN_IN_DATA, "***")
        return said

    def document(self, value: object) -> object:
        """:returns: the same data without any that is longer than most words."""
        long = Mask(tuple(each for each in self._secrets if len(each) >= _HIDDEN_IN_DATA))
        return long._walked(value)

    def _walked(self, value: object) -> object:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(str(name)): self._walked(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._walked(each) for each in value]
        return value


def same_with_slash(asked: str, location: str, origin: str) -> str:
    """
    :param asked: the path. :param location: of a redirect. :param origin: scheme, host and port, as
        URLs of the BMC begin.
    :returns: the path with a slash at its end, when that is where it leads, on the same origin
        (W202); empty for anywhere else.
    """
    path, question, query = asked.partition("?")
    wanted = f"{path}/{question}{query}"
    if path.endswith("/"):
        return ""
    if location == wanted or location.lower() == f"{origin}{wanted}".lower():
        return wanted if location.endswith(wanted) else ""
    return ""


def retry_after(reply: Reply) -> int:
    """:returns: seconds, as the answer says; 0 when it says none that are few."""
    said = reply.headers.get("retry-after", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 4 else 0


def location(reply: Reply) -> str:
    """:returns: its path alone (W241); empty without one."""
    return path_of(reply.headers.get("location"))
