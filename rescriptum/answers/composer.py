"""Layers to what is served: composed once for each combination, and remembered."""

from collections import OrderedDict
from collections.abc import Sequence
from sys import getsizeof
from threading import Lock
from weakref import ref

from ..errors import MalformedDocument
from .documents import Document
from .template import Template

Layers = tuple[Document, ...]
Body = bytes | Template

#: Of what is remembered, in bytes, roughly.
ROOM = 64 * 1024 * 1024
#: What one more remembered composition costs beside its text.
_OVERHEAD = 512


def broken(document: Document) -> MalformedDocument:
    """The error that a broken document's requests get."""
    return MalformedDocument(f"{document.source}: {document.error}")


def compose(layers: Sequence[Document]) -> Body:
    """
    :param layers: of one format, the lowest first.
    :raises MalformedDocument: when one of them is broken, or they do not go together.
    """
    for each in layers:
        if each.error:
            raise broken(each)
    top = layers[-1]
    if len(layers) == 1 and not top.control and not top.placeholders:
        return top.data  # byte for byte as it is stored
    try:
        return top.format.family.compose([each.data for each in layers])
    except MalformedDocument as e:
        where = " over ".join(each.source for each in reversed(layers))
        raise MalformedDocument(f"{where}: {e}") from None


class Composer:
    """
    Composes, and remembers the result while the documents are the same ones; for any thread.
    Documents that have changed since are not held.

    :param room: in bytes; what was not asked for the longest is forgotten first.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._known: OrderedDict[tuple[ref[Document], ...], Body] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """How many compositions are remembered."""
        return len(self._known)

    def known(self, layers: Layers) -> Body | None:
        """:returns: what they make where that costs nothing; None where it has to be composed."""
        top = layers[-1]
        if len(layers) == 1 and not (top.placeholders or top.error or top.control):
            return top.data
        documents = tuple(map(ref, layers))
        with self._lock:
            body = self._known.get(documents)
            if body is not None:
                self._known.move_to_end(documents)
            return body

    def body(self, layers: Layers) -> Body:
        """:raises MalformedDocument: as :func:`compose` does."""
        body = self.known(layers)
        if body is None:
            body = compose(layers)
            documents = tuple(map(ref, layers))
            with self._lock:
                if documents not in self._known:
                    self._known[documents] = body
                    self._size += _size(body)
                while self._size > self._room and self._known:
                    _, oldest = self._known.popitem(last=False)
                    self._size -= _size(oldest)
        return body


def _size(body: Body) -> int:
    if isinstance(body, bytes):
        return _OVERHEAD + len(body)
    parts = (getsizeof(part) if isinstance(part, str) else _OVERHEAD for part in body.parts)
    return _OVERHEAD + sum(parts)
