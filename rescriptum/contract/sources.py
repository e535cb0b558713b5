"""Where images come from, and what they are known by."""

import re
from typing import Final

from hyperlink import URL

from ..errors import Malformed

#: Characters of the URL of an image; of one that a server sends on to.
LONGEST: Final = 2048
_LONGEST: Final = 4096
_SCHEMES: Final = ("http", "https")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def is_digest(text: str) -> bool:
    """:returns: whether it is a SHA-256 in lower-case hex, as images and their files are called."""
    return _DIGEST.fullmatch(text) is not None


def image_url(text: str, longest: int = _LONGEST) -> URL:
    """
    :param longest: characters: :data:`LONGEST` of one that somebody names.
    :returns: a URL that an image may be pulled from.
    :raises Malformed: unless it is an absolute one of HTTP or HTTPS. What is said of it does not
        repeat it: there may be a secret in it.
    """
    if len(text) > longest or not (text.isascii() and text.isprintable()) or " " in text:
        raise Malformed(f"not a URL of printable ASCII, up to {longest} characters")
    try:
        url = URL.from_text(text)
    except ValueError:
        raise Malformed("not a URL") from None
    scheme = url.scheme.lower()
    if scheme not in _SCHEMES or not url.host:
        raise Malformed("only http:// and https:// URLs are pulled")
    if url.port is not None and not 0 < url.port < 65536:
        raise Malformed("not a port")
    return url.replace(scheme=scheme, fragment="")
