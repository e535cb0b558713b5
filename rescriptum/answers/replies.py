"""Replies to requests that come again in the same words: a retry, a rack that is booted twice."""

from typing import Generic, NamedTuple, TypeVar

from .answerset import AnswerSet

_T = TypeVar("_T")

#: Of all that is remembered, in bytes, roughly.
ROOM = 32 * 1024 * 1024
#: What one costs beside its texts; a body that was parsed costs several times its length.
_OVERHEAD, _PARSED = 2048, 16


class Words(NamedTuple):
    """
    All of a request that its reply depends on.

    :ivar target: path and query as sent; ``peer``: the address that asks.
    :ivar kind: what the body is said to be.
    """

    target: str
    peer: str
    body: bytes = b""
    kind: str = ""


class Replies(Generic[_T]):
    """
    What an answer set made of requests. The same words from the same address are the same facts,
    and of the same set they make the same reply: so it is forgotten with the set, and when there
    is no room for another.

    :param room: in bytes.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._left = room
        self._answers: AnswerSet | None = None
        self._known: dict[Words, _T] = {}

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def get(self, answers: AnswerSet, words: Words) -> _T | None:
        """:returns: the reply, or None where it has to be made."""
        return self._known.get(words) if answers is self._answers else None

    def put(self, answers: AnswerSet, words: Words, reply: _T, size: int) -> None:
        """
        Remember ``reply``, made of ``answers``.

        :param size: of what is in it, in bytes.
        """
        cost = _OVERHEAD + len(words.target) + _PARSED * len(words.body) + size
        if answers is not self._answers or cost > self._left:
            self._answers, self._left = answers, self._room
            self._known.clear()
        if cost <= self._left:
            self._left -= cost
            self._known[words] = reply
