"""A reply, decided to the last byte but for what is the connection's own."""

import re

from attrs import field, frozen

from ..values import Content, Extent

Headers = tuple[tuple[str, str], ...]

#: Never a control character: no header ends early or begins another.
_VALUE = re.compile(r"[\t -~\x80-\xff]*")


@frozen
class Decided:
    """
    What goes out.

    :ivar headers: without ``Date``, ``Server`` and ``Connection``.
    :ivar body: bytes in memory; empty for HEAD, as ``spans`` are.
    :ivar content: the file that ``spans`` are of.
    :ivar spans: which bytes of the file that holds the content, in order.
    :ivar size: of the entity, whole.
    :ivar lines: ``headers`` :func:`rendered` already, where they go out again and again.
    """

    status: int
    headers: Headers
    body: bytes = field(default=b"", repr=False)
    content: Content | None = None
    spans: tuple[Extent, ...] = ()
    size: int = 0
    lines: bytes = field(default=b"", repr=False)

    @property
    def length(self) -> int:
        """Bytes of the body that will leave."""
        if len(self.spans) == 1:
            return self.spans[0].length
        return len(self.body) or sum([span.length for span in self.spans])


def rendered(headers: Headers) -> bytes:
    """``headers`` as they go out."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")


def checked(headers: Headers) -> Headers:
    """
    :returns: those that go out: an empty value locks OVMF up (W155).
    :raises ValueError: for a value that would end its header early.
    """
    for name, value in headers:
        if not _VALUE.fullmatch(value):
            raise ValueError(f"not a header value: {name}: {value!r}")
    return tuple(each for each in headers if each[1])
