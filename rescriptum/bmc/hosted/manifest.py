"""What a hosted driver says of itself, in the file beside its program."""

import re
from typing import Final, Self

from attrs import field, frozen

from ...contract.bmc import OPERATIONS, Operation
from ...contract.bounds import many, text
from ...contract.refusals import Rejected
from ...contract.structure import JSON, parsed, plain, structured
from ...errors import Malformed

#: Of what is written on stdin and read on stdout.
PROTOCOL: Final = 1
#: Bytes of a manifest.
LONGEST: Final = 16 * 1024
#: What a driver can say that it does: what stands before the dot of an operation's name.
CONCERNS: Final = frozenset(each.concern for each in OPERATIONS.values())
#: The built-in driver: no other one goes by its name.
BUILT_IN: Final = "redfish"

_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


@frozen
class Manifest:
    """
    ``NAME.json`` beside an executable ``NAME``.

    :ivar id: what machines name as the driver of their BMC.
    :ivar concerns: ``power``, ``boot``, ``media``, ``inventory``, ``management``, ``firmware``.
    """

    id: str = field(validator=text())
    version: str = field(validator=text())
    concerns: tuple[str, ...] = field(validator=many(len(CONCERNS)))
    protocol: int

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """:raises Malformed: and nothing else, with the field and what would be right."""
        try:
            made = structured(cls, parsed(data, LONGEST))
        except Rejected as e:
            raise Malformed(e.detail or str(e)) from None
        made.check()
        return made

    def check(self) -> None:
        """:raises Malformed: for what no type can tell is wrong."""
        if self.id == BUILT_IN:
            raise Malformed(f"id: {BUILT_IN} is the built-in driver; call this one otherwise")
        if not _ID.fullmatch(self.id):
            raise Malformed("id: want up to 64 lower-case letters, digits and hyphens")
        if not self.version.isprintable():
            raise Malformed("version: want a printable text")
        unknown = [each for each in self.concerns if each not in CONCERNS]
        known = ", ".join(sorted(CONCERNS))
        if unknown:
            raise Malformed(f"concerns: {unknown[0][:40]!r} is none of {known}")
        if not self.concerns or len(set(self.concerns)) != len(self.concerns):
            raise Malformed(f"concerns: want at least one of {known}, each once")
        if self.protocol != PROTOCOL:
            raise Malformed(f"protocol: {self.protocol}, and this agent speaks {PROTOCOL}")

    def does(self, operation: Operation) -> bool:
        """:returns: whether the driver says that it can be asked for it."""
        return operation.concern in self.concerns

    def plain(self) -> JSON:
        """:returns: as Hello carries it."""
        return plain(self)
