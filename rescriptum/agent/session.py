"""
The way of a session: Hello, a stream of frames, and what follows when either ends.

A state machine that performs nothing: effects are somebody else's. What proves the boot lease is in
:mod:`rescriptum.boot.lease`; here is only when it has to be given up.
"""

from collections.abc import Callable
from typing import Protocol

from attrs import define, field
from automat import TypeMachineBuilder

from ..contract.frames import SUPERSEDED
from ..contract.sessions import Welcome
from ..errors import RescriptumError
from .backoff import LONGEST, Backoff


class Effects(Protocol):
    """What the machine has done; each returns at once, and its outcome comes back as an input."""

    def hello(self) -> None:
        """Ask for a session: then ``welcomed`` or ``refused``."""

    def begin(self, welcome: Welcome) -> None:
        """A session is there: what the last one asked of the lease is void."""

    def open(self) -> None:
        """Ask for the session's frames: then ``lost``, some day."""

    def hang_up(self) -> None:
        """Hear nothing more of the stream, and tear its connection down."""

    def end(self) -> None:
        """There is no session any more; the fence is left to its own clock."""

    def give_up(self) -> None:
        """Close the fence now, and have the epoch released by this session, or the next one."""

    def wait(self, seconds: float) -> None:
        """Then ``again``."""

    def wait_no_longer(self) -> None:
        """There is no ``again`` any more."""

    def doubled(self) -> None:
        """Another process has this identity: say so, loudly."""

    def farewell(self) -> None:
        """Tell the gateway what it has to know at the end, within a time: then ``left``."""

    def over(self) -> None:
        """Nothing is left to be done."""


class Inputs(Protocol):
    """What happens to a session."""

    def start(self) -> None:
        """The agent has started."""

    def welcomed(self, welcome: Welcome) -> None:
        """Hello was answered."""

    def refused(self, error: RescriptumError) -> None:
        """Hello was not answered by a session."""

    def lost(self, error: RescriptumError) -> None:
        """The stream has ended, for whatever reason that is not one of those below."""

    def closed(self, reason: str) -> None:
        """The gateway has said that the session ends, by a ``close`` frame."""

    def unauthorized(self, error: RescriptumError) -> None:
        """The gateway does not know the session: some call within it was answered 401."""

    def again(self) -> None:
        """The wait is over."""

    def changed(self) -> None:
        """What Hello says of this agent is another thing now."""

    def stop(self) -> None:
        """The agent is to stop."""

    def left(self) -> None:
        """All has been told that could be."""


@define(eq=False)
class Course:
    """
    What the machine remembers beside its state.

    :ivar seconds: a clock that only goes forward. :ivar jitter: at random, from 0 up to 1.
    """

    effects: Effects
    seconds: Callable[[], float]
    jitter: Callable[[], float]
    backoff: Backoff = field(factory=Backoff)
    began: float | None = None

    def rest(self) -> None:
        """Wait with full jitter, by how long this lasted."""
        lasted = 0.0 if self.began is None else self.seconds() - self.began
        self.began = None
        self.backoff = self.backoff.ended(lasted)
        self.effects.wait(self.backoff.wait(self.jitter()))

    def yield_to_other(self) -> None:
        """Two processes that supersede each other would do so without end: wait as long as ever."""
        self.effects.doubled()
        self.began = None
        self.effects.wait(LONGEST)


_builder = TypeMachineBuilder(Inputs, Course)

idle = _builder.state("idle")
#: Hello is under way.
greeting = _builder.state("greeting")
#: There is a session, and its stream.
live = _builder.state("live")
#: There is a session, and its stream is to be opened again.
deaf = _builder.state("deaf")
#: There is no session, for now.
resting = _builder.state("resting")
#: The agent stops, and tells the gateway.
leaving = _builder.state("leaving")
over = _builder.state("over")


@idle.upon(Inputs.start).to(greeting)
@resting.upon(Inputs.again).to(greeting)
def _hello(inputs: Inputs, course: Course) -> None:
    course.effects.hello()


@greeting.upon(Inputs.welcomed).to(live)
def _welcomed(inputs: Inputs, course: Course, welcome: Welcome) -> None:
    course.began = course.seconds()
    course.effects.begin(welcome)
    course.effects.open()


@greeting.upon(Inputs.refused).to(resting)
def _refused(inputs: Inputs, course: Course, error: RescriptumError) -> None:
    course.rest()


@live.upon(Inputs.lost).to(deaf)
def _lost(inputs: Inputs, course: Course, error: RescriptumError) -> None:
    course.effects.hang_up()
    course.rest()


@deaf.upon(Inputs.again).to(live)
def _reopen(inputs: Inputs, course: Course) -> None:
    course.began = course.seconds()
    course.effects.open()


@live.upon(Inputs.unauthorized).to(resting)
@deaf.upon(Inputs.unauthorized).to(resting)
def _unauthorized(inputs: Inputs, course: Course, error: RescriptumError) -> None:
    course.effects.wait_no_longer()
    course.effects.hang_up()
    course.effects.end()
    if error.code == SUPERSEDED:
        course.effects.give_up()
        course.yield_to_other()
    else:
        course.rest()


@live.upon(Inputs.closed).to(resting)
def _closed(inputs: Inputs, course: Course, reason: str) -> None:
    course.effects.hang_up()
    course.effects.end()
    course.effects.give_up()
    if reason == SUPERSEDED:
        course.yield_to_other()
    else:
        course.rest()


@live.upon(Inputs.changed).to(greeting)
@deaf.upon(Inputs.changed).to(greeting)
def _changed(inputs: Inputs, course: Course) -> None:
    course.effects.wait_no_longer()
    course.effects.hang_up()
    course.effects.give_up()
    course.effects.end()
    course.effects.hello()


@live.upon(Inputs.stop).to(leaving)
@deaf.upon(Inputs.stop).to(leaving)
def _leave(inputs: Inputs, course: Course) -> None:
    course.effects.wait_no_longer()
    course.effects.give_up()
    course.effects.hang_up()
    course.effects.farewell()


@leaving.upon(Inputs.left).to(over)
def _left(inputs: Inputs, course: Course) -> None:
    course.effects.end()
    course.effects.over()


@idle.upon(Inputs.stop).to(over)
@greeting.upon(Inputs.stop).to(over)
@resting.upon(Inputs.stop).to(over)
def _stop(inputs: Inputs, course: Course) -> None:
    course.effects.wait_no_longer()
    course.effects.give_up()
    course.effects.over()


# What comes too late, or twice, changes nothing: calls of a session that is over are still under
# way when the next one begins.
for _state, _names in (
    (idle, ("welcomed", "refused", "lost", "closed", "unauthorized", "again", "changed", "left")),
    (greeting, ("start", "lost", "closed", "unauthorized", "again", "changed", "left")),
    (live, ("start", "welcomed", "refused", "again", "left")),
    (deaf, ("start", "welcomed", "refused", "lost", "closed", "left")),
    (
        resting,
        ("start", "welcomed", "refused", "lost", "closed", "unauthorized", "changed", "left"),
    ),
    (
        leaving,
        (
            "start",
            "welcomed",
            "refused",
            "lost",
            "closed",
            "unauthorized",
            "again",
            "changed",
            "stop",
        ),
    ),
    (
        over,
        (
            "start",
            "welcomed",
            "refused",
            "lost",
            "closed",
            "unauthorized",
            "again",
            "changed",
            "stop",
            "left",
        ),
    ),
):
    for _name in _names:
        _state.upon(getattr(Inputs, _name)).loop().returns(None)

#: Makes a session of a course.
session = _builder.build()
