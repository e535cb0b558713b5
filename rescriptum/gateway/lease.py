"""
The gateway's half of the boot lease: one row a site, four statements, and who is next.

Safety rests on the statements alone, each a comparison and a change in one: any process may issue
any of them at any time. What a process remembers of a row (:class:`Arbiter`) is only how long it
has seen the same ``(epoch, beat)``; it reads no clock but its own.
"""

from collections.abc import Iterable
from typing import Final

from attrs import evolve, field, frozen, mutable, validators

from ..boot.lease import LONGEST_TTL_MS, SHORTEST_TTL_MS, TTL_MS
from ..contract.specs import LeaseSection

#: How far from real rate a clock may be, and seconds between a process's last look at its fence
#: and its answer on the wire. Both are part of the argument, not settings.
RATE, GRACE = 0.01, 0.5
#: Seconds between two looks at the rows, and seconds for an epoch that proves nothing: policy,
#: without a say in safety.
POLL, UNPROVED = 1.0, 3.0
#: Who holds a lease that was restored from a copy, and how far its epoch leaps over what was lost.
QUARANTINE: Final = "quarantine"
LEAP: Final = 1000


def patience(ttl: float) -> float:
    """
    :param ttl: seconds, of the row's epoch.
    :returns: seconds that ``(epoch, beat)`` was read unchanged before somebody else may have it.
    """
    return ttl * (1 + RATE) / (1 - RATE) + GRACE


@frozen
class LeaseRow:
    """
    The lease of one site, as the database has it.

    :ivar epoch: goes up with every holder, and never down.
    :ivar holder: a session, never a node; None: the lease is free.
    :ivar holder_node: whose session that is.
    :ivar beat: heartbeats recorded under this epoch. ``(epoch, beat)`` never comes again.
    :ivar ttl_ms: of this epoch: another setting takes effect with the next one.
    """

    epoch: int = 0
    holder: str | None = None
    holder_node: str | None = None
    beat: int = 0
    ttl_ms: int = field(
        default=TTL_MS, validator=[validators.ge(SHORTEST_TTL_MS), validators.le(LONGEST_TTL_MS)]
    )

    @property
    def ttl(self) -> float:
        """Seconds."""
        return self.ttl_ms / 1000


# What the store's statements mean. None: the comparison failed, and nothing has changed.


def recorded(row: LeaseRow, epoch: int, session: str) -> LeaseRow | None:
    """A heartbeat of ``session`` for ``epoch``: only what was recorded is acknowledged."""
    if row.epoch != epoch or row.holder != session:
        return None
    return evolve(row, beat=row.beat + 1)


def released(row: LeaseRow, epoch: int, node: str) -> LeaseRow | None:
    """``node`` never serves ``epoch`` again, by whichever of its sessions it says so."""
    if row.epoch != epoch or row.holder_node != node:
        return None
    return evolve(row, holder=None, holder_node=None)


def granted(row: LeaseRow, epoch: int, session: str, node: str, ttl_ms: int) -> LeaseRow | None:
    """The free lease after ``epoch`` goes to ``session``, whose ``node`` that is."""
    if row.epoch != epoch or row.holder is not None:
        return None
    return LeaseRow(epoch + 1, session, node, 0, ttl_ms)


def taken(
    row: LeaseRow, epoch: int, beat: int, session: str, node: str, ttl_ms: int
) -> LeaseRow | None:
    """The lease of a holder whose last beat is still the one that was observed."""
    if row.epoch != epoch or row.holder is None or row.beat != beat:
        return None
    return LeaseRow(epoch + 1, session, node, 0, ttl_ms)


def quarantined(row: LeaseRow, ttl_ms: int) -> LeaseRow:
    """
    After a restore, or a fail-over that lost commits: nothing that was proved before counts any
    more, and the ordinary take-over follows after one patience.

    :param ttl_ms: the longest that was in use.
    """
    return LeaseRow(row.epoch + LEAP, QUARANTINE, None, row.beat + 1, ttl_ms)


@mutable
class Arbiter:
    """
    What one gateway process has seen of one row. It is dropped with the database connection.

    :ivar seen: ``(epoch, beat)`` as the newest answer had it; None: nothing yet.
    :ivar since: when the first answer with it was in, on this process's own clock.
    """

    seen: tuple[int, int] | None = None
    since: float = 0.0

    def observed(self, row: LeaseRow, now: float) -> None:
        """:param now: read *after* the query's answer: the beat may be as young as the answer."""
        if (row.epoch, row.beat) != self.seen:
            self.seen, self.since = (row.epoch, row.beat), now

    def forget(self) -> None:
        """The database connection was lost."""
        self.seen = None

    def may_take(self, row: LeaseRow, now: float) -> bool:
        """
        :param row: as it was observed.
        :returns: whether its holder has had its time; the swap still compares epoch and beat.
        """
        return self._left(row, now) <= 0

    def next_look(self, row: LeaseRow, now: float) -> float:
        """:returns: seconds until the row is to be read again, whatever notifications say."""
        left = self._left(row, now)
        return min(left, POLL) if left > 0 else POLL

    def _left(self, row: LeaseRow, now: float) -> float:
        if row.holder is None or (row.epoch, row.beat) != self.seen:
            return POLL
        # An epoch that recorded nothing opened no fence: how long it is left alone is policy.
        wait = patience(row.ttl) if row.beat else UNPROVED
        return self.since + wait - now


@frozen
class Candidate:
    """
    A session that could hold the lease: of role site, with a boot server, at this site.

    :ivar lived: seconds since it began. :ivar heard_ago: seconds since its last heartbeat.
    """

    session: str
    node: str
    lived: float
    heard_ago: float


@frozen
class Grant:
    """The lease is free: ``granted``."""

    to: Candidate


@frozen
class Take:
    """The holder has had its time: ``taken``, with the row's epoch and beat."""

    to: Candidate


@frozen
class StandBy:
    """The operator wants another holder that is there: ask this one to release."""


Move = Grant | Take | StandBy


def move(
    row: LeaseRow, over: bool, candidates: Iterable[Candidate], wanted_node: str | None
) -> Move | None:
    """
    Who is next: the operator's choice, else the session that has lived longest.

    :param over: what ``may_take`` says.
    :returns: what is to be done now; None: the holder is left alone, or nobody is there. A
        :class:`StandBy` is a state: it holds until the row changes or the wanted node is gone.
    """
    others = [
        each for each in candidates if each.session != row.holder and each.heard_ago < row.ttl
    ]
    if not others:
        return None
    best = max(others, key=lambda each: (each.node == wanted_node, each.lived, each.session))
    if row.holder is None:
        return Grant(best)
    if over:
        return Take(best)
    return StandBy() if best.node == wanted_node != row.holder_node else None


def section(row: LeaseRow, session: str, standing_by: bool) -> LeaseSection:
    """
    The lease section of the desired state of one session.

    Nobody but the holder is told the present epoch: a copied identity would release it for
    another process. The others are told that every epoch before it is over.

    :param standing_by: whether :func:`move` says so of the holder.
    """
    if row.holder != session:
        return LeaseSection(False, max(row.epoch - 1, 0), None)
    if standing_by:
        return LeaseSection(False, row.epoch, None)
    return LeaseSection(True, row.epoch, row.ttl_ms)
