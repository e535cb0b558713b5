"""The head of an HTTP/1 request: RFC 9112, and nothing that it leaves to interpretation."""

import re
from functools import lru_cache
from typing import Final

from attrs import frozen

from ..errors import MalformedRequest

#: Request line and headers together.
MAX_HEAD: Final = 16 * 1024
MAX_TARGET: Final = 8 * 1024
MAX_HEADERS: Final = 100
SHORT: Final = 512
CHUNKED: Final = -1
END: Final = b"\r\n\r\n"

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
#: The whole of it at once. Possessive throughout: no input makes it look twice.
_HEAD = re.compile(
    rb"(" + _TOKEN + rb"{1,32}+) ([!-~]++) HTTP/1\.([0-9])\r\n"
    rb"((?:" + _TOKEN + rb"++:[\t -~\x80-\xff]*+\r\n)*+)\r\n"
)
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb"++) ([!-~]++) HTTP/([0-9])\.([0-9])\r\n")
_BEGINNING = re.compile(_TOKEN + rb"{1,32}+(?: |\Z)")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
#: Headers that say how the message is framed, or what becomes of the connection.
_FRAMING = frozenset(("content-length", "transfer-encoding", "connection", "expect", "host"))
_MAX_DIGITS = 19


class Unreadable(MalformedRequest):
    """
    A head that cannot be answered as asked; the connection ends with it.

    :ivar status: what the client is told.
    """

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@frozen
class Head:
    """
    What a request begins with.

    :ivar target: in origin form: path and query as sent, undecoded.
    :ivar headers: ``(name, value)``, names lower-cased, in the order sent.
    :ivar length: of the body that follows, or :data:`CHUNKED`.
    :ivar old: HTTP/1.0.
    :ivar persistent: whether another request may follow on this connection.
    :ivar expects: whether the client waits to be told to send its body.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    length: int = 0
    old: bool = False
    persistent: bool = True
    expects: bool = False


def check_beginning(data: bytes) -> None:
    """
    Look at a head whose end is still missing.

    :raises Unreadable: as soon as no end could make it a request: nobody waits for a deadline.
    """
    if len(data) > MAX_HEAD:
        raise _too_large(data)
    if data[:1] == b"\x16":
        raise Unreadable("a TLS hello on a plain port")
    line_end = data.find(b"\n")
    if line_end < 0:
        if len(data) > MAX_TARGET + 64:
            raise _too_large(data)
        if _BEGINNING.match(data) is None:
            raise Unreadable("not an HTTP request line")
    elif _REQUEST_LINE.match(data) is None:
        raise _explain(data)


@frozen
class Fields:
    """
    What the headers of a request say.

    :ivar headers: as :class:`Head` has them, and so the others.
    """

    headers: tuple[tuple[str, str], ...]
    length: int = 0
    persistent: bool = True
    expects: bool = False


def parse(data: bytes) -> Head:
    """
    :param data: up to and including the empty line.
    :raises Unreadable: and nothing else, whatever ``data`` holds.
    """
    match = _HEAD.fullmatch(data)
    if match is None or len(data) > MAX_HEAD:
        raise _explain(data)
    method, raw_target, minor, block = match.groups()
    if len(raw_target) > MAX_TARGET:
        raise Unreadable("a target of more than 8 KiB", 414)
    old = minor == b"0"
    target = raw_target.decode("ascii")
    if target[0] != "/":
        target = _origin(target, method)
    # No two ranges of an image are the same; other machines of a rack differ in their target.
    again = len(block) <= SHORT and b"Range:" not in block
    fields = _fields_again(block, old) if again else _fields(block, old)
    return Head(
        method.decode("ascii"),
        target,
        fields.headers,
        fields.length,
        old,
        fields.persistent,
        fields.expects,
    )


@lru_cache(256)
def parse_again(data: bytes) -> Head:
    """
    :func:`parse` for heads that come again and again: those of a whole rack are the same.

    :param data: no longer than :data:`SHORT`: what is remembered is bounded.
    """
    return parse(data)


def _fields(block: bytes, old: bool) -> Fields:
    """
    :param block: the lines of the headers.
    :raises Unreadable: where they do not say how long the request is, and the like.
    """
    headers = []
    framing: list[tuple[str, str]] = []
    for line in block.decode("latin-1").split("\r\n")[:-1]:
        name, _, value = line.partition(":")
        pair = name.lower(), value.strip(" \t")
        headers.append(pair)
        if pair[0] in _FRAMING:
            framing.append(pair)
    if len(headers) > MAX_HEADERS:
        raise Unreadable(f"more than {MAX_HEADERS} headers", 431)
    if len(framing) == 1 and framing[0][0] == "host" and not old:  # the everyday request
        return Fields(tuple(headers))
    return _framed(tuple(headers), framing, old)


@lru_cache(256)
def _fields_again(block: bytes, old: bool) -> Fields:
    """For headers that come again and again."""
    return _fields(block, old)


def _framed(
    headers: tuple[tuple[str, str], ...], framing: list[tuple[str, str]], old: bool
) -> Fields:
    hosts = sum(1 for name, _ in framing if name == "host")
    if hosts > 1 or (hosts == 0 and not old):
        raise Unreadable(f"{hosts} Host headers")
    lengths = [value for name, value in framing if name == "content-length"]
    codings = [value.lower() for name, value in framing if name == "transfer-encoding"]
    length = 0
    if codings:
        # Two notions of where the body ends are how requests are smuggled: RFC 9112 section 6.1.
        if lengths or old:
            raise Unreadable("Transfer-Encoding beside Content-Length, or in HTTP/1.0")
        if codings != ["chunked"]:
            raise Unreadable(f"transfer coding {', '.join(codings)[:64]!r}", 501)
        length = CHUNKED
    elif lengths:
        if len(lengths) > 1 or not _is_number(lengths[0]):
            raise Unreadable("a Content-Length that is not one number")
        length = int(lengths[0])
    expectations = {value.lower() for name, value in framing if name == "expect"}
    if expectations - {"100-continue"}:
        raise Unreadable("an expectation that is not 100-continue", 417)
    options = {
        option.strip(" \t").lower()
        for name, value in framing
        if name == "connection"
        for option in value.split(",")
    }
    persistent = "close" not in options and (not old or "keep-alive" in options)
    expects = bool(expectations) and not old and length != 0
    return Fields(headers, length, persistent, expects)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _origin(target: str, method: bytes) -> str:
    """The path and query of an absolute target, as proxies and some BMCs send it."""
    match = _ABSOLUTE.match(target)
    if match is not None:
        rest = target[match.end() :]
        return rest if rest.startswith("/") else f"/{rest}"
    if target == "*" and method == b"OPTIONS":
        return target
    raise Unreadable("a target that is neither a path nor a URL")


def _too_large(data: bytes) -> Unreadable:
    if b"\r\n" not in data[: MAX_TARGET + 64]:
        return Unreadable("a request line of more than 8 KiB", 414)
    return Unreadable("a head of more than 16 KiB", 431)


def _explain(data: bytes) -> Unreadable:
    """Why a head did not match: the slow way, for the log and the status."""
    if len(data) > MAX_HEAD:
        return _too_large(data)
    line = _REQUEST_LINE.match(data)
    if line is None:
        return Unreadable("not an HTTP request line")
    if line[3] != b"1":
        return Unreadable("a version of HTTP that is not 1", 505)
    if len(line[1]) > 32:
        return Unreadable("a method of more than 32 letters", 501)
    return Unreadable("a header that is not NAME: VALUE")
