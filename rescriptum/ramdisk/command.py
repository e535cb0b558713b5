"""What a kind of command is to a ramdisk: its row of the table, and what it has while it runs."""

from collections.abc import Awaitable
from typing import Protocol

from ..contract.commands import Command, Result
from ..contract.joining import Role
from ..contract.kinds import KINDS
from ..contract.structure import JSON
from ..interfaces import Anew
from ..values import Secret

#: Seconds between two reports of how far something has come.
REPORTS = 1.0


class Running(Protocol):
    """
    A command that runs; :class:`rescriptum.agent.kinds.Context` is one.

    :ivar cancelled: whether it was taken back: who can stop, does.
    """

    @property
    def command(self) -> Command: ...
    @property
    def cancelled(self) -> bool: ...

    def secret(self, ref: str) -> Awaitable[Secret]:
        """
        :raises Rejected: where the command's workflow does not name it.
        :raises Unavailable: when there is no session.
        """

    def seconds(self) -> float:
        """:returns: of a clock that only goes forward."""

    def progress(self, data: JSON) -> None:
        """:param data: how far it has come; no secret."""


class MachineKind:
    """
    What all kinds of a ramdisk share: one at a time, since they all work on the one machine.

    :ivar name: of a row of the table of kinds.
    """

    name: str
    timeout_s: float = 60

    @property
    def roles(self) -> frozenset[Role]:
        return KINDS[self.name].roles

    @property
    def destructive(self) -> bool:
        return KINDS[self.name].destructive

    def resource(self, payload: object) -> str:
        return "machine"

    def resume(self, boot_id_then: str, boot_id_now: str) -> Result | Anew | None:
        """An agent that is begun anew in the same boot does it anew: that comes to the same."""
        return Anew() if boot_id_then == boot_id_now else None
