"""What a server's answer to a pull means: which bytes come, or why none do."""

import re
from collections.abc import Callable
from typing import Final

from attrs import frozen
from hyperlink import URL

from ..contract.sources import image_url
from ..errors import Malformed, Refused, Unavailable

#: Redirects of one pull that are followed.
REDIRECTS: Final = 3
_MOVED = (301, 302, 303, 307, 308)
#: What another try may get past.
_PASSING = (408, 425, 429)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})", re.ASCII)
_STRONG = re.compile(r'"[\x21\x23-\x7e]{0,250}"', re.ASCII)

#: The one value of a header by its name in lower case; None: there is none, or there are several.
Header = Callable[[str], str | None]


@frozen
class Known:
    """
    What is known of an image that is being pulled.

    :ivar have: bytes that are here.
    :ivar etag: of the answer that they came in, where it was a strong one.
    :ivar length: of the whole image, where it is known.
    """

    have: int = 0
    etag: str = ""
    length: int | None = None

    @property
    def whole(self) -> bool:
        """Whether all of it is here."""
        return self.length is not None and self.have == self.length

    @property
    def asks(self) -> tuple[tuple[str, str], ...]:
        """:returns: the headers that ask for the rest alone; none, where that would be a guess."""
        if not (self.have and self.etag):
            return ()
        return ("Range", f"bytes={self.have}-"), ("If-Range", self.etag)


def opened(status: int, header: Header, known: Known) -> Known:
    """
    :returns: what is known now: the next byte is the one after ``have``.
    :raises Unavailable: when there are none now; asking again may help.
    :raises Refused: when the server has none for us.
    """
    if status == 200:
        return Known(0, _strong(header), _length(header("content-length")))
    if status == 206 and known.asks:
        return _resumed(header, known)
    if status >= 500 or status in _PASSING:
        raise Unavailable(f"the server answers {status}")
    if status == 416 and known.asks:
        raise _other(known)
    raise Refused(f"the server answers {status}")


class Changed(Unavailable):
    """What is here is of no use any more: begin anew."""

    code = "changed"


def _other(known: Known) -> Changed:
    return Changed(f"the server has no more the image of which {known.have} bytes are here")


def _resumed(header: Header, known: Known) -> Known:
    match = _RANGE.fullmatch(header("content-range") or "")
    if match is None:
        raise _other(known)
    first, last, whole = map(int, match.groups())
    same = first == known.have and last + 1 == whole and known.length in (None, whole)
    length = _length(header("content-length"))
    if not same or length not in (None, whole - first) or _strong(header) not in ("", known.etag):
        raise _other(known)
    return Known(known.have, known.etag, whole)


def _strong(header: Header) -> str:
    etag = header("etag") or ""
    return etag if _STRONG.fullmatch(etag) else ""


def _length(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def moved(status: int, header: Header, url: URL) -> URL | None:
    """
    :param url: that was asked.
    :returns: where the server sends us, without a user's name; None: nowhere.
    :raises Refused: when that is no place to go.
    """
    if status not in _MOVED:
        return None
    try:
        there = image_url(url.click(header("location") or "").to_text())
    except (Malformed, ValueError, NotImplementedError) as e:  # hyperlink has no "0:"
        said = f": {e}" if isinstance(e, Malformed) else ""
        raise Refused(f"the server redirects to where nothing is pulled from{said}") from None
    return there.replace(userinfo="")


def shown(url: URL) -> str:
    """:returns: ``url`` for a log: without what may be secret, a user's name and a query."""
    return url.replace(userinfo="", query=()).to_text()
