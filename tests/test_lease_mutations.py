"""Tests that the tests of the boot lease hold what they say: each broken rule is caught."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from .lease_explorer import Explorer
from .lease_mutations import MUTATIONS, Mutation, Outdated, Patch, loaded
from .lease_outside import OUTSIDE
from .lease_rules import PRODUCT
from .lease_world import Broken, World

#: Of a mutation, until one is caught.
RUNS, SECONDS = 600, 180.0
#: Too rare for runs by chance: the explorer's way to two open fences is what catches them.
RARE = {"old-streams-count"}


def named(name: str) -> Mutation:
    [mutation] = [each for each in MUTATIONS if each.name == name]
    return mutation


class WorldTests(SynchronousTestCase):
    def caught(self, name: str) -> None:
        """Two fences are open at one time, in some run."""
        rules = loaded(named(name))
        for seed in range(RUNS):
            try:
                World(seed, rules, asserted="I1").run(SECONDS)
            except Broken:
                return
        self.fail(f"{name} survived {RUNS} runs")

    def test_every_one_has_its_test(self) -> None:
        """A row of the table without one here would be forgotten."""
        tests = {each.removeprefix("test_").replace("_", "-") for each in dir(self)}
        self.assertEqual({each.name for each in MUTATIONS} - tests, RARE)

    def test_receive_time(self) -> None:
        self.caught("receive-time")

    def test_ack_receive_time(self) -> None:
        self.caught("ack-receive-time")

    def test_standby_acks_count(self) -> None:
        self.caught("standby-acks-count")

    def test_ack_without_record(self) -> None:
        self.caught("ack-without-record")

    def test_holder_is_node(self) -> None:
        self.caught("holder-is-node")

    def test_take_ignores_beat(self) -> None:
        self.caught("take-ignores-beat")

    def test_no_rate_allowance(self) -> None:
        self.caught("no-rate-allowance")

    def test_observe_before_read(self) -> None:
        self.caught("observe-before-read")

    def test_release_reopens(self) -> None:
        self.caught("release-reopens")

    def test_release_names_no_epoch(self) -> None:
        self.caught("release-names-no-epoch")

    def test_ttl_changes_in_place(self) -> None:
        self.caught("ttl-changes-in-place")

    def test_present_epoch_for_all(self) -> None:
        self.caught("present-epoch-for-all")


class OutsideTests(SynchronousTestCase):
    """Where an assumption does not hold the lease does not either: it is stated for a reason."""

    def caught(self, name: str) -> None:
        for seed in range(RUNS):
            try:
                OUTSIDE[name](seed, asserted="I1").run(SECONDS)
            except Broken:
                return
        self.fail(f"{name} survived {RUNS} runs")

    def test_frozen_clock(self) -> None:
        self.caught("frozen-clock")

    def test_lossy_database(self) -> None:
        self.caught("lossy-database")

    def test_wall_clock(self) -> None:
        self.caught("wall-clock")


class ScriptTests(SynchronousTestCase):
    """The shortest ways to two open fences, step by step, on the real classes."""

    def test_each_way_leads_there(self) -> None:
        """When the rule is broken: every step can happen."""
        for mutation in MUTATIONS:
            if mutation.steps:
                explorer = Explorer(mutation.bounds, loaded(mutation), True, mutation.deaf)
                state, stopped = explorer.play(mutation.steps)
                self.assertEqual(stopped, "", mutation.name)
                self.assertTrue(explorer.two_open(state), mutation.name)

    def test_the_product_does_not_go_there(self) -> None:
        """Some step cannot happen, or opens nothing."""
        for mutation in MUTATIONS:
            if mutation.steps:
                explorer = Explorer(mutation.bounds, PRODUCT, True, mutation.deaf)
                state, _ = explorer.play(mutation.steps)
                self.assertFalse(explorer.two_open(state), mutation.name)

    def test_what_has_no_way(self) -> None:
        """A query takes no time in the explorer's world, and every epoch has the same ttl."""
        without = {each.name for each in MUTATIONS if not each.steps}
        self.assertEqual(without, {"observe-before-read", "ttl-changes-in-place"})

    def test_the_explorer_finds_them(self) -> None:
        """No way is shorter than the one that is written down."""
        for mutation in MUTATIONS:
            if mutation.searched:
                explorer = Explorer(mutation.bounds, loaded(mutation), True, mutation.deaf)
                _, way = explorer.search()
                self.assertEqual(len(way), len(mutation.steps), way)


class PatchTests(SynchronousTestCase):
    def test_text_that_is_gone(self) -> None:
        """A mutation that no longer changes anything fails, rather than being caught by luck."""
        for old in ("no such text", "return"):
            patch = Patch("rescriptum.boot.lease", old, "")
            mutation = evolve(MUTATIONS[0], patches=(patch,))
            self.assertRaises(Outdated, loaded, mutation)

    def test_a_copy_with_nothing_changed(self) -> None:
        """It is as good as the product: what is caught is the change."""
        rules = loaded(evolve(MUTATIONS[0], patches=()))
        for seed in range(20):
            World(seed, rules).run(SECONDS)
