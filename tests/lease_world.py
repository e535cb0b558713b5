"""
A world for the boot lease: agents, gateway processes, one database, a network that does its worst.

The rules are the product's own classes, run as they are; all else is virtual, by one seed: clocks,
delays, losses, pauses, restarts. Nothing here reads a real clock, so a seed is the same run for
everybody, and :meth:`World.run` raises :class:`Broken` at the moment at which an invariant is.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from random import Random

from attrs import define, field

from rescriptum.contract.specs import LeaseSection
from rescriptum.gateway.lease import POLL, Arbiter, Candidate, Grant, LeaseRow, StandBy, Take

from .lease_hosts import Host, MachineClock
from .lease_rules import PRODUCT, Rules

#: Lengths of an epoch that sites have here, the ordinary one more often.
TTLS = (3_000, 6_000, 15_000, 15_000, 30_000)


class Broken(AssertionError):
    """An invariant does not hold; the text says which, and when."""


@define
class Stream:
    """The long answer of one session: at one gateway process, frames in order."""

    host: Host
    life: int
    process: int
    began: float
    heard: float
    arrives: float = 0.0  # when its last frame does
    row: LeaseRow | None = None  # from which it was told its section
    standing_by: bool = False
    told: LeaseSection | None = None
    ack: tuple[int, int] | None = None


@define(eq=False)
class Process:
    """A gateway process. :ivar connection: goes up when its database connection is lost."""

    index: int
    arbiter: Arbiter
    clock: MachineClock
    connection: int = 0
    looked: int = field(default=0)


class World:
    """
    One run.

    :param seed: all of it.
    :param trouble: whether anything ever goes wrong; else the network is only a little lossy.
    :param copied: whether both hosts have one identity: a disk that was copied.
    :param ttl_ms: of the site; None: by the seed, and changed on the way.
    :param asserted: the invariants that end the run.
    """

    def __init__(
        self,
        seed: int,
        rules: Rules = PRODUCT,
        trouble: bool = True,
        copied: bool | None = None,
        ttl_ms: int | None = None,
        asserted: str = "I1 I2 I3 I4 I5",
    ) -> None:
        self.asserted = asserted
        self.seed, self.rules, self.trouble = seed, rules, trouble
        self.random = random = Random(seed)
        self.now, self._order, self._sessions = 0.0, 0, 0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self.trail: deque[str] | None = None
        self.row = LeaseRow()
        self.backup = self.row
        self.generation = 0
        self.slow_until = 0.0
        self.ttl_ms = ttl_ms or random.choice(TTLS)
        self.pace = self.ttl_ms / 3000
        self.wanted: str | None = None
        self.streams: dict[str, Stream] = {}
        self.holders: dict[int, str] = {}
        self.late = self.epochs = 0
        self.opened: list[tuple[float, str]] = []
        self.processes = [Process(each, rules.arbiter(), MachineClock(random)) for each in range(2)]
        self.watches_for_stalls = random.random() < 0.5
        if copied is None:
            copied = random.random() < 0.2
        self.hosts: list[Host] = []
        for name in "AB":
            self.hosts.append(Host(self, name, "node-a" if copied else f"node-{name.lower()}"))
        for process in self.processes:
            self._polls(process)
        if trouble:
            self.after(random.expovariate(1 / 8), self._troubles)

    # time

    def after(self, delay: float, action: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._queue, (self.now + delay, self._order, action))

    def run(self, seconds: float) -> None:
        """:raises Broken: when two are open, or another invariant is broken."""
        while self._queue and self._queue[0][0] <= seconds:
            self.now, _, action = heappop(self._queue)
            action()
        self.now = seconds

    def notes(self, text: str, *parts: object) -> None:
        if self.trail is not None:
            self.trail.append(f"{self.now:9.3f} {text.format(*parts)}")

    # invariants

    def open_hosts(self) -> list[Host]:
        return [each for each in self.hosts if not each.dead and each.lease.is_open(each.now())]

    def broken(self, invariant: str, text: str) -> None:
        """:raises Broken: unless this run looks for others only."""
        if invariant in self.asserted:
            raise Broken(f"{invariant} at {self.now:.3f}: {text}")

    def check(self, host: Host) -> None:
        """I1, I3 and I4: fences open by what a host receives, and by nothing else."""
        lease = host.lease
        if lease.released < host.released:
            self.broken("I4", f"released fell to {lease.released}")
        host.released = lease.released
        if lease.epoch and lease.epoch <= lease.released:
            self.broken("I4", f"{host.name} serves epoch {lease.epoch} again")
        open_hosts = self.open_hosts()
        if len(open_hosts) > 1:
            who = " and ".join(f"{each.name} for epoch {each.lease.epoch}" for each in open_hosts)
            self.broken("I1", f"open at {who}")
        if host in open_hosts:
            proved = host.proved.get(lease.epoch)
            if proved is None or lease.last_heard is None or lease.last_heard > proved:
                self.broken("I3", f"{host.name} heard more than was recorded")
            if not self.opened or self.opened[-1][1] != host.name:
                self.opened.append((self.now, host.name))
                self.notes("{} is open for epoch {}", host.name, lease.epoch)

    def check_answer(self, host: Host) -> None:
        """I5, by what was recorded rather than by what the agent remembers; and I1 once more."""
        proved = host.proved.get(host.fence.epoch)
        if proved is None or host.now() - proved >= host.lease.ttl:
            self.broken("I5", f"{host.name} answers with a closed fence")
        if self.open_hosts() != [host]:
            self.broken("I1", f"{host.name} answers beside another")

    def changed(self, row: LeaseRow) -> None:
        """I2, at every change of the row."""
        if row.epoch < self.row.epoch:
            self.broken("I2", f"the epoch fell to {row.epoch}")
        if row.holder is not None and self.holders.setdefault(row.epoch, row.holder) != row.holder:
            self.broken("I2", f"epoch {row.epoch} has two holders")
        if row.epoch != self.row.epoch:
            self.epochs += 1
            self.notes("epoch {} for {}", row.epoch, row.holder)
        self.row = row

    # the network

    def _delay(self) -> float:
        random = self.random
        if not self.trouble or random.random() < 0.9:
            return random.uniform(0.005, 0.05)
        if random.random() < 0.9:
            return random.expovariate(1 / 3)
        return random.uniform(0, 90)  # bytes that something on the way kept

    def _lost(self, share: float) -> bool:
        return self.random.random() < share

    def posts(
        self, host: Host, session: str, beat: int, epoch: int, releases: tuple[int, ...]
    ) -> None:
        """A request on a connection of its own: lost, late, or there twice."""
        life, copies = host.lives, 2 if self.trouble and self._lost(0.02) else 1
        for _ in range(copies):
            if not self._lost(0.01):
                process = self.random.choice(self.processes)
                self.after(
                    max(self._delay(), host.cut_until - self.now),
                    partial(self._handles, process, host, life, session, beat, epoch, releases),
                )

    def _frame(self, session: str, frame: LeaseSection | tuple[int, int]) -> None:
        """On the session's stream: late, or never, but in order."""
        stream = self.streams[session]
        delay = max(self._delay(), stream.host.cut_until - self.now)
        stream.arrives = when = max(self.now + delay, stream.arrives + 1e-6)
        self._arrives(stream.host, stream.life, session, frame, when - self.now)

    def _arrives(
        self,
        host: Host,
        life: int,
        session: str,
        frame: LeaseSection | tuple[int, int],
        delay: float,
    ) -> None:
        def arrive() -> None:
            if host.paused_until > self.now:
                self.after(host.paused_until - self.now + 1e-6, arrive)
            else:
                host.receives(life, session, frame)

        self.after(delay, arrive)

    def drops(self, host: Host, life: int, session: str) -> bool:
        """:returns: whether a frame is of a dead stream, whose bytes are nobody's."""
        return life != host.lives or session != host.session

    # the database

    def _database(
        self,
        process: Process,
        statement: Callable[[], LeaseRow | None],
        then: Callable[[LeaseRow | None], None],
    ) -> None:
        """
        One statement: it has its effect at some moment between the question and the answer, and
        the answer may not come. Either way the process may have been stopped in between.
        """
        random, connection, generation = self.random, process.connection, self.generation
        slow, late = 0.001, 0.001
        if self.now < self.slow_until:
            slow, late = random.uniform(0, 8), random.uniform(0, 8)
        elif self.trouble and random.random() < 0.05:
            slow, late = random.expovariate(1 / 5), random.expovariate(1 / 5)

        def execute() -> None:
            if generation != self.generation:
                return  # its connection ended at a database that is gone
            result = statement()
            if self.trouble and random.random() < 0.003:
                self.after(late, lambda: self._connection_lost(process, connection))
            else:
                self.after(late, lambda: answer(result))

        def answer(result: LeaseRow | None) -> None:
            if connection == process.connection and generation == self.generation:
                then(result)

        self.after(slow, execute)

    def _connection_lost(self, process: Process, connection: int) -> None:
        if connection == process.connection:
            process.connection += 1
            process.arbiter.forget()

    def _change(self, after: LeaseRow | None) -> LeaseRow | None:
        if after is not None:
            self.changed(after)
        return after

    # gateway processes

    def opens_session(self, host: Host) -> str:
        """A session of a node ends the one that it had, if it was this host's."""
        self._sessions += 1
        session = f"{host.node}/{self._sessions}"
        for old, stream in list(self.streams.items()):
            if stream.host is host:
                del self.streams[old]
        process = self.random.choice(self.processes)
        self.streams[session] = Stream(host, host.lives, process.index, self.now, self.now)
        self.after(self._delay(), lambda: self._looks(process))
        return session

    def _handles(
        self,
        process: Process,
        host: Host,
        life: int,
        session: str,
        beat: int,
        epoch: int,
        releases: tuple[int, ...],
    ) -> None:
        for each in releases:
            self._release(process, host, life, each)
        stream = self.streams.get(session)
        if stream is None:
            return  # 401
        stream.heard = self.now
        if not epoch and self.rules.recorded(self.row, epoch, session) is None:
            return  # a standby heartbeat needs no statement

        def record() -> LeaseRow | None:
            after = self._change(self.rules.recorded(self.row, epoch, session))
            if after is not None and host.lives == life:
                _, sent = host.asked.get(beat, (0, 0.0))
                host.proved[epoch] = max(host.proved.get(epoch, sent), sent)
            return after

        def then(after: LeaseRow | None) -> None:
            if after is None:
                return
            for other in self.processes:
                if not self._lost(0.1):  # a notification
                    self._looks(other)
            self._arrives(
                host, life, session, (beat, epoch), max(self._delay(), host.cut_until - self.now)
            )
            if session in self.streams:
                self.streams[session].ack = (beat, epoch)

        self._database(process, record, then)

    def _release(self, process: Process, host: Host, life: int, epoch: int) -> None:
        def release() -> LeaseRow | None:
            self._change(self.rules.released(self.row, epoch, host.node))
            return self.row

        def then(_: LeaseRow | None) -> None:
            if host.lives == life and not self._lost(0.05):  # the answer comes
                self.after(self._delay(), lambda: host.to_release.discard(epoch))
            if not self._lost(0.1):
                self._looks(self.random.choice(self.processes))

        self._database(process, release, then)

    def _polls(self, process: Process) -> None:
        self._looks(process)
        for session, stream in list(self.streams.items()):
            if stream.process == process.index and stream.ack is not None and self._lost(0.2):
                self._frame(session, stream.ack)  # every frame carries the newest one
        self.after(POLL / process.clock.rate, lambda: self._polls(process))

    def wakes(self) -> None:
        """Every process is notified."""
        for process in self.processes:
            self._looks(process)

    def _looks(self, process: Process) -> None:
        """Read the row, and do what it asks for."""
        arbiter = process.arbiter
        asked = process.clock.at(self.now)
        process.looked += 1
        looked = process.looked

        def then(row: LeaseRow | None) -> None:
            if row is None or arbiter is not process.arbiter:
                return
            now = process.clock.at(self.now)
            self.rules.tell("asked", asked)
            self.rules.tell("setting", self.ttl_ms / 1000)
            arbiter.observed(row, now)
            over = self.over(process, row, now)
            what = self.rules.move(row, over, self._candidates(), self.wanted)
            self._tells(process, row, isinstance(what, StandBy))
            if isinstance(what, Grant | Take):
                self._gives(process, row, what)
            elif looked == process.looked:
                left = arbiter.next_look(row, now)
                if left < POLL:
                    self.after(left / process.clock.rate + 1e-4, lambda: self._looks(process))

        self._database(process, lambda: self.row, then)

    def over(self, process: Process, row: LeaseRow, now: float) -> bool:
        """:returns: whether the holder has had its time."""
        return process.arbiter.may_take(row, now)

    def _candidates(self) -> list[Candidate]:
        return [
            Candidate(session, each.host.node, self.now - each.began, self.now - each.heard)
            for session, each in self.streams.items()
        ]

    def _tells(self, process: Process, row: LeaseRow, standing_by: bool) -> None:
        """The lease section of each session whose stream is here, when it has changed."""
        for session, stream in self.streams.items():
            if stream.process == process.index:
                if stream.row is row and stream.standing_by == standing_by:
                    continue
                stream.row, stream.standing_by = row, standing_by
                section = self.rules.section(row, session, standing_by)
                if section != stream.told:
                    stream.told = section
                    self._frame(session, section)

    def _gives(self, process: Process, row: LeaseRow, what: Grant | Take) -> None:
        to, ttl_ms = what.to, self.ttl_ms

        def give() -> LeaseRow | None:
            if isinstance(what, Grant):
                after = self.rules.granted(self.row, row.epoch, to.session, to.node, ttl_ms)
            else:
                after = self.rules.taken(self.row, row.epoch, row.beat, to.session, to.node, ttl_ms)
            return self._change(after)

        def then(after: LeaseRow | None) -> None:
            if after is not None and not (self.trouble and self._lost(0.03)):  # else: a crash
                self.wakes()

        self._database(process, give, then)

    # trouble

    def _troubles(self) -> None:
        random = self.random
        kinds = (
            self._cuts,
            self._cuts,
            self._pauses,
            self._pauses,
            self._hellos,
            self._restarts,
            self._kills_process,
            self._slows_database,
            self._wants,
            self._sets_ttl,
            self._says_again,
            self._yields,
            self._sets_wall,
            self._restores,
        )
        random.choice(kinds)(random.choice(self.hosts))
        self.after(random.expovariate(1 / 8), self._troubles)

    def _slows_database(self, host: Host) -> None:
        self.slow_until = self.now + self.random.expovariate(1 / 10)

    def _cuts(self, host: Host) -> None:
        self.notes("{} is cut off", host.name)
        host.cut_until = self.now + self.random.expovariate(1 / 20)

    def _pauses(self, host: Host) -> None:
        self.notes("{} is stopped", host.name)
        host.pause(self.random.expovariate(1 / 15))

    def _hellos(self, host: Host) -> None:
        if host.paused_until <= self.now:
            self.notes("{} says Hello", host.name)
            host.hello()

    def _restarts(self, host: Host) -> None:
        self.notes("{} is killed and started", host.name)
        host.paused_until = 0.0
        host.start()

    def _kills_process(self, host: Host) -> None:
        """Its streams go to whoever is there, which says everything from the beginning."""
        index = self.random.randrange(2)
        self.notes("gateway {} is killed and started", index)
        process = self.processes[index]
        process.arbiter = self.rules.arbiter()
        process.connection += 1
        for stream in self.streams.values():
            if stream.process == index:
                stream.process, stream.ack = self.random.randrange(2), None
                stream.row = stream.told = None

    def _wants(self, host: Host) -> None:
        self.wanted = None if self._lost(0.3) else host.node
        self.notes("{} is wanted", self.wanted)

    def _sets_ttl(self, host: Host) -> None:
        self.ttl_ms = self.random.choice(TTLS)

    def _says_again(self, host: Host) -> None:
        """Another section has changed: this one travels again, as it was read a while ago."""
        row = self.row
        for session, stream in self.streams.items():
            if stream.host is host:
                section = self.rules.section(row, session, False)
                self._arrives(host, host.lives, session, section, self._delay() + self._delay())

    def _yields(self, host: Host) -> None:
        if host.paused_until <= self.now:
            host.yields()
            self._says_again(host)

    def _sets_wall(self, host: Host) -> None:
        host.wall += self.random.uniform(-100, 100)

    def _restores(self, host: Host) -> None:
        """A copy of the database that lost commits takes its place, and is put in quarantine."""
        if self._lost(0.5):
            self.backup = self.row
            return
        self.notes("the database is restored: epoch {}", self.backup.epoch)
        self.generation += 1
        for process in self.processes:
            self._connection_lost(process, process.connection)
        self.row = self.backup
        self.changed(self.rules.quarantined(self.row, max(TTLS)))
        self.backup = self.row


def handovers(runs: int, ttl_ms: int = 15_000) -> dict[str, list[float]]:
    """
    How long a site is without a boot server, on a calm network, in seconds, sorted.

    :returns: by what happened: ``first grant``, ``planned move``, ``holder dies``.
    """
    times: dict[str, list[float]] = {"first grant": [], "planned move": [], "holder dies": []}
    for seed in range(runs):
        world = World(seed, trouble=False, copied=False, ttl_ms=ttl_ms)
        world.run(40 + world.random.uniform(0, 10))
        times["first grant"].append(world.opened[0][0])
        [holder] = world.open_hosts()
        began = world.now
        if seed % 2:
            holder.dead = True
        else:
            [other] = [each for each in world.hosts if each is not holder]
            world.wanted = other.node
            world.wakes()
        world.run(began + 4 * ttl_ms / 1000)
        times["holder dies" if seed % 2 else "planned move"].append(world.opened[1][0] - began)
    return {what: sorted(each) for what, each in times.items()}
