"""
A range asked for in the very words of the one before it.

Who reads an image over HTTP asks for thousands of small pieces on one connection, and only the
numbers differ (W163). Such a head need not be parsed, nor its route asked, again and again.
"""

import re
from typing import Self

from attrs import frozen

from ..values import Extent
from .decided import Decided, rendered
from .reply import FileReply
from .request import Request
from .routing import Application

_HEAD = re.compile(
    rb"(GET [^\r\n]+ HTTP/1\.1\r\n(?:[^\r\n]+\r\n)*[Rr]ange: bytes=)"
    rb"[0-9]{1,18}-[0-9]{1,18}(\r\n(?:[^\r\n]+\r\n)*\r\n)"
)
_NUMBERS = re.compile(rb"([0-9]{1,18})-([0-9]{1,18})")
#: What ``decide`` puts first into the reply to a range.
_OWN = ("Content-Type", "Content-Length", "Content-Range")


@frozen
class Again:
    """
    A head that was answered with a part of a file, and what another one like it gets.

    :ivar before: the head's bytes up to the numbers of the range; ``after`` those behind them.
    :ivar request: the first of them; the others differ in the numbers alone.
    :ivar tick: within which all of this is believed; the route may say otherwise in the next.
    """

    before: bytes
    after: bytes
    request: Request
    application: Application
    answer: FileReply
    lines_before: bytes
    lines_after: bytes
    tick: int

    @classmethod
    def of(
        cls,
        head: bytes,
        request: Request,
        application: Application,
        answer: FileReply,
        decided: Decided,
        tick: int,
    ) -> Self | None:
        """
        :param head: as it came, and nothing else.
        :returns: None where another range would have to be decided anew.
        """
        match = _HEAD.fullmatch(head)
        names = tuple(name for name, _ in decided.headers[:3])
        if match is None or names != _OWN or len(answer.content.extents) != 1:
            return None
        before, after = match.groups()
        return cls(
            before,
            after,
            request,
            application,
            answer,
            rendered(decided.headers[:1]),
            rendered(decided.headers[3:]),
            tick,
        )

    def decided(self, head: bytes) -> Decided | None:
        """:returns: what goes out for ``head``; None where it is not of this kind."""
        before, after = self.before, self.after
        if not (head.startswith(before) and head.endswith(after)):
            return None
        match = _NUMBERS.fullmatch(head, len(before), len(head) - len(after))
        if match is None:
            return None
        content = self.answer.content
        size = content.size
        start, last = int(match[1]), min(int(match[2]), size - 1)
        if start > last:
            return None
        length = last - start + 1
        lines = b"%bContent-Length: %d\r\nContent-Range: bytes %d-%d/%d\r\n%b" % (
            self.lines_before,
            length,
            start,
            last,
            size,
            self.lines_after,
        )
        span = Extent(content.extents[0].offset + start, length)
        return Decided(206, (), content=content, spans=(span,), size=size, lines=lines)
