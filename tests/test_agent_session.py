"""Tests for ``rescriptum.agent.session``: the machine as a table."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.session import Course, Inputs, session
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import Welcome
from rescriptum.errors import RescriptumError, Unavailable

WELCOME = Welcome("s1", "t", 5000, 15000, 1)
GONE = Rejected("unknown-session")
TAKEN = Rejected("superseded")
DOWN = Unavailable("nobody there")

#: What happens, by a name that the table has for it.
EVENTS: dict[str, tuple[object, ...]] = {
    "start": (),
    "welcomed": (WELCOME,),
    "refused": (DOWN,),
    "lost": (DOWN,),
    "closed": ("unknown-session",),
    "unauthorized": (GONE,),
    "again": (),
    "changed": (),
    "stop": (),
    "left": (),
}


class Recorded:
    """Effects that are only written down. :ivar waits: seconds of each."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.waits: list[float] = []

    def hello(self) -> None:
        self.done.append("hello")

    def begin(self, welcome: Welcome) -> None:
        self.done.append(f"begin {welcome.session}")

    def open(self) -> None:
        self.done.append("open")

    def hang_up(self) -> None:
        self.done.append("hang up")

    def end(self) -> None:
        self.done.append("end")

    def give_up(self) -> None:
        self.done.append("give up")

    def wait(self, seconds: float) -> None:
        self.done.append("wait")
        self.waits.append(seconds)

    def wait_no_longer(self) -> None:
        self.done.append("no wait")

    def doubled(self) -> None:
        self.done.append("doubled")

    def farewell(self) -> None:
        self.done.append("farewell")

    def over(self) -> None:
        self.done.append("over")


class Running:
    """A session under test, its effects and its clock."""

    def __init__(self, *events: str) -> None:
        self.now = 1000.0
        self.effects = Recorded()
        self.inputs: Inputs = session(Course(self.effects, lambda: self.now, lambda: 0.5))
        for each in events:
            self.happens(each)
        self.effects.done.clear()

    def happens(self, name: str) -> list[str]:
        """:returns: what was done about it."""
        before = len(self.effects.done)
        getattr(self.inputs, name)(*EVENTS[name])
        return self.effects.done[before:]


#: How each state is come to.
STATES: dict[str, tuple[str, ...]] = {
    "idle": (),
    "greeting": ("start",),
    "live": ("start", "welcomed"),
    "deaf": ("start", "welcomed", "lost"),
    "resting": ("start", "refused"),
    "leaving": ("start", "welcomed", "stop"),
    "over": ("stop",),
}
#: All that is done about anything; what is not here changes nothing.
TABLE: dict[tuple[str, str], Sequence[str]] = {
    ("idle", "start"): ["hello"],
    ("idle", "stop"): ["no wait", "give up", "over"],
    ("greeting", "welcomed"): ["begin s1", "open"],
    ("greeting", "refused"): ["wait"],
    ("greeting", "stop"): ["no wait", "give up", "over"],
    ("live", "lost"): ["hang up", "wait"],
    ("live", "closed"): ["hang up", "end", "give up", "wait"],
    ("live", "unauthorized"): ["no wait", "hang up", "end", "wait"],
    ("live", "changed"): ["no wait", "hang up", "give up", "end", "hello"],
    ("live", "stop"): ["no wait", "give up", "hang up", "farewell"],
    ("deaf", "again"): ["open"],
    ("deaf", "unauthorized"): ["no wait", "hang up", "end", "wait"],
    ("deaf", "changed"): ["no wait", "hang up", "give up", "end", "hello"],
    ("deaf", "stop"): ["no wait", "give up", "hang up", "farewell"],
    ("resting", "again"): ["hello"],
    ("resting", "stop"): ["no wait", "give up", "over"],
    ("leaving", "left"): ["end", "over"],
}


class SessionTests(SynchronousTestCase):
    def test_every_event_in_every_state(self) -> None:
        """What is in the table is done; all else comes too late or twice, and does nothing."""
        for state, way in STATES.items():
            for event in EVENTS:
                done = Running(*way).happens(event)
                self.assertEqual(done, list(TABLE.get((state, event), ())), f"{event} in {state}")

    def test_superseded(self) -> None:
        """The lease is given up at once; it says so, and waits as long as ever."""
        for tell in (
            lambda inputs: inputs.closed("superseded"),
            lambda inputs: inputs.unauthorized(TAKEN),
        ):
            running = Running("start", "welcomed")
            tell(running.inputs)
            self.assertIn("give up", running.effects.done)
            self.assertEqual(running.effects.done[-2:], ["doubled", "wait"])
            self.assertEqual(running.effects.waits, [60.0])
            self.assertEqual(running.happens("again"), ["hello"])

    def test_waits_grow(self) -> None:
        """Each failure doubles the ceiling, of which a random part is waited, up to a minute."""
        running = Running("start")
        for _ in range(9):
            running.happens("refused")
            running.happens("again")
        self.assertEqual(running.effects.waits, [0.5, 1, 2, 4, 8, 16, 30, 30, 30])

    def test_a_good_session(self) -> None:
        """After a minute of a stream all is well again; after less it is not."""
        running = Running("start", "refused", "again", "refused", "again", "welcomed")
        running.now += 59
        running.happens("lost")
        self.assertEqual(running.effects.waits[-1], 2)
        running.happens("again")
        running.now += 60
        running.happens("lost")
        self.assertEqual(running.effects.waits[-1], 0.5)

    def test_refused_for_good(self) -> None:
        """No refusal ends an agent: operators add nodes again."""
        running = Running("start")
        errors: list[RescriptumError] = [Rejected("unknown-node"), Rejected("stale"), DOWN]
        for error in errors:
            running.inputs.refused(error)
            self.assertEqual(running.happens("again"), ["hello"])

    @given(st.lists(st.sampled_from(sorted(EVENTS)), max_size=30))
    def test_any_order(self, events: list[str]) -> None:
        """
        Nothing is raised; there is one wait at a time at most, one stream, and after the end
        nothing is done.
        """
        running = Running()
        waiting = streams = 0
        for event in events:
            if event == "again":
                if not waiting:
                    continue
                waiting = 0
            for done in running.happens(event):
                waiting += (done == "wait") - (done == "no wait") * waiting
                streams += (done == "open") - (done == "hang up") * streams
                self.assertLessEqual(waiting, 1)
                self.assertLessEqual(streams, 1)
        ends = running.effects.done.count("over")
        self.assertLessEqual(ends, 1)
        if ends:
            self.assertEqual(running.effects.done[-1], "over")
