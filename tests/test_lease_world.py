"""Tests for the boot lease in a world that does its worst: the product's own classes, run whole."""

from collections import deque

from attrs import define
from twisted.trial.unittest import SynchronousTestCase

from .lease_outside import LateFrames
from .lease_world import Broken, World

#: Runs of a test, and virtual seconds of a run.
RUNS, SECONDS = 500, 220.0


@define
class Happened:
    """What runs came to, added up: a world in which nothing happens would prove nothing."""

    epochs: int = 0
    changes: int = 0
    late: int = 0


def survived(kind: type[World], seed: int) -> World:
    """
    :raises Broken: with the end of the run, which anybody replays by its seed.
    """
    world = kind(seed)
    try:
        world.run(SECONDS)
    except Broken as e:
        again = kind(seed)
        again.trail = deque(maxlen=40)
        try:
            again.run(SECONDS)
        except Broken:
            told = "\n".join(again.trail)
            raise Broken(f"{kind.__name__}({seed}): {e}\n{told}") from None
        raise
    return world


class WorldTests(SynchronousTestCase):
    def holds(self, first: int, runs: int = RUNS, kind: type[World] = World) -> None:
        """I1 to I5 in so many runs."""
        happened = Happened()
        for seed in range(first, first + runs):
            world = survived(kind, seed)
            happened.epochs += world.epochs
            happened.changes += len(world.opened)
            happened.late += world.late
        self.assertGreater(happened.epochs, 4 * runs)
        self.assertGreater(happened.changes, 2 * runs)
        self.assertGreater(happened.late, runs // 10)

    def test_the_first_quarter(self) -> None:
        self.holds(0)

    def test_the_second_quarter(self) -> None:
        self.holds(RUNS)

    def test_the_third_quarter(self) -> None:
        self.holds(2 * RUNS)

    def test_the_fourth_quarter(self) -> None:
        self.holds(3 * RUNS)

    def test_frames_of_dead_streams(self) -> None:
        """An agent that does not drop them is still safe: its numbers are nobody else's."""
        self.holds(0, 100, LateFrames)

    def test_a_broken_run_is_told(self) -> None:
        """With its seed, and what came before."""

        class Doomed(World):
            def _polls_ended(self) -> None:
                raise Broken("I1 at 20.000: so it was said")

            def __init__(self, seed: int) -> None:
                super().__init__(seed)
                self.after(20.0, self._polls_ended)

        error = self.assertRaises(Broken, survived, Doomed, 7)
        self.assertIn("Doomed(7): I1 at 20.000", str(error))
        self.assertIn("epoch 1 for node-", str(error))


class CalmTests(SynchronousTestCase):
    """That somebody serves at all: a fence that never opens would be safe."""

    def world(self, seed: int = 1) -> World:
        return World(seed, trouble=False, copied=False, ttl_ms=15_000)

    def test_one_holder_for_as_long_as_nothing_happens(self) -> None:
        """The epoch does not move for a lost request now and then."""
        for seed in range(10):
            world = self.world(seed)
            world.run(5.0)
            [holder] = world.open_hosts()
            for minute in range(1, 6):
                world.run(60.0 * minute)
                self.assertEqual(world.open_hosts(), [holder])
            self.assertEqual((world.row.epoch, len(world.opened)), (1, 1))

    def test_the_operators_choice(self) -> None:
        """It moves there and stays, whoever has lived longer."""
        world = self.world()
        world.run(30.0)
        for node in ("node-a", "node-b", "node-a"):
            world.wanted = node
            world.run(world.now + 20.0)
            self.assertEqual([each.node for each in world.open_hosts()], [node])

    def test_a_holder_that_is_cut_off(self) -> None:
        """It stops by itself before the other begins, and gets its lease back from nobody."""
        world = self.world()
        world.run(30.0)
        [holder] = world.open_hosts()
        holder.cut_until = 90.0
        world.run(44.9)
        world.run(60.0)
        [other] = world.open_hosts()
        self.assertIsNot(other, holder)
        world.run(200.0)
        self.assertEqual((world.open_hosts(), world.row.epoch), ([other], 2))

    def test_a_copied_identity(self) -> None:
        """Two hosts with one node's identity: one of them serves, and goes on."""
        for seed in range(10):
            world = World(seed, trouble=False, copied=True, ttl_ms=15_000)
            world.run(5.0)
            [holder] = world.open_hosts()
            world.run(120.0)
            self.assertEqual((world.open_hosts(), world.row.epoch), ([holder], 1))
