"""What becomes of a command that arrives: verified, looked up, journalled, or refused."""

from collections.abc import Callable
from typing import ClassVar, Final

from attrs import define, field
from twisted.logger import Logger

from ..contract.commands import Envelope
from ..contract.keys import Key
from ..contract.refusals import Rejected
from .commands import Known, Trust, Verified, admitted, named, verified
from .journal import PAGE, Entry
from .kinds import KindTable
from .outbox import Outbox, result_frame
from .recording import Recording
from .runner import Runner

#: Looks into the journal for results that are to be told: what they find has room in the outbox.
_PAGES: Final = 4


@define(eq=False)
class Intake:
    """
    The way of every command into the journal.

    :ivar now: the trusted time. :ivar told: called when the outbox has something to tell.
    """

    _log: ClassVar[Logger] = Logger()

    node_id: str
    key: Key
    trust: Trust
    kinds: KindTable
    recording: Recording
    runner: Runner
    outbox: Outbox
    now: Callable[[], int]
    told: Callable[[], None]
    _revoked: dict[str, bool] = field(factory=dict, init=False)
    _last: str = field(default="", init=False)

    def revoke(self, command_id: str) -> None:
        """What has not begun does not begin, and what runs is asked to stop."""
        if command_id in self._revoked:
            self._revoked[command_id] = True
        self.runner.revoke(command_id)

    async def take(self, envelope: Envelope) -> None:
        """Whatever it is, the gateway is told what became of it."""
        try:
            await self._take(envelope)
        except Rejected as e:
            command_id = named(envelope)
            self._log.warn(
                "Refused command {command_id}: {reason}", command_id=command_id, reason=str(e)
            )
            self.outbox.refused(command_id, e)
        self.told()

    async def _take(self, envelope: Envelope) -> None:
        command = verified(envelope, self.trust, self.node_id, self.kinds, self.now())
        command_id = command.command.command_id
        self._revoked[command_id] = False  # until the runner knows it
        try:
            await self._admit(command)
        finally:
            self._revoked.pop(command_id, None)

    async def _admit(self, command: Verified) -> None:
        command_id = command.command.command_id
        entry = await self.recording.find(command_id)
        taken = admitted(command, entry, self.recording.made_at, self.trust, self.kinds, self.now())
        if isinstance(taken, Known):
            self._known(taken.entry)
        elif self._revoked.get(command_id):
            raise Rejected("revoked")
        elif await self.runner.take(command.command, command.digest, command.octets):
            self.outbox.journalled(command_id)
        else:
            # It came twice at once: what was not written says nothing, and is sent again.
            entry = await self.recording.find(command_id)
            if entry is not None:
                self._known(entry)

    def _known(self, entry: Entry) -> None:
        """It is not run again: the gateway hears what it has missed."""
        if entry.result is None:
            self.outbox.journalled(entry.command.command_id)
        else:
            self.outbox.results([result_frame(entry, self.node_id, self.key)])

    async def refill(self) -> None:
        """
        Tell the results that the journal has and the gateway does not: as many as there is room
        for, each time those behind the last ones, so that what no gateway ever acknowledges stands
        in nobody's way.

        :raises Rejected: ``journal-unavailable``.
        """
        for _ in range(_PAGES):
            after = self._last
            found = await self.recording.unacknowledged(after)
            self._last = found[-1].command.command_id if len(found) == PAGE else ""
            for entry in found:
                self.outbox.results([result_frame(entry, self.node_id, self.key)])
            if not self._last and (found or not after):
                break
        self.told()
