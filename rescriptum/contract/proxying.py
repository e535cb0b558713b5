"""``site.httpProxy``: one HTTP request that a site agent makes to a machine without an agent."""

import base64
import gzip
from enum import Enum
from typing import Final

from attrs import evolve, field, frozen

from . import bounds
from .bounds import LARGEST, many, number, text
from .commands import LONGEST_RESULT, Result
from .structure import rendered

#: Seconds until a request is given up: where nothing that makes sense is said, and at the most.
USUAL_SECONDS, LONGEST_SECONDS = 30, 60
#: Characters of a URL, and of a request's body in base64.
LONGEST_URL, LONGEST_SENT = 2048, 44 * 1024
#: Fields of a request, of each sort.
HEADERS = 64
#: Bytes of an answer that are read: of its head, and of its body.
LONGEST_HEAD, LONGEST_BODY = 16 * 1024, 1024 * 1024
#: What a result has beside its data.
_AROUND: Final = len(rendered(Result(True, "ok")))


class Encoding(Enum):
    """What was done to a body before base64."""

    NONE = ""
    GZIP = "gzip"


@frozen
class HttpHeader:
    """One field of a request or an answer."""

    name: str = field(validator=text(LONGEST_HEAD))
    value: str = field(repr=False, validator=text(LONGEST_HEAD, empty=True))


@frozen
class SecretHeader:
    """A field of a request. :ivar ref: the secret that is its value."""

    name: str = field(validator=text())
    ref: str = field(validator=bounds.name())


@frozen
class HttpProxyRequest:
    """
    The payload.

    :ivar target_node_id: that the URL's host has to be an address of, in the site's
        ``proxy_targets``.
    :ivar method: GET, POST, PUT or DELETE; empty: GET.
    :ivar body: in base64. :ivar pin: of the server's own key, for https; empty: the system's trust
        store decides, by the URL's host.
    :ivar timeout_s: 1 to 60 seconds for all of it; any other number: 30.
    """

    target_node_id: str = field(validator=bounds.name())
    url: str = field(repr=False, validator=text(LONGEST_URL))
    method: str = field(default="", validator=text(empty=True))
    headers: tuple[HttpHeader, ...] = field(default=(), validator=many(HEADERS))
    secret_headers: tuple[SecretHeader, ...] = field(default=(), validator=many(HEADERS))
    body: str = field(default="", repr=False, validator=text(LONGEST_SENT, empty=True))
    pin: str = field(default="", validator=text(empty=True))
    timeout_s: int = field(default=0, validator=number(-LARGEST))

    @property
    def seconds(self) -> int:
        """Until it is given up."""
        return self.timeout_s if 0 < self.timeout_s <= LONGEST_SECONDS else USUAL_SECONDS


@frozen
class HttpProxyResult:
    """
    The data of its result.

    :ivar status: of the answer, whatever it is: redirects are not followed.
    :ivar headers: sorted by name; those of the connection itself are left out.
    :ivar body: in base64. :ivar encoding: ``gzip``: its bytes were compressed before that, as they
        would not have fitted otherwise; empty: they are as they came.
    :ivar truncated: whether the answer had more of a body.
    """

    status: int = field(validator=number(100, 999))
    headers: tuple[HttpHeader, ...] = ()
    body: str = field(default="", repr=False)
    encoding: Encoding = Encoding.NONE
    truncated: bool = False

    @classmethod
    def of(
        cls, status: int, headers: tuple[HttpHeader, ...], body: bytes, truncated: bool
    ) -> "HttpProxyResult":
        """:returns: as much of ``body`` as a command's result can carry."""
        made = cls(status, tuple(sorted(headers, key=lambda each: each.name)))
        made = evolve(made, truncated=truncated)
        said = len(rendered(evolve(made, encoding=Encoding.GZIP)))
        room = (LONGEST_RESULT - _AROUND - said) // 4 * 3
        if len(body) <= room:
            return evolve(made, body=_base64(body))
        packed = gzip.compress(body, 1, mtime=0)
        if len(packed) <= room:
            return evolve(made, body=_base64(packed), encoding=Encoding.GZIP)
        return evolve(made, body=_base64(body[:room]), truncated=True)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
