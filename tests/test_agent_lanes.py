"""Tests for ``rescriptum.agent.lanes``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.lanes import Lanes


class LanesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.lanes = Lanes(2)

    def add(self, *names: str) -> None:
        """The key of ``bmc1-a`` is ``bmc1``, that of ``a`` is none."""
        for name in names:
            self.lanes.add(name, name.partition("-")[0] if "-" in name else "")

    def test_independent_ones_run_side_by_side(self) -> None:
        self.add("a", "b", "c")
        self.assertEqual(self.lanes.begin(), ["a", "b"])
        self.assertEqual(self.lanes.begin(), [])
        self.assertEqual(self.lanes.waiting, 1)
        self.lanes.end("a")
        self.assertEqual(self.lanes.begin(), ["c"])

    def test_those_of_one_key_run_one_after_the_other(self) -> None:
        self.add("bmc1-a", "bmc1-b", "bmc2-a")
        self.assertEqual(self.lanes.begin(), ["bmc1-a", "bmc2-a"])
        self.lanes.end("bmc2-a")
        self.assertEqual(self.lanes.begin(), [])
        self.lanes.end("bmc1-a")
        self.assertEqual(self.lanes.begin(), ["bmc1-b"])

    def test_what_waits_can_be_withdrawn(self) -> None:
        self.add("bmc1-a", "bmc1-b", "bmc1-c")
        self.lanes.begin()
        self.assertTrue(self.lanes.withdraw("bmc1-b"))
        self.assertFalse(self.lanes.withdraw("bmc1-b"))
        self.assertFalse(self.lanes.withdraw("bmc1-a"))
        self.lanes.end("bmc1-a")
        self.assertEqual(self.lanes.begin(), ["bmc1-c"])

    @given(st.lists(st.tuples(st.sampled_from(["", "x", "y"]), st.booleans())), st.integers(1, 4))
    def test_whatever_happens(self, steps: list[tuple[str, bool]], abreast: int) -> None:
        """
        Never too many, never two of a key, each key in order, and all begin in the end.
        """
        lanes, running, begun = Lanes(abreast), [], []
        keys: dict[str, str] = {}

        def begin() -> None:
            for name in lanes.begin():
                running.append(name)
                begun.append(name)
            self.assertLessEqual(len(running), abreast)
            held = [keys[name] for name in running if keys[name]]
            self.assertEqual(len(held), len(set(held)))

        for number, (key, end) in enumerate(steps):
            keys[str(number)] = key
            lanes.add(str(number), key)
            begin()
            if end and running:
                lanes.end(running.pop(0))
                begin()
        while running:
            lanes.end(running.pop())
            begin()
        self.assertEqual(sorted(begun), sorted(keys))
        for key in ("x", "y"):
            order = [int(name) for name in begun if keys[name] == key]
            self.assertEqual(order, sorted(order))
