"""Who holds the boot lease of each site: looked at, decided, and committed before it is said."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from attrs import frozen
from sqlalchemy import Connection

from ..contract.specs import LeaseSection
from ..contract.structure import JSON
from .lease import (
    POLL,
    Arbiter,
    Candidate,
    Grant,
    LeaseRow,
    Move,
    StandBy,
    Take,
    move,
    section,
)
from .records import SessionRow
from .stores import events, leases
from .stores.contests import Contest, contests
from .stores.database import Database

#: Seconds: nobody who was silent for longer is a candidate, whatever the ttl.
_HEARD: Final = 60


@frozen
class Standing:
    """
    What was read of a site's lease, and decided.

    :ivar standing_by: whether the holder is asked to give it up.
    """

    row: LeaseRow
    standing_by: bool

    @property
    def told(self) -> tuple[int, str | None, bool]:
        """What sessions are told of: not the beat, which moves all the time."""
        return self.row.epoch, self.row.holder, self.standing_by


class Arbitration:
    """
    Looks at the leases for one gateway process; any number of them may.

    Safety is in the statements; what is remembered here is how long a beat has stood still.
    """

    def __init__(
        self,
        database: Database,
        boottime: Callable[[], float],
        now: Callable[[], float],
        changed: Callable[[str], None],
    ) -> None:
        """
        :param boottime: seconds of a clock that goes on while the machine sleeps.
        :param now: Unix time: who was heard of late is policy, and no more.
        :param changed: is told of a site whose sessions have to hear something else.
        """
        self._database = database
        self._boottime = boottime
        self._now = now
        self._changed = changed
        self._arbiters: dict[str, Arbiter] = {}
        self._standings: dict[str, Standing] = {}

    def forget(self) -> None:
        """The connection to the database was lost: what was seen before counts no more."""
        self._arbiters.clear()

    def section(self, site: str, session: str) -> LeaseSection:
        """:returns: the lease as ``session`` is to have it, by the newest look."""
        standing = self._standings.get(site)
        if standing is None:
            return LeaseSection()
        return section(standing.row, session, standing.standing_by)

    async def look(self, names: frozenset[str] | None) -> float:
        """
        :param names: of sites; None: every one.
        :returns: seconds until one of them is worth another look.
        """
        since = int(self._now()) - _HEARD
        found = await self._database.run(partial(contests, names=names, heard_since=since))
        # After the answer: a beat may be as young as that.
        seen_at, now = self._boottime(), self._now()
        moves: dict[str, tuple[Contest, Move]] = {}
        again = POLL
        for name, contest in sorted(found.items()):
            arbiter = self._arbiters.setdefault(name, Arbiter())
            arbiter.observed(contest.row, seen_at)
            over = arbiter.may_take(contest.row, seen_at)
            candidates = [_candidate(each, now) for each in contest.sessions]
            decided = move(contest.row, over, candidates, contest.site.wanted_node)
            self._note(name, Standing(contest.row, isinstance(decided, StandBy)))
            if isinstance(decided, Grant | Take):
                moves[name] = contest, decided
            again = min(again, arbiter.next_look(contest.row, seen_at))
        self._gone(names, found)
        if moves:
            # Whoever has it now is told when this process, or another one, reads it back.
            await self._database.run(partial(_perform, moves=moves, now=int(now)))
        return again

    def _note(self, name: str, standing: Standing) -> None:
        before = self._standings.get(name)
        self._standings[name] = standing
        if before is None or before.told != standing.told:
            self._changed(name)

    def _gone(self, names: frozenset[str] | None, found: Mapping[str, Contest]) -> None:
        asked = self._standings if names is None else names
        for name in [each for each in asked if each not in found]:
            self._standings.pop(name, None)
            self._arbiters.pop(name, None)


def _candidate(row: SessionRow, now: float) -> Candidate:
    return Candidate(row.id, row.node, now - row.opened_at, now - row.heard_at)


def _perform(connection: Connection, moves: Mapping[str, tuple[Contest, Move]], now: int) -> None:
    """In the order of their names: two processes that do the same do not wait for each other."""
    done: list[tuple[str, JSON]] = []
    for name, (contest, decided) in moves.items():
        row, ttl = contest.row, contest.site.ttl_ms
        if isinstance(decided, Grant):
            to = decided.to
            won = leases.grant(connection, name, row.epoch, to.session, to.node, ttl, now)
        elif isinstance(decided, Take):
            to = decided.to
            won = leases.take(connection, name, row.epoch, row.beat, to.session, to.node, ttl, now)
        else:
            continue
        if won:
            data: JSON = {"epoch": row.epoch + 1, "node": to.node, "from": row.holder_node}
            done.append((name, data))
    for name, data in done:
        events.append(connection, "lease.granted", name, name, data, now)
