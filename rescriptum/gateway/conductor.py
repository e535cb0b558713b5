"""Carries on the workflows that are this process's, and takes over those of processes gone."""

from collections.abc import Callable
from functools import partial
from typing import Final

from sqlalchemy import Connection
from twisted.logger import Logger

from ..contract.refusals import Rejected
from .conducting import carry_on
from .means import Means
from .peers import Peers
from .stores import processes, workflows
from .stores.database import Database

#: Workflows that are taken over in one transaction.
_CLAIMS: Final = 50

_log = Logger()


class Conductor:
    """
    Looks at workflows whenever something about them may have changed, and now and then at all.

    All that it knows is in the database: two that carry on one workflow do each thing once.
    """

    def __init__(
        self,
        database: Database,
        means: Means,
        now: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """:param now: Unix time. :param monotonic: seconds of a clock that is never set back."""
        self._database = database
        self._means = means
        self._now = now
        self._monotonic = monotonic
        self._peers = Peers(means.process)

    async def look(self, names: frozenset[str] | None) -> None:
        """
        :param names: of workflows that may have something new; None: all that are this process's,
            and those of processes that are gone.
        :raises Rejected: ``store-unavailable``.
        """
        run, process = self._database.run, self._means.process
        alive = await self._beat() if names is None else None
        claim = partial(workflows.claim, process=process, alive=alive, limit=_CLAIMS)
        for row in await run(claim):
            _log.info("{workflow}: carried on here", workflow=row.id, machine=row.machine)
        mine = await run(partial(workflows.carried, process=process))
        for name in mine if names is None else [each for each in mine if each in names]:
            work = partial(carry_on, means=self._means, workflow=name, now=int(self._now()))
            try:
                await run(work)
            except Rejected as e:
                if e.code == "store-unavailable":
                    raise
                _log.error("{workflow}: {reason}", workflow=name, reason=str(e))

    async def _beat(self) -> frozenset[str]:
        """Say that this process is there. :returns: who else is."""
        run, process = self._database.run, self._means.process
        beats = await run(partial(_beat, process=process, now=int(self._now())))
        alive = self._peers.observed(beats, self._monotonic())
        gone = self._peers.gone(alive)
        if gone:
            await run(partial(_forget, gone=gone))
        return alive


def _beat(connection: Connection, process: str, now: int) -> dict[str, int]:
    processes.beat(connection, process, now)
    return processes.beats(connection)


def _forget(connection: Connection, gone: dict[str, int]) -> None:
    for process, number in gone.items():
        processes.forget(connection, process, number)
