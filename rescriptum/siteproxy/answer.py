"""What a machine said, as far as it was read."""

from collections.abc import Iterable
from typing import Final

from attrs import evolve, field, frozen

from ..contract.proxying import HttpHeader, HttpProxyResult
from ..values import Secret, without_beginning

#: What stands where a secret of the request stood.
BLANKED: Final = "(secret)"
#: Bytes of a secret that is cut off with its body, from which on they are left out.
_LEAST: Final = 4


@frozen
class Answer:
    """:ivar truncated: whether there was more of a body."""

    status: int
    headers: tuple[HttpHeader, ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    truncated: bool = False

    def without(self, secrets: Iterable[Secret]) -> "Answer":
        """:returns: the same of a machine that repeats what it was told, word for word."""
        made = self
        for each in secrets:
            text = each.reveal()
            if text:
                made = evolve(
                    made,
                    headers=tuple(
                        evolve(header, value=header.value.replace(text, BLANKED))
                        for header in made.headers
                    ),
                    body=made.body.replace(text.encode("utf-8"), BLANKED.encode("ascii")),
                )
                if made.truncated:
                    body = without_beginning(made.body, text.encode("utf-8"), _LEAST, b"")
                    made = evolve(made, body=body)
        return made

    def result(self) -> HttpProxyResult:
        """:returns: as much of it as a command's result carries."""
        return HttpProxyResult.of(self.status, self.headers, self.body, self.truncated)
