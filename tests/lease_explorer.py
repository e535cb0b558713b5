"""
Every order of events within bounds, breadth first, over the product's own classes.

A state is what the agents, the row, the arbiters and the wire hold; each step thaws the part that
it touches, calls the product, and freezes the outcome. So that nothing is lost by the bounds:

* Time is unbounded: what a state keeps of a time is its age in ticks, cut off where more age makes
  no difference. Agents' clocks are as slow as the argument allows, arbiters' as fast, and a tick is
  so long that an arbiter's patience ends in the very tick in which the fence closes.
* Messages stay on the wire for ever: any may arrive at any time, again, in any order, or never.
* A stopped process is one that takes no step; which gateway process takes one does not matter.
* Heartbeats, sessions and epochs are bounded. Whom the policy would choose is not asked: anybody.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from attrs import frozen

from rescriptum.boot.lease import TTL_MS, AgentLease, GaveUp
from rescriptum.gateway.lease import RATE, LeaseRow, patience

from .lease_rules import PRODUCT, Rules

NOW = 1000.0
TTL = TTL_MS / 1000
#: Two of them, on an arbiter's clock, are just one patience.
TICK = 1.0001 * patience(TTL) / (1 + RATE) / 2
NONE = -1
MOST_BEATS = 3


@frozen
class Bounds:
    """
    How far to look.

    :ivar beats: heartbeats that each host sends. :ivar sessions: of each host.
    :ivar nodes: whose each host is; twice the same: a copied identity.
    :ivar tick: seconds of real time. :ivar on_standby: whether heartbeats for nothing are sent.
    """

    beats: int = 1
    epochs: int = 3
    sessions: int = 1
    observers: int = 1
    nodes: tuple[str, str] = ("node-a", "node-b")
    tick: float = TICK
    on_standby: bool = False


class Lease(NamedTuple):
    """An ``AgentLease``, its times as ages in ticks. ``heard`` is ``NONE`` if it opens nothing."""

    epoch: int
    heard: int
    released: int
    beat: int
    pending: tuple[tuple[int, int, int], ...]


class Host(NamedTuple):
    session: int
    sent: int
    lease: Lease


class Row(NamedTuple):
    """A ``LeaseRow``; ``host`` is ``NONE`` when it is free."""

    epoch: int
    host: int
    session: int
    beat: int


class Message(NamedTuple):
    """``kind``: beat, ack, active, inactive or release; ``session`` is ``NONE`` for a release."""

    kind: str
    host: int
    session: int
    number: int
    epoch: int


class State(NamedTuple):
    """``arbiters``: epoch, beat and age of what each has seen; ``NONE`` thrice: nothing."""

    hosts: tuple[Host, Host]
    row: Row
    arbiters: tuple[tuple[int, int, int], ...]
    wire: frozenset[Message]


UNSEEN = (NONE, NONE, NONE)
NEW = Lease(0, NONE, 0, 0, ())


class Explorer:
    """
    :param mutated: keep what can have no effect by the product's rules, but may by others.
    :param deaf: whether an agent drops the frames of its dead streams, as it should.
    """

    def __init__(
        self, bounds: Bounds, rules: Rules = PRODUCT, mutated: bool = False, deaf: bool = True
    ) -> None:
        self.bounds, self.rules, self.mutated, self.deaf = bounds, rules, mutated, deaf
        self.slow, self.fast = bounds.tick * (1 - RATE), bounds.tick * (1 + RATE)
        self.closed = next(age for age in range(1, 99) if age * self.slow >= TTL)
        self.patient = next(age for age in range(1, 99) if age * self.fast >= patience(TTL))
        # The product is called once for each different argument: there are few.
        self.heartbeat = cache(self._heartbeat)
        self.acknowledged = cache(self._acknowledged)
        self.section = cache(self._section)
        self.gives_up = cache(self._gives_up)
        self.begins = cache(self._begins)
        self.is_open = cache(self._is_open)
        self.older = cache(self._older)
        self.recorded = cache(self._recorded)
        self.released = cache(self._released)
        self.given = cache(self._given)
        self.told = cache(self._told)
        self.observes = cache(self._observes)
        self.over = cache(self._over)
        self.other = cache(self._other)

    # the agent's half

    def _thaw(self, lease: Lease) -> AgentLease:
        self.rules.tell("receipt", NOW)
        thawed = self.rules.agent(lease.beat)
        thawed.epoch, thawed.released = lease.epoch, lease.released
        thawed.last_heard = None if lease.heard == NONE else NOW - lease.heard * self.slow
        for number, epoch, age in lease.pending:
            thawed.pending[number] = (epoch, NOW - age * self.slow)
        return thawed

    def _freeze(self, lease: AgentLease) -> Lease:
        heard = NONE
        if lease.last_heard is not None and lease.epoch:
            heard = min(round((NOW - lease.last_heard) / self.slow), self.closed)
        pending = tuple(
            (number, epoch, min(round((NOW - sent) / self.slow), self.closed))
            for number, (epoch, sent) in lease.pending.items()
        )
        if not self.mutated:  # what is as old as that proves nothing any more
            heard = NONE if heard == self.closed else heard
            pending = tuple(
                each
                for each in pending
                if each[2] < self.closed and each[1] == lease.epoch and each[1]
            )
        return Lease(lease.epoch, heard, lease.released, lease.beat, pending)

    def _is_open(self, lease: Lease) -> bool:
        return self._thaw(lease).is_open(NOW)

    def _older(self, lease: Lease) -> Lease:
        heard = lease.heard if lease.heard == NONE else lease.heard + 1
        pending = tuple((number, epoch, age + 1) for number, epoch, age in lease.pending)
        return self._freeze(self._thaw(lease._replace(heard=heard, pending=pending)))

    def _heartbeat(self, lease: Lease) -> tuple[Lease, int, int]:
        thawed = self._thaw(lease)
        number, epoch = thawed.heartbeat(NOW)
        return self._freeze(thawed), number, epoch

    def _acknowledged(self, lease: Lease, number: int, epoch: int) -> Lease:
        thawed = self._thaw(lease)
        thawed.acknowledged(number, epoch)
        return self._freeze(thawed)

    def _section(self, lease: Lease, active: bool, epoch: int) -> tuple[Lease, int]:
        thawed = self._thaw(lease)
        step = thawed.section(active, epoch, None)
        return self._freeze(thawed), step.epoch if isinstance(step, GaveUp) else 0

    def _gives_up(self, lease: Lease) -> tuple[Lease, int]:
        thawed = self._thaw(lease)
        epoch = thawed.give_up(thawed.epoch)
        return self._freeze(thawed), epoch

    def _begins(self, lease: Lease) -> tuple[Lease, int]:
        thawed = self._thaw(lease)
        epoch = thawed.begin_session()
        return self._freeze(thawed), epoch

    # the gateway's half

    def _name(self, host: int, session: int) -> str:
        return f"{self.bounds.nodes[host]}/{host}.{session}"

    def _row(self, row: Row) -> LeaseRow:
        if row.host == NONE:
            return LeaseRow(row.epoch, None, None, row.beat, TTL_MS)
        name, node = self._name(row.host, row.session), self.bounds.nodes[row.host]
        return LeaseRow(row.epoch, name, node, row.beat, TTL_MS)

    def _recorded(self, row: Row, host: int, session: int, epoch: int) -> Row | None:
        if row.beat == MOST_BEATS:
            return None  # a bound: the same heartbeat may come again and again
        after = self.rules.recorded(self._row(row), epoch, self._name(host, session))
        return None if after is None else row._replace(beat=after.beat)

    def _released(self, row: Row, host: int, epoch: int) -> Row | None:
        after = self.rules.released(self._row(row), epoch, self.bounds.nodes[host])
        return None if after is None else Row(after.epoch, NONE, NONE, after.beat)

    def _given(self, row: Row, host: int, session: int, seen: tuple[int, int]) -> Row | None:
        """Granted, when the row is free; else taken by what was seen of it."""
        before, name, node = self._row(row), self._name(host, session), self.bounds.nodes[host]
        if row.host == NONE:
            after = self.rules.granted(before, row.epoch, name, node, TTL_MS)
        else:
            after = self.rules.taken(before, *seen, name, node, TTL_MS)
        return None if after is None else Row(after.epoch, host, session, after.beat)

    def _told(self, row: Row, host: int, session: int, standing_by: bool) -> tuple[bool, int]:
        section = self.rules.section(self._row(row), self._name(host, session), standing_by)
        return section.active, section.epoch

    def _observes(self, row: Row, seen: tuple[int, int, int]) -> tuple[int, int, int]:
        arbiter = self.rules.arbiter()
        if seen != UNSEEN:
            arbiter.seen, arbiter.since = seen[:2], NOW - seen[2] * self.fast
        arbiter.observed(self._row(row), NOW)
        return (row.epoch, row.beat, round((NOW - arbiter.since) / self.fast))

    def _over(self, seen: tuple[int, int, int]) -> bool:
        row = LeaseRow(seen[0], "whoever", "wherever", seen[1], TTL_MS)
        return self.rules.arbiter(seen[:2], NOW - seen[2] * self.fast).may_take(row, NOW)

    # steps

    def successors(self, state: State) -> Iterator[tuple[str, State]]:
        """:returns: what may happen next, in words, and the state after it."""
        yield from self._time(state)
        for index in range(2):
            yield from self._by_itself(state, index)
        yield from self._of_the_gateway(state)
        for message in state.wire:
            step = self._delivers(state, message)
            if step is not None:
                yield step

    def _time(self, state: State) -> Iterator[tuple[str, State]]:
        first, second = state.hosts
        aged = tuple(
            seen if seen == UNSEEN else (*seen[:2], min(seen[2] + 1, self.patient))
            for seen in state.arbiters
        )
        yield (
            "time passes",
            state._replace(
                hosts=(
                    first._replace(lease=self.older(first.lease)),
                    second._replace(lease=self.older(second.lease)),
                ),
                arbiters=aged,
            ),
        )

    def _with(self, state: State, index: int, host: Host, *messages: Message) -> State:
        hosts = (host, state.hosts[1]) if index == 0 else (state.hosts[0], host)
        wire = state.wire.union(messages) if messages else state.wire
        return state._replace(hosts=hosts, wire=wire)

    def _by_itself(self, state: State, index: int) -> Iterator[tuple[str, State]]:
        host, who = state.hosts[index], "AB"[index]
        if host.session + 1 < self.bounds.sessions:
            lease, given_up = self.begins(host.lease)
            after = Host(host.session + 1, host.sent, lease)
            releases = [Message("release", index, NONE, 0, given_up)] if given_up else []
            yield f"{who} says Hello again", self._with(state, index, after, *releases)
            fresh, _ = self.begins(NEW._replace(beat=host.sent))
            after = Host(host.session + 1, host.sent, fresh)
            yield f"{who} is killed and started", self._with(state, index, after)
        if host.sent < self.bounds.beats and (host.lease.epoch or self.bounds.on_standby):
            lease, number, epoch = self.heartbeat(host.lease)
            beat = Message("beat", index, host.session, number, epoch)
            yield (
                f"{who} sends heartbeat {number} for {epoch}",
                self._with(state, index, Host(host.session, host.sent + 1, lease), beat),
            )
        if host.lease.epoch:
            lease, epoch = self.gives_up(host.lease)
            yield (
                f"{who} gives {epoch} up",
                self._with(
                    state,
                    index,
                    host._replace(lease=lease),
                    Message("release", index, NONE, 0, epoch),
                ),
            )

    def _of_the_gateway(self, state: State) -> Iterator[tuple[str, State]]:
        row = state.row
        for index, host in enumerate(state.hosts):
            holds = (row.host, row.session) == (index, host.session)
            for standing_by in (False, True) if holds else (False,):
                told = self._section_message(row, index, host.session, standing_by)
                if told not in state.wire:
                    what = f"gateway writes {told.kind} {told.epoch} to {'AB'[index]}"
                    yield what, state._replace(wire=state.wire | {told})
            if row.epoch < self.bounds.epochs and not holds and (row.host == NONE or not row.beat):
                # Free, or nothing was ever proved under it: no patience is asked.
                yield from self._gives(state, index, (row.epoch, row.beat), "gateway grants")
        for number, seen in enumerate(state.arbiters):
            if row.host != NONE:
                arbiters = list(state.arbiters)
                arbiters[number] = self.observes(row, seen)
                yield f"arbiter {number} reads the row", state._replace(arbiters=tuple(arbiters))
            if seen != UNSEEN and row.epoch < self.bounds.epochs and self.over(seen):
                for index, host in enumerate(state.hosts):
                    if (row.host, row.session) != (index, host.session):
                        yield from self._gives(
                            state, index, (seen[0], seen[1]), f"arbiter {number} gives"
                        )

    def _section_message(self, row: Row, index: int, session: int, standing_by: bool) -> Message:
        active, epoch = self.told(row, index, session, standing_by)
        return Message("active" if active else "inactive", index, session, 0, epoch)

    def _gives(
        self, state: State, index: int, seen: tuple[int, int], verb: str
    ) -> Iterator[tuple[str, State]]:
        after = self.given(state.row, index, state.hosts[index].session, seen)
        if after is not None:
            told = self._section_message(after, index, after.session, False)
            what = f"{verb} {after.epoch} to {'AB'[index]}"
            yield what, state._replace(row=after, wire=state.wire | {told})

    def _delivers(self, state: State, message: Message) -> tuple[str, State] | None:
        kind, index, session, number, epoch = message
        host, who = state.hosts[index], "AB"[index]
        if kind == "beat":
            row = self.recorded(state.row, index, session, epoch)
            if row is None:
                return None
            ack = Message("ack", index, session, number, epoch)
            after = state._replace(row=row, wire=state.wire | {ack})
            return f"gateway records heartbeat {number} of {who} for {epoch}", after
        if kind == "release":
            row = self.released(state.row, index, epoch)
            if row is None:
                return None
            return f"gateway hears {who} release {epoch}", state._replace(row=row)
        if session != host.session and self.deaf:
            return None
        if kind == "ack":
            lease, given_up = self.acknowledged(host.lease, number, epoch), 0
        else:
            lease, given_up = self.section(host.lease, kind == "active", epoch)
        if lease == host.lease and not given_up:
            return None
        releases = [Message("release", index, NONE, 0, given_up)] if given_up else []
        after = self._with(state, index, host._replace(lease=lease), *releases)
        what = f"{number} for {epoch}" if kind == "ack" else str(epoch)
        return f"{who} hears {kind} {what}", after

    # what can have no effect any more

    def tidy(self, state: State) -> State:
        """
        States that can behave differently no more become equal. All of it follows from rules that
        the other tests hold one by one; a mutation may break them, so it keeps everything but
        messages to sessions that are over.
        """
        hosts, row, arbiters, wire = state
        if self.mutated:
            if not self.deaf:
                return state
            kept = frozenset(
                each
                for each in wire
                if each.session in (NONE, hosts[each.host].session) or each.kind == "beat"
            )
            return state._replace(wire=kept)
        kept = frozenset([each for each in wire if self._matters(hosts, row, each)])
        # ``(epoch, beat)`` never comes again: what was seen is of the row as it is, or of no use.
        now, beat = (row.epoch, row.beat), min(row.beat, 1)
        if any(each[:2] != now or row.host == NONE for each in arbiters) or beat != row.beat:
            arbiters = tuple(
                (row.epoch, beat, each[2]) if each[:2] == now and row.host != NONE else UNSEEN
                for each in arbiters
            )
        seen = tuple(sorted(arbiters)) if len(arbiters) > 1 else arbiters
        if beat != row.beat:
            row = row._replace(beat=beat)
        if hosts[0] <= hosts[1]:
            return State(hosts, row, seen, kept)
        # Nothing tells the two hosts apart but their names.
        if row.host != NONE:
            row = row._replace(host=1 - row.host)
        return State((hosts[1], hosts[0]), row, seen, frozenset(map(self.other, kept)))

    def _other(self, message: Message) -> Message:
        return message._replace(host=1 - message.host)

    def _matters(self, hosts: tuple[Host, Host], row: Row, message: Message) -> bool:
        kind, index, session, number, epoch = message
        host = hosts[index]
        lease = host.lease
        if kind == "release":
            return epoch >= row.epoch and row.host != NONE
        if session != host.session:
            return False
        if kind == "beat":
            return (row.host, row.session, row.epoch) == (index, session, epoch) and any(
                each[0] == number for each in lease.pending
            )
        if kind == "ack":
            return epoch == lease.epoch and any(each[0] == number for each in lease.pending)
        if kind == "active":
            return epoch > lease.epoch and epoch > lease.released
        return epoch > lease.released

    # the search

    def first(self) -> State:
        """Nobody has heard of anything."""
        host, unseen = Host(0, 0, NEW), (UNSEEN,) * self.bounds.observers
        return State((host, host), Row(0, NONE, NONE, 0), unseen, frozenset())

    def two_open(self, state: State) -> bool:
        """What is never to be."""
        return all(self.is_open(each.lease) for each in state.hosts)

    def play(self, steps: Iterable[str]) -> tuple[State, str]:
        """
        :param steps: in the words of ``successors``.
        :returns: where they lead, and the first one that cannot happen; empty: all can.
        """
        state = self.first()
        for step in steps:
            after = dict(self.successors(state)).get(step)
            if after is None:
                return state, step
            state = after
        return state, ""

    def search(self, most: int = 5_000_000) -> tuple[int, list[str]]:
        """
        :returns: how many states there are, and the shortest way to two open fences; no steps when
            there is none.
        """
        first = self.first()
        came: dict[State, tuple[State, str] | None] = {first: None}
        queue = deque([first])
        while queue:
            state = queue.popleft()
            for what, after in self.successors(state):
                after = self.tidy(after)
                if after in came:
                    continue
                came[after] = (state, what)
                if len(came) > most:
                    raise AssertionError(f"more than {most} states")
                if self.two_open(after):
                    return len(came), self._way(came, after)
                queue.append(after)
        return len(came), []

    def _way(self, came: dict[State, tuple[State, str] | None], state: State) -> list[str]:
        steps = []
        at = came[state]
        while at is not None:
            before, what = at
            steps.append(what)
            at = came[before]
        return steps[::-1]
