"""What an agent says of itself."""

from enum import Enum

from attrs import field, frozen

from .bounds import SENTENCE, many, name, text
from .structure import JSON

#: Machines that a site tells of at once.
DISCOVERED = 256


class State(Enum):
    """Of a section of the desired state."""

    READY = "ready"
    CONVERGING = "converging"
    FAILED = "failed"


@frozen
class SectionStatus:
    """
    How far a section has come.

    :ivar reason: for people, empty where there is nothing to say. :ivar detail: for programs.
    """

    name: str = field(validator=name())
    state: State
    reason: str = field(default="", validator=text(SENTENCE, empty=True))
    detail: JSON = field(factory=dict)


@frozen
class Progress:
    """How far a running command has come: at most once a second. :ivar data: as its kind has it."""

    command_id: str = field(validator=name())
    data: JSON


@frozen
class Discovered:
    """A machine that boots at the site and has no boot entry. :ivar seen_ms_ago: since when."""

    mac: str = field(validator=text())
    uuid: str = field(default="", validator=text(empty=True))
    arch: str = field(default="", validator=text(empty=True))
    ip: str = field(default="", validator=text(empty=True))
    seen_ms_ago: int = 0


@frozen
class StatusReport:
    """
    All that has changed since the last one; what is None has not.

    :ivar progress: of commands that run.
    """

    sections: tuple[SectionStatus, ...] = field(default=(), validator=many(32))
    inventory: JSON | None = None
    discovered: tuple[Discovered, ...] | None = field(default=None, validator=many(DISCOVERED))
    progress: tuple[Progress, ...] = field(default=(), validator=many(64))
