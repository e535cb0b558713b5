"""What a GET of a file gets: all of it, a part of it, or word that it need not be sent."""

import re
from collections.abc import Iterable

from attrs import frozen

from .dates import parse_date

CONDITIONS = frozenset(
    ("range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since")
)
#: What firmware and image readers send.
_EVERYDAY = re.compile(r"bytes=([0-9]{1,18})-([0-9]{1,18})")
_SPAN = re.compile(r"([0-9]*)-([0-9]*)")
#: More digits than any file has bytes; they are compared, never converted.
_DIGITS = 18
_ENTITY_TAG = re.compile(r'(W/)?("[^"]*")')


@frozen
class Selection:
    """
    :ivar status: 200, 206, 304, 412 or 416.
    :ivar start: of the bytes to send, within the file.
    :ivar length: of them; 0 where none are.
    """

    status: int
    start: int = 0
    length: int = 0


def select(
    method: str, headers: Iterable[tuple[str, str]], size: int, etag: str, modified: int
) -> Selection:
    """
    Evaluate the conditions of a request in the order of RFC 9110 section 13.2.2.

    :param headers: of the request, names in lower case.
    :param etag: strong and quoted.
    :param modified: Unix time; 0 where it is not known.
    """
    given: dict[str, str] = {}
    for name, value in headers:
        if name in CONDITIONS:  # a list in several lines is one list: section 5.3
            given[name] = f"{given[name]}, {value}" if name in given else value
    if not given:
        return Selection(200, 0, size)
    if len(given) == 1 and "range" in given and method == "GET":
        return _span(given["range"], size)
    if "if-match" in given:
        if not _matches(given["if-match"], etag, weakly=False):
            return Selection(412)
    elif _compare(given.get("if-unmodified-since"), modified) is False:
        return Selection(412)
    if "if-none-match" in given:
        if _matches(given["if-none-match"], etag, weakly=True):
            return Selection(304)
    elif _compare(given.get("if-modified-since"), modified):
        return Selection(304)
    # Section 14.2: for HEAD there are no ranges. Firmware asks it for the whole length (W150).
    if "range" not in given or method != "GET" or not _applies(given, etag, modified):
        return Selection(200, 0, size)
    return _span(given["range"], size)


def _matches(tags: str, etag: str, *, weakly: bool) -> bool:
    if tags.strip() == "*":
        return True
    return any(tag == etag and (weakly or not weak) for weak, tag in _ENTITY_TAG.findall(tags))


def _compare(date: str | None, modified: int) -> bool | None:
    """:returns: whether the file is no newer than ``date``; None where that cannot be said."""
    at = parse_date(date) if date is not None and modified else None
    return None if at is None else modified <= at


def _applies(given: dict[str, str], etag: str, modified: int) -> bool:
    """Whether ``If-Range``, if there is one, names the very file that is here: else no splicing."""
    validator = given.get("if-range")
    if validator is None or validator == etag:
        return True
    return bool(modified) and parse_date(validator) == modified


def _span(text: str, size: int) -> Selection:
    match = _EVERYDAY.fullmatch(text)
    if match is not None:
        start, end = int(match[1]), min(int(match[2]), size - 1)
        return Selection(206, start, end - start + 1) if start <= end else Selection(416)
    unit, _, spec = text.partition("=")
    if unit.lower() != "bytes" or "," in spec or "-" not in spec:
        # Not understood, or several: the whole is always a true answer, and never larger than
        # what a list of overlapping ranges would add up to (W182).
        return Selection(200, 0, size)
    match = _SPAN.fullmatch(spec.strip(" \t"))
    if match is None:
        # ``u-u`` and negative offsets come from loaders that are built wrong (W164): they get
        # an error at once, not 5 GB they cannot use.
        return Selection(416)
    first, last = match.groups()
    if len(text) > _DIGITS:  # leading zeros are no reason to convert any number of digits
        first, last = (each.lstrip("0") or each[:1] for each in (first, last))
    if not first:
        length = size if len(last) > _DIGITS else min(int(last or "0"), size)
        if not length:
            return Selection(416)
        return Selection(206, size - length, length)
    if len(first) > _DIGITS or int(first) >= size:
        return Selection(416)
    start = int(first)
    end = size - 1 if not last or len(last) > _DIGITS else min(int(last), size - 1)
    if end < start:
        return Selection(416)
    return Selection(206, start, end - start + 1)
