"""``If-Match`` and ``If-None-Match`` of a request, against bytes that may be changed."""

from collections.abc import Callable
from hashlib import sha256

from .ranges import select
from .request import Request

_CONDITIONS = ("if-match", "if-none-match")


def etag(data: bytes) -> str:
    """Strong and quoted: the same for the same bytes, wherever they are kept."""
    return f'"{sha256(data).hexdigest()}"'


def selected(request: Request, data: bytes) -> int:
    """:returns: 200, 304 or 412 as the conditions of ``request`` have it."""
    headers = [each for each in request.headers if each[0] in _CONDITIONS]
    return select("HEAD", headers, len(data), etag(data), 0).status


def condition_of(request: Request) -> Callable[[bytes | None], bool]:
    """:returns: what has to hold of the bytes that ``request`` changes; None: there are none."""

    def holds(held: bytes | None) -> bool:
        if held is None:
            return request.header("if-match") is None
        return selected(request, held) == 200

    return holds
