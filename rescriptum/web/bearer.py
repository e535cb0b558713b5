"""Bearer tokens: RFC 6750 section 2.1, the header alone."""

import re

from ..values import Secret
from .request import Request

#: What a 401 carries: RFC 9110 section 15.5.2.
CHALLENGE = (("WWW-Authenticate", "Bearer"),)

_BEARER = re.compile(r"bearer +([!-~]+) *", re.I)


def presented(request: Request) -> str | None:
    """:returns: the token; None where there is none, or more than one header that may hold one."""
    given = [value for name, value in request.headers if name == "authorization"]
    match = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    return match[1] if match is not None else None


def bears(request: Request, token: Secret) -> bool:
    """:returns: whether ``request`` presents ``token``; compared in constant time."""
    given = presented(request)
    return given is not None and token.matches(given)
