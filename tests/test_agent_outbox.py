"""Tests for ``rescriptum.agent.outbox``: what is told, how often, and when no more."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.journal import Entry, State
from rescriptum.agent.outbox import BATCH, COMMANDS, RELEASES, RESULTS, Outbox, result_frame
from rescriptum.contract.commands import AttestedResult, Result
from rescriptum.contract.frames import (
    FRAMES,
    Accepted,
    AgentFrame,
    Journalled,
    Refused,
    Release,
    ResultFrame,
    agent_fields,
)
from rescriptum.contract.jose import opened
from rescriptum.contract.keys import generate, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import rendered, structured
from tests.agent_commands import NOW, command

DONE = Result(True, "ok")


def told(box: Outbox, **answer: tuple[object, ...]) -> list[str]:
    return box.told(box.batch(), Accepted(**answer))  # type: ignore[arg-type]


class OutboxTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.box = Outbox()

    def test_until_answered(self) -> None:
        """Each is told again until the gateway names it."""
        self.box.results([ResultFrame("c1", DONE, NOW)])
        self.box.journalled("c2")
        self.box.refused("c3", Rejected("expired", "long ago"))
        self.box.release(4)
        frames: list[AgentFrame] = [
            Release(4),
            Journalled("c2"),
            Refused("c3", "expired", "long ago"),
            ResultFrame("c1", DONE, NOW),
        ]
        self.assertEqual(self.box.batch(), frames)
        self.assertEqual(told(self.box), [])
        self.assertEqual(self.box.batch(), frames)
        self.assertEqual(told(self.box, released=(4,), journalled=("c2",)), [])
        self.assertEqual(self.box.batch(), frames[2:])
        self.assertEqual(told(self.box, results=("c3", "c1", "c9")), ["c1"])
        self.assertEqual((self.box.batch(), len(self.box)), ([], 0))

    def test_what_came_meanwhile(self) -> None:
        """An answer says nothing of a result that was not in its request."""
        self.box.journalled("c1")
        batch = self.box.batch()
        self.box.results([ResultFrame("c1", DONE, NOW)])
        self.assertEqual(self.box.told(batch, Accepted(results=("c1",), journalled=("c1",))), [])
        self.assertEqual(self.box.batch(), [ResultFrame("c1", DONE, NOW)])

    def test_once(self) -> None:
        """What is said twice is told once; what was refused first and taken later is taken."""
        for _ in range(2):
            self.box.release(1)
            self.box.refused("c1", Rejected("busy"))
            self.box.results([ResultFrame("c2", DONE, NOW)])
        self.assertEqual(len(self.box), 3)
        self.box.journalled("c1")
        self.assertIn(Journalled("c1"), self.box.batch())
        self.assertEqual(len(self.box), 3)

    def test_of_no_name(self) -> None:
        """A command that nobody can name is refused once: no answer could say that of it."""
        self.box.refused("", Rejected("malformed-jws"))
        self.assertEqual(len(self.box.batch()), 1)
        told(self.box)
        self.assertEqual(self.box.batch(), [])

    def test_bounds(self) -> None:
        """Of each sort so many wait; the oldest are dropped."""
        for number in range(1, 1000):
            self.box.release(number)
            self.box.journalled(f"c{number}")
            self.box.results([ResultFrame(f"c{number}", DONE, NOW)])
        self.assertEqual(len(self.box), RELEASES + COMMANDS + RESULTS)
        self.assertEqual(self.box.batch()[RELEASES - 1], Release(999))

    def test_a_request(self) -> None:
        """So many frames, with room for a status; so many bytes, but always one frame."""
        for number in range(FRAMES + 9):
            self.box.journalled(f"c{number}")
        self.assertEqual(len(self.box.batch()), FRAMES - 1)
        box = Outbox()
        large = evolve(DONE, data={"text": "x" * 180_000})
        box.results(ResultFrame(f"c{n}", large, NOW) for n in range(4))
        batch = box.batch()
        self.assertEqual(len(batch), 2)
        self.assertLess(len(rendered([agent_fields(each) for each in batch])), BATCH)
        box = Outbox()
        box.results([ResultFrame("c1", evolve(DONE, data={"text": "x" * 600_000}), NOW)] * 2)
        self.assertEqual(len(box.batch()), 1)

    def test_spurned(self) -> None:
        """
        A frame that the gateway does not take stands in nobody's way: they go one by one until one
        is taken, and it goes last.
        """
        for name in ("c1", "c2", "c3"):
            self.box.journalled(name)
        self.box.spurned(self.box.batch())
        self.assertEqual(self.box.batch(), [Journalled("c1")])
        self.box.spurned(self.box.batch())
        self.assertEqual(self.box.batch(), [Journalled("c2")])
        told(self.box, journalled=("c2",))
        self.assertEqual(self.box.batch(), [Journalled("c3"), Journalled("c1")])

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["release", "journalled", "refused", "results", "told", "spurned"]),
                st.integers(1, 4),
            )
        )
    )
    def test_nothing_is_lost(self, steps: list[tuple[str, int]]) -> None:
        """Whatever comes in whatever order: what was not answered for is told in the end."""
        box, waiting = Outbox(), set[object]()
        for what, number in steps:
            name = f"c{number}"
            if what == "release":
                box.release(number)
                waiting.add(number)
            elif what == "journalled":
                box.journalled(name)
                waiting.discard(("refused", name))
                waiting.add(("journalled", name))
            elif what == "refused":
                box.refused(name, Rejected("busy"))
                waiting.add(("refused", name))
            elif what == "results":
                box.results([ResultFrame(name, DONE, NOW)])
                waiting.add(("result", name))
            elif what == "spurned":
                box.spurned(box.batch())
            else:
                batch = box.batch()
                results = {f.command_id for f in batch if isinstance(f, Refused | ResultFrame)}
                results &= {name}
                done = box.told(batch, Accepted(results=tuple(results), released=(number,)))
                waiting.discard(number)
                if results:
                    waiting.discard(("refused", name))
                waiting -= {("result", each) for each in done}
        self.assertEqual(len(box), len(waiting))


class ResultFrameTests(SynchronousTestCase):
    key = generate("Ed25519")

    def entry(self, result: Result = DONE, attested: bool = False) -> Entry:
        of = evolve(command("c1"), attested=attested)
        return Entry(of, "sha256:d", b"{}", State.DONE, "boot-1", result, NOW + 5)

    def attested(self, frame: ResultFrame) -> AttestedResult:
        claims = opened("result", frame.attestation, trusted(self.key)).claims
        return structured(AttestedResult, claims)

    def test_plain(self) -> None:
        """Of a command that wants no more."""
        frame = result_frame(self.entry(), "n1", self.key)
        self.assertEqual(frame, ResultFrame("c1", DONE, NOW + 5))

    def test_attested(self) -> None:
        """The node's key signs what became of which octets."""
        frame = result_frame(self.entry(attested=True), "n1", self.key)
        self.assertEqual(frame.result, DONE)
        self.assertEqual(
            self.attested(frame),
            AttestedResult(
                "c1", "sha256:d", "n1", "boot-1", DONE, NOW + 5, {**public_jwk(self.key)}
            ),
        )

    def test_too_long_to_be_signed(self) -> None:
        """The gateway is told so, signed; what was done is in the journal."""
        large = Result(True, "ok", data={"text": "x" * 100_000})
        frame = result_frame(self.entry(large, attested=True), "n1", self.key)
        self.assertEqual((frame.result.ok, frame.result.code), (False, "too-large"))
        self.assertEqual(self.attested(frame).result, frame.result)
