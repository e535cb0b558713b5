"""What a client asked over HTTP, as a value: no transport, no Twisted."""

from functools import cached_property
from urllib.parse import unquote_plus, unquote_to_bytes

from attrs import field, frozen

_NOTHING = ("", ".")


@frozen
class Request:
    """
    One request, head and body.

    :ivar method: as sent, upper case.
    :ivar target: the path and query as sent, undecoded.
    :ivar headers: ``(name, value)``, names lower-cased, in the order sent.
    :ivar peer: ``(address, port)`` of the client.
    :ivar body: all of it; bounded before this value exists.
    """

    method: str
    target: str
    peer: tuple[str, int]
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """
        The path's parts, each percent-decoded once; empty and ``.`` parts are left out, since
        installers join URLs with ``//`` and ``./``. ``..`` is kept: who walks a tree refuses it.
        """
        path = self.path
        parts = [part for part in path.split("/") if part not in _NOTHING]
        if "%" not in path:
            return tuple(parts)
        return tuple([unquote_to_bytes(each).decode("utf-8", "surrogateescape") for each in parts])

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """Pairs in the order sent, decoded, ``+`` as a blank; a malformed ``%zz`` stays itself."""
        _, _, text = self.target.partition("?")
        pairs = [part.partition("=") for part in text.split("&") if part]
        if "%" not in text and "+" not in text:
            return tuple([(name, value) for name, _, value in pairs])
        return tuple([(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs])

    def header(self, name: str) -> str | None:
        """:returns: the first value of ``name``, given in lower case."""
        return next((value for key, value in self.headers if key == name), None)
