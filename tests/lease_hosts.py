"""The agents of ``lease_world``: what the real shells do around the product's classes."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from rescriptum.boot.lease import NUMBER_BITS, GaveUp, LeaseFence, Prove, Stall
from rescriptum.contract.specs import LeaseSection
from rescriptum.gateway.lease import RATE

if TYPE_CHECKING:
    from .lease_world import World


class MachineClock:
    """``CLOCK_BOOTTIME`` of one machine: at its own rate, from its own beginning."""

    def __init__(self, random: Random) -> None:
        self.rate = random.choice((1 - RATE, 1 + RATE, random.uniform(1 - RATE, 1 + RATE)))
        self._offset = random.uniform(0, 1e6)
        self._stood_still = 0.0

    def at(self, real: float) -> float:
        return self._offset + (real - self._stood_still) * self.rate

    def stand_still(self, seconds: float) -> None:
        self._stood_still += seconds


class Host:
    """An agent process on its host: what the real shells do around the product's classes."""

    def __init__(self, world: "World", name: str, node: str) -> None:
        self.world, self.name, self.node = world, name, node
        self.clock = MachineClock(world.random)
        self.wall = 0.0  # how far the wall clock was set off
        self.paused_until = 0.0
        self.cut_until = 0.0
        self.dead = False
        self.lives = 0
        self.start()

    def now(self) -> float:
        return self.clock.at(self.world.now)

    def start(self) -> None:
        """A new process: it knows nothing."""
        self.lives += 1
        self.lease = self.world.rules.agent(self.world.random.getrandbits(NUMBER_BITS))
        self.fence = LeaseFence(self.lease, self.now)
        self.stall = Stall()
        self.released = 0
        self.to_release: set[int] = set()
        self.asked: dict[int, tuple[int, float]] = {}  # for the invariants
        self.proved: dict[int, float] = {}
        self.ticks(self.lives)
        self.hello()
        self.beats(self.lives)
        self.answers(self.lives)

    def hello(self) -> None:
        given_up = self.lease.begin_session()
        self.session = self.world.opens_session(self)
        if given_up:
            self.to_release.add(given_up)
        self.post()

    def post(self) -> None:
        """A heartbeat, and whatever the gateway has not answered yet."""
        now = self.now()
        beat, epoch = self.lease.heartbeat(now)
        self.asked[beat] = (epoch, now)
        self.world.posts(self, self.session, beat, epoch, tuple(self.to_release))

    def _while_running(self, life: int, seconds: float, action: Callable[[], None]) -> None:
        """A timer of this process: late by as long as it was stopped."""

        def due() -> None:
            if life == self.lives and not self.dead:
                if self.paused_until > self.world.now:
                    self.world.after(self.paused_until - self.world.now + 1e-6, due)
                else:
                    action()

        self.world.after(seconds / self.clock.rate, due)

    def beats(self, life: int) -> None:
        """A timer of the pace: what is over when it ends sends the next heartbeat."""
        epoch = self.lease.epoch

        def beat() -> None:
            if epoch == self.lease.epoch:
                self.post()
            self.beats(life)

        self._while_running(life, self.lease.pace(self.world.pace), beat)

    def proves(self, life: int, epoch: int) -> None:
        """At once, and each second until the epoch is proved."""
        if life == self.lives and self.lease.epoch == epoch and self.lease.unproved:
            self.post()
            self._while_running(life, 1.0, lambda: self.proves(life, epoch))

    def ticks(self, life: int) -> None:
        def tick() -> None:
            stalled = self.stall.ticked(self.now(), self.now() + self.wall)
            if stalled and self.world.watches_for_stalls:
                self.lease.distrust()
                self.proves(life, self.lease.epoch)
            if self.to_release:
                self.post()
            self.ticks(life)

        self._while_running(life, 1.0, tick)

    def answers(self, life: int) -> None:
        """A machine asks; sometimes the process is stopped between its look and the sending."""
        world = self.world

        def ask() -> None:
            if self.fence.is_open():
                world.check_answer(self)
                late = self.fence.late
                if world.trouble and world.random.random() < 0.02:
                    self.pause(world.random.expovariate(1 / 10))
                    self._while_running(life, 0.0, lambda: self.sent(late))
                else:
                    self.sent(late)
            self.answers(life)

        self._while_running(life, world.random.expovariate(1 / 2), ask)

    def sent(self, late: int) -> None:
        self.fence.sent()
        self.world.late += self.fence.late - late

    def pause(self, seconds: float) -> None:
        self.paused_until = max(self.paused_until, self.world.now + seconds)

    def receives(self, life: int, session: str, frame: LeaseSection | tuple[int, int]) -> None:
        """A frame of a stream, or the answer to a request."""
        world = self.world
        if self.dead or world.drops(self, life, session):
            return
        world.rules.tell("receipt", self.now())
        if isinstance(frame, LeaseSection):
            self.does(self.lease.section(frame.active, frame.epoch, frame.ttl_ms))
        else:
            self.lease.acknowledged(*frame)
        world.check(self)

    def does(self, step: Prove | GaveUp | None) -> None:
        match step:
            case Prove(epoch):
                self.proves(self.lives, epoch)
            case GaveUp(epoch):
                self.to_release.add(epoch)
                self.post()

    def yields(self) -> None:
        """Its boot server is stopped by its operator, or goes down."""
        epoch = self.lease.give_up(self.lease.epoch)
        if epoch:
            self.to_release.add(epoch)
            self.post()
