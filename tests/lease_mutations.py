"""
The lease's rules with one of them broken: the product's source with a line changed, loaded beside
the product under another name. Each must be caught, or the tests hold less than they say.
"""

from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import frozen

from rescriptum.boot import lease as boot_lease
from rescriptum.gateway import lease as gateway_lease

from .lease_explorer import Bounds
from .lease_rules import Rules

AGENT, GATEWAY = boot_lease.__name__, gateway_lease.__name__


TWO_EPOCHS = Bounds(epochs=2)
#: What rules hand to each other: the product's own, in changed copies too.
VALUES = {
    AGENT: ("Prove", "GaveUp", "LeaseStatus"),
    GATEWAY: ("LeaseRow", "Candidate", "Grant", "Take", "StandBy"),
}


class Outdated(AssertionError):
    """The text that a mutation changes is not there once any more."""


@frozen
class Patch:
    """
    :ivar module: a module of the product.
    :ivar old: text that is in it once; ``new`` stands there instead. What ``new`` asks of
        ``told`` is what the world tells to changed copies only.
    """

    module: str
    old: str
    new: str


@frozen
class Mutation:
    """
    :ivar why: what goes wrong, at the shortest.
    :ivar steps: a way to two open fences, in the explorer's words; none where what is broken is
        not in its world. ``bounds`` and ``deaf`` are what it was found with.
    :ivar searched: whether the explorer finds it again in a few seconds.
    """

    name: str
    why: str
    patches: tuple[Patch, ...]
    steps: tuple[str, ...] = ()
    bounds: Bounds = TWO_EPOCHS
    deaf: bool = True
    searched: bool = False


MUTATIONS = (
    Mutation(
        "receive-time",
        "a section opens the fence when it arrives, however long it was under way",
        (
            Patch(
                AGENT,
                "self.last_heard = epoch, ttl_ms / 1000, None",
                'self.last_heard = epoch, ttl_ms / 1000, told["receipt"]',
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "gateway grants 2 to B",
            "B hears active 2",
            "A hears active 1",
        ),
        searched=True,
    ),
    Mutation(
        "ack-receive-time",
        "an acknowledgement names its heartbeat, but the fence runs from its receipt",
        (
            Patch(
                AGENT,
                "self.last_heard = sent if self.last_heard is None else max(self.last_heard, sent)",
                'self.last_heard = told["receipt"]',
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "arbiter 0 reads the row",
            "time passes",
            "time passes",
            "arbiter 0 gives 2 to B",
            "A hears ack 0 for 1",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
    ),
    Mutation(
        "standby-acks-count",
        "what a standby heartbeat is answered with counts for an epoch that came after it",
        (
            Patch(
                AGENT,
                "if epoch != asked or epoch != self.epoch or epoch <= self.released:",
                "if beat not in self.pending or self.epoch <= self.released:",
            ),
            Patch(
                GATEWAY,
                "if row.epoch != epoch or row.holder != session:\n        return None",
                "if not epoch:\n        return row\n"
                "    if row.epoch != epoch or row.holder != session:\n        return None",
            ),
        ),
        steps=(
            "A sends heartbeat 0 for 0",
            "gateway records heartbeat 0 of A for 0",
            "gateway grants 1 to A",
            "gateway grants 2 to B",
            "A hears active 1",
            "A hears ack 0 for 0",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
        bounds=Bounds(epochs=2, on_standby=True),
    ),
    Mutation(
        "ack-without-record",
        "a process that remembers who holds the lease acknowledges without a write",
        (
            Patch(
                GATEWAY,
                "if row.epoch != epoch or row.holder != session:\n        return None",
                "if epoch:\n        return row",
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "gateway grants 2 to B",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "A hears ack 0 for 1",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
        searched=True,
    ),
    Mutation(
        "holder-is-node",
        "a copied identity: one grant, and heartbeats of both copies are recorded",
        (
            Patch(
                GATEWAY,
                "if row.epoch != epoch or row.holder != session:",
                'if row.epoch != epoch or row.holder_node != session.rpartition("/")[0]:',
            ),
            Patch(
                GATEWAY,
                "if row.holder != session:\n        return LeaseSection(False",
                'if row.holder_node != session.rpartition("/")[0]:\n'
                "        return LeaseSection(False",
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "gateway writes active 1 to B",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "A hears ack 0 for 1",
            "B hears active 1",
            "B sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of B for 1",
            "B hears ack 0 for 1",
        ),
        bounds=Bounds(epochs=1, nodes=("node-a", "node-a")),
        searched=True,
    ),
    Mutation(
        "take-ignores-beat",
        "the swap compares the epoch alone: the holder proved again after it was observed",
        (
            Patch(
                GATEWAY,
                "if row.epoch != epoch or row.holder is None or row.beat != beat:",
                "if row.epoch != epoch or row.holder is None:",
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "arbiter 0 reads the row",
            "time passes",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "arbiter 0 gives 2 to B",
            "A hears ack 0 for 1",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
    ),
    Mutation(
        "no-rate-allowance",
        "the ttl on a fast clock ends before that of a slow one",
        (Patch(GATEWAY, "return ttl * (1 + RATE) / (1 - RATE) + GRACE", "return ttl"),),
        steps=(
            "gateway grants 1 to A",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "arbiter 0 reads the row",
            "time passes",
            "time passes",
            "arbiter 0 gives 2 to B",
            "A hears ack 0 for 1",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
        bounds=Bounds(epochs=2, tick=7.475),
    ),
    Mutation(
        "observe-before-read",
        "stamped when the query began: the beat was recorded while it was slow",
        (
            Patch(
                GATEWAY,
                "self.seen, self.since = (row.epoch, row.beat), now",
                'self.seen, self.since = (row.epoch, row.beat), told["asked"]',
            ),
        ),
    ),
    Mutation(
        "release-reopens",
        "a section that was under way while the epoch was given up brings it back",
        (Patch(AGENT, "self.released = max(self.released, epoch)\n", "pass\n"),),
        steps=(
            "gateway grants 1 to A",
            "gateway writes inactive 1 to A",
            "A hears inactive 1",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "gateway hears A release 1",
            "gateway grants 2 to B",
            "A hears ack 0 for 1",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
    ),
    Mutation(
        "release-names-no-epoch",
        "a late release of an earlier epoch frees the one that the node holds since",
        (
            Patch(
                GATEWAY,
                "if row.epoch != epoch or row.holder_node != node:",
                "if row.holder_node != node:",
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "A hears active 1",
            "A says Hello again",
            "gateway grants 2 to A",
            "A hears active 2",
            "A sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of A for 2",
            "A hears ack 0 for 2",
            "gateway hears A release 1",
            "gateway grants 3 to B",
            "B hears active 3",
            "B sends heartbeat 0 for 3",
            "gateway records heartbeat 0 of B for 3",
            "B hears ack 0 for 3",
        ),
        bounds=Bounds(epochs=3, sessions=2),
    ),
    Mutation(
        "ttl-changes-in-place",
        "a shorter ttl reaches the arbiter before it reaches the agent",
        (Patch(GATEWAY, "patience(row.ttl) if", 'patience(told["setting"]) if'),),
    ),
    Mutation(
        "old-streams-count",
        "numbers begin anew in every session, and bytes of a dead stream still count",
        (
            Patch(
                AGENT,
                "        self.pending.clear()\n        return",
                "        self.beat = 0\n        return",
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "A is killed and started",
            "A hears active 1",
            "arbiter 0 reads the row",
            "time passes",
            "time passes",
            "A sends heartbeat 0 for 1",
            "arbiter 0 gives 2 to B",
            "A hears ack 0 for 1",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
        bounds=Bounds(epochs=2, beats=2, sessions=2),
        deaf=False,
    ),
    Mutation(
        "present-epoch-for-all",
        "a copied identity is told of an epoch that it does not hold, and releases it",
        (
            Patch(
                GATEWAY,
                "return LeaseSection(False, max(row.epoch - 1, 0), None)",
                "return LeaseSection(False, row.epoch, None)",
            ),
        ),
        steps=(
            "gateway grants 1 to A",
            "gateway writes inactive 1 to B",
            "B hears inactive 1",
            "A hears active 1",
            "A sends heartbeat 0 for 1",
            "gateway records heartbeat 0 of A for 1",
            "A hears ack 0 for 1",
            "gateway hears B release 1",
            "gateway grants 2 to B",
            "B hears active 2",
            "B sends heartbeat 0 for 2",
            "gateway records heartbeat 0 of B for 2",
            "B hears ack 0 for 2",
        ),
        bounds=Bounds(epochs=2, nodes=("node-a", "node-a")),
    ),
)


def loaded(mutation: Mutation) -> Rules:
    """
    :returns: the rules of changed copies of the product's modules.
    :raises Outdated: when the product does not have the changed text exactly once.
    """
    told: dict[str, float] = {}
    copies = []
    for product in (boot_lease, gateway_lease):
        name = product.__name__
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        text = Path(spec.origin).read_text()
        for patch in mutation.patches:
            if patch.module == name:
                if text.count(patch.old) != 1:
                    raise Outdated(f"{mutation.name}: {name} has no single {patch.old!r}")
                text = text.replace(patch.old, patch.new)
        copy: Any = ModuleType(f"{name}_{mutation.name.replace('-', '_')}")
        copy.__package__, copy.told = name.rpartition(".")[0], told
        exec(compile(text, f"<{copy.__name__}>", "exec"), copy.__dict__)
        for value in VALUES[name]:
            setattr(copy, value, getattr(product, value))
        copies.append(copy)
    return Rules.of(copies[0], copies[1], told.__setitem__)
