"""The journal as the reactor sees it: every step is written in its thread, and then is so."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..contract.commands import Command, Result
from ..contract.refusals import Rejected
from ..errors import Unavailable
from ..interfaces import Workers
from .journal import Entry, Journal, Resume

_T = TypeVar("_T")


class Recording:
    """
    :class:`rescriptum.agent.journal.Journal`, whose methods these are, by one thread.

    Each raises ``Rejected("journal-unavailable")`` where the disk, or the thread, has no room.

    :ivar made_at: when the journal was made.
    :ivar now: the time that documents are judged by, in Unix seconds.
    """

    def __init__(self, journal: Journal, workers: Workers, now: Callable[[], int]) -> None:
        """:param workers: one thread: what is asked first is done first."""
        self._journal = journal
        self._workers = workers
        self.made_at = journal.made_at
        self.now = now

    async def find(self, command_id: str) -> Entry | None:
        return await self._run(lambda: self._journal.find(command_id))

    async def receive(self, command: Command, digest: str, octets: bytes) -> bool:
        now = self.now()
        return await self._run(lambda: self._journal.receive(command, digest, octets, now))

    async def start(self, command_id: str, boot_id: str) -> None:
        await self._run(lambda: self._journal.start(command_id, boot_id))

    async def finish(self, command_id: str, result: Result, boot_id: str) -> None:
        now = self.now()
        await self._run(lambda: self._journal.finish(command_id, result, boot_id, now))

    async def acknowledge(self, command_ids: Sequence[str]) -> None:
        await self._run(lambda: self._journal.acknowledge(command_ids))

    async def unacknowledged(self, after: str = "") -> list[Entry]:
        return await self._run(lambda: self._journal.unacknowledged(after=after))

    async def waiting(self) -> list[Entry]:
        return await self._run(self._journal.waiting)

    async def recover(self, boot_id: str, resume: Resume) -> list[Entry]:
        now = self.now()
        return await self._run(lambda: self._journal.recover(boot_id, resume, now))

    async def close(self) -> None:
        await self._run(self._journal.close)

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._workers.run(work)
        except Unavailable as e:
            raise Rejected("journal-unavailable", str(e)) from e
