"""Tests for ``rescriptum.gateway.workflows``, and for the tables in its plans and parameters."""

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import Role
from rescriptum.contract.kinds import KINDS
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.gateway.parameters import PARAMETERS, checked
from rescriptum.gateway.plans import ENTRY_SECONDS, WORKFLOWS, token_ref
from rescriptum.gateway.records import Machine, StepState, WorkflowState
from rescriptum.gateway.workflows import (
    APPROVAL_SECONDS,
    STEP_SECONDS,
    Conclude,
    Decision,
    Facts,
    Finish,
    Order,
    Send,
    SiteAgent,
    Standing,
    Step,
    Wait,
    WorkflowKind,
    decide,
    finishing,
)
from rescriptum.ramdisk.collecting import CollectInventory
from rescriptum.ramdisk.command import MachineKind
from rescriptum.ramdisk.diagnosing import RunDiagnostics
from rescriptum.ramdisk.imaging import WriteImage
from rescriptum.ramdisk.kexec import StartInstalled
from rescriptum.ramdisk.power import Leave
from rescriptum.ramdisk.seeding import WriteSeed
from rescriptum.ramdisk.wiping import WipeDisks

MACHINE = Machine(
    "r1u1",
    "vienna",
    ("52:54:00:00:00:01",),
    bmc_address="192.0.2.9",
    bmc_driver="redfish",
    credential_ref="r1u1-bmc",
)
IMAGE: JSON = {"sha256": "ab" * 32, "url": "https://images.example.com/debian.raw"}
STANDING = Standing(StepState.WAITING)


@define
class Life:
    """A workflow as who carries it out keeps it; commands do what the test says."""

    kind: WorkflowKind
    facts: Facts
    standings: list[Standing] = field(init=False)
    sent: list[Send] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.standings = [STANDING] * len(self.steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        return WORKFLOWS[self.kind]

    def decide(self) -> Decision:
        decision = decide(self.steps, self.standings, self.facts)
        # Whoever is asked again after a restart says the same.
        assert decide(self.steps, self.standings, self.facts) == decision
        return decision

    def go(self) -> Wait | Finish:
        """Do what is decided until there is nothing to do."""
        while True:
            decision = self.decide()
            if isinstance(decision, Finish):
                return decision
            now = self.standings[decision.number]
            if now.started_at is None:
                now = evolve(now, started_at=self.facts.now, state=StepState.RUNNING)
            if isinstance(decision, Wait):
                self.standings[decision.number] = now
                return decision
            if isinstance(decision, Send):
                self.sent.append(decision)
                now = evolve(
                    now,
                    state=StepState.RUNNING,
                    command_sent=True,
                    command_ok=None,
                    epoch=decision.order.epoch,
                    awaits_approval=decision.destructive,
                )
            else:
                now = evolve(now, state=decision.state, reason=decision.reason)
            self.standings[decision.number] = now

    def answer(self, number: int, ok: bool = True, code: str = "ok", detail: str = "") -> None:
        self.standings[number] = evolve(
            self.standings[number], command_ok=ok, command_code=code, command_detail=detail
        )

    def later(self, seconds: int, **facts: object) -> None:
        self.facts = evolve(self.facts, now=self.facts.now + seconds, **facts)  # type: ignore[arg-type]


def life(kind: WorkflowKind = WorkflowKind.DEPLOY, **facts: object) -> Life:
    known: dict[str, object] = {
        "epoch": 3,
        "boot_node": "site-1",
        "agents": (SiteAgent("site-1"),),
        "subject": MACHINE,
        "parameters": IMAGE,
    }
    return Life(kind, Facts(workflow="w1", now=1000, **(known | facts)))  # type: ignore[arg-type]


class DeployTests(SynchronousTestCase):
    def test_the_whole_way(self) -> None:
        """Each step's command is sent once the one before it is done; then all of it is."""
        way = life()
        for number, step in enumerate(way.steps[:3]):
            self.assertEqual(way.go().number, number)  # type: ignore[union-attr]
            self.assertEqual(way.sent[-1].order.kind, step.order(way.facts).kind)  # type: ignore[union-attr,misc]
            way.answer(number)
        waiting = way.go()
        reason = "waits for the machine's ramdisk to join"
        self.assertEqual(waiting, Wait(3, reason, 1000 + 2 * STEP_SECONDS))
        way.later(60, ramdisk="ramdisk-1")
        for number in (4, 5, 7):  # there is no user data
            self.assertEqual(way.go().number, number)  # type: ignore[union-attr]
            self.assertEqual(way.sent[-1].order.node, "ramdisk-1")
            way.answer(number)
        self.assertEqual(way.go(), Finish(WorkflowState.DONE))
        states = [each.state for each in way.standings]
        self.assertEqual(states.count(StepState.SKIPPED), 2)
        self.assertEqual(
            [each.order.kind for each in way.sent],
            [
                "boot.prepareRamdisk",
                "bmc.boot",
                "bmc.power",
                "disk.wipe",
                "image.write",
                "boot.kexec",
            ],
        )

    def test_what_the_boot_entry_says(self) -> None:
        way = life()
        way.go()
        order = way.sent[0].order
        self.assertEqual((order.node, order.epoch), ("site-1", 3))
        self.assertEqual(order.secret_refs, (token_ref("w1"),))
        self.assertEqual(order.payload["epoch"], 3)
        self.assertEqual(order.payload["token_ref"], token_ref("w1"))
        self.assertEqual(order.payload["mac"], MACHINE.macs[0])

    def test_a_machine_without_a_bmc_is_powered_on_by_somebody(self) -> None:
        way = life(subject=evolve(MACHINE, bmc_address=""))
        way.go()
        way.answer(0)
        self.assertIsInstance(way.go(), Wait)
        self.assertEqual([each.state for each in way.standings[1:3]], [StepState.SKIPPED] * 2)

    def power(self, *agents: SiteAgent) -> Life:
        subject = evolve(MACHINE, bmc_driver="acme", bmc_address="slot 3")
        parameters = {"action": "on"}
        return life(WorkflowKind.POWER, subject=subject, parameters=parameters, agents=agents)

    def test_whoever_hosts_the_driver_is_asked(self) -> None:
        """Not the first agent, nor one whose driver does something else, but one that can."""
        acme: JSON = {"id": "acme", "concerns": ["power"]}
        other: JSON = {"id": "acme", "concerns": ["boot"]}
        way = self.power(
            SiteAgent("a"), SiteAgent("b", drivers=(other,)), SiteAgent("c", drivers=(acme,))
        )
        way.go()
        self.assertEqual([each.order.node for each in way.sent], ["c"])

    def test_nobody_hosts_the_driver(self) -> None:
        """The workflow says so at once; one that is away may come back with it."""
        way = self.power(SiteAgent("a"))
        reason = "power.setPower: unsupported-driver: no site agent of vienna hosts acme for power"
        self.assertEqual(way.go(), Finish(WorkflowState.FAILED, reason))
        acme: JSON = {"id": "acme", "concerns": ["power"]}
        way = self.power(SiteAgent("a"), SiteAgent("b", False, (acme,)))
        self.assertIsInstance(way.go(), Wait)

    def test_nobody_holds_the_lease(self) -> None:
        """It waits for a site agent, and sends as soon as there is one."""
        way = life(epoch=0, boot_node="", agents=())
        waiting = way.go()
        self.assertEqual(
            waiting, Wait(0, "waits for a site agent with the boot lease", 1000 + STEP_SECONDS)
        )
        way.later(STEP_SECONDS - 1, epoch=1, boot_node="site-2")
        way.go()
        self.assertEqual(way.sent[0].order.node, "site-2")

    def test_the_lease_moves_before_the_ramdisk_joins(self) -> None:
        """The boot entry is bound to its epoch: the new holder gets one of its own, once."""
        way = life()
        for number in range(3):
            way.go()
            way.answer(number)
        way.go()
        way.later(30, epoch=4, boot_node="site-2")
        way.go()
        self.assertEqual([each.order.kind for each in way.sent[3:]], ["boot.prepareRamdisk"])
        self.assertEqual((way.sent[3].order.node, way.sent[3].order.epoch), ("site-2", 4))
        way.answer(0)
        way.go()
        self.assertEqual(len(way.sent), 4)
        way.later(30, ramdisk="ramdisk-1", epoch=5, boot_node="site-1")
        way.go()
        self.assertEqual(way.sent[-1].order.kind, "disk.wipe")

    def test_a_step_that_fails_ends_it(self) -> None:
        way = life()
        way.go()
        way.answer(0, False, "stale-epoch", "epoch 3, and it is 4")
        end = way.go()
        reason = "boot.prepareRamdisk: stale-epoch: epoch 3, and it is 4"
        self.assertEqual(end, Finish(WorkflowState.FAILED, reason))

    def test_a_step_that_does_not_end(self) -> None:
        """Its time is counted from its start, and what it waited for is said."""
        way = life()
        for number in range(3):
            way.go()
            way.answer(number)
        way.go()
        way.later(2 * STEP_SECONDS - 1)
        self.assertIsInstance(way.go(), Wait)
        way.later(1)
        end = way.go()
        self.assertEqual(
            end, Finish(WorkflowState.FAILED, "joined: timeout: the machine's ramdisk to join")
        )

    def test_approval_has_a_day(self) -> None:
        """Not a quarter of an hour: people have to agree."""
        way = life(ramdisk="ramdisk-1")
        for number in range(3):
            way.go()
            way.answer(number)
        waiting = way.go()
        self.assertEqual(waiting, Wait(4, "waits for approval", 1000 + APPROVAL_SECONDS))
        self.assertTrue(way.sent[-1].destructive)

    def test_only_what_destroys_needs_approval(self) -> None:
        """As the table of kinds has it."""
        destructive = {
            step.name for steps in WORKFLOWS.values() for step in steps if step.destructive
        }
        self.assertEqual(destructive, {"disk.wipe", "image.write", "seed.write"})

    def test_every_command_is_of_a_kind_that_its_agent_runs(self) -> None:
        facts = life(ramdisk="ramdisk-1").facts
        for steps in WORKFLOWS.values():
            for step in steps:
                order = step.order(facts) if step.order is not None else None
                if order is not None:
                    role = Role.RAMDISK if order.node == "ramdisk-1" else Role.SITE
                    self.assertIn(role, KINDS[order.kind].roles)
                    self.assertEqual(step.destructive, KINDS[order.kind].destructive)


class FinishingTests(SynchronousTestCase):
    """What a workflow that is over leaves behind is taken back."""

    def finishing(self, epoch: int, prepared_under: int = 3) -> list[Order]:
        way = life()
        way.go()
        prepared = evolve(way.sent[0].order, epoch=prepared_under)
        left = [prepared, *[None] * (len(way.steps) - 1)]
        return list(finishing(way.steps, left, epoch))

    def test_the_boot_entry(self) -> None:
        """At the agent that has it, and that workflow's alone."""
        [order] = self.finishing(3)
        self.assertEqual((order.node, order.kind), ("site-1", "boot.clear"))
        self.assertEqual(order.payload, {"mac": MACHINE.macs[0], "workflow": "w1"})
        self.assertEqual(order.secret_refs, ())

    def test_an_entry_of_another_lease_is_dead(self) -> None:
        self.assertEqual(self.finishing(4), [])
        self.assertEqual(self.finishing(0), [])

    def test_an_entry_that_is_bound_to_none(self) -> None:
        self.assertEqual(len(self.finishing(4, prepared_under=0)), 1)

    def test_nothing_was_done(self) -> None:
        for steps in WORKFLOWS.values():
            self.assertEqual(finishing(steps, [None] * len(steps), 3), ())

    def test_all_that_boot_a_machine(self) -> None:
        """No entry is made that nothing takes back."""
        for steps in WORKFLOWS.values():
            for step in steps:
                self.assertEqual(step.undo is not None, step.name == "boot.prepareRamdisk")


class EveryWorkflowTests(SynchronousTestCase):
    @given(
        st.sampled_from(WorkflowKind),
        st.lists(
            st.tuples(
                st.integers(1, 2000),
                st.booleans(),
                st.booleans(),
                st.integers(0, 3),
                st.booleans(),
            ),
            max_size=40,
        ),
    )
    def test_ends(
        self, kind: WorkflowKind, happens: list[tuple[int, bool, bool, int, bool]]
    ) -> None:
        """
        Whatever happens: steps are done in order, none is begun before those before it are over,
        and time alone ends it.
        """
        way = life(kind, parameters={**IMAGE, "action": "on", "user_data_ref": "u"})
        for seconds, answers, ok, epochs, joins in happens:
            decision = way.go()
            if isinstance(decision, Finish):
                break
            if answers and way.standings[decision.number].command_sent:
                way.answer(decision.number, ok, "failed")
            way.later(
                seconds,
                epoch=way.facts.epoch + epochs,
                ramdisk="r" if joins or way.facts.ramdisk else "",
            )
            begun = [each.started_at is not None for each in way.standings]
            over = [each.state in (StepState.DONE, StepState.SKIPPED) for each in way.standings]
            last = max((at for at, yes in enumerate(begun) if yes), default=0)
            self.assertTrue(all(over[:last]), (begun, over))
        for _ in range(2 * len(way.steps)):
            if isinstance(way.go(), Finish):
                break
            way.later(APPROVAL_SECONDS)
        self.assertIsInstance(way.decide(), Finish)

    def test_every_kind_has_steps_and_parameters(self) -> None:
        self.assertEqual(set(WORKFLOWS), set(WorkflowKind))
        self.assertEqual(set(PARAMETERS), set(WorkflowKind))

    def test_every_payload_is_made_of_parameters_that_may_be_said(self) -> None:
        """A step that asks for a parameter which is in no table would never get it."""
        for kind, steps in WORKFLOWS.items():
            asked: set[str] = set()

            class Parameters(dict[str, object]):
                def get(self, name: str, default: object = None) -> object:
                    asked.add(name)  # noqa: B023
                    return super().get(name, default)

            facts = evolve(life().facts, parameters=Parameters(), ramdisk="r")
            for step in steps:
                step.wanted(facts)
                if step.order is not None:
                    step.order(facts)
            self.assertLessEqual(asked, {each.name for each in PARAMETERS[kind]}, kind)

    def test_a_boot_entry_lasts(self) -> None:
        """
        What a ramdisk may read of the site's cache goes with it, and a step may take all its time.
        Approvals may take longer: then the image comes from its source.
        """
        for kind, (first, *rest) in WORKFLOWS.items():
            if first.name == "boot.prepareRamdisk":
                names = [each.name for each in rest]
                last = names.index("image.write" if "image.write" in names else "joined")
                needed = sum(each.seconds for each in rest[: last + 1])
                self.assertLessEqual(needed, ENTRY_SECONDS, kind)

    def test_an_agent_gives_up_first(self) -> None:
        """Its result says why; the gateway alone could only say that it has heard of none."""
        kinds: tuple[type[MachineKind], ...] = (
            *(WipeDisks, WriteImage, WriteSeed, StartInstalled),
            *(RunDiagnostics, CollectInventory),
        )
        longest = {each.name: each.timeout_s for each in kinds}
        longest["power.off"] = Leave.timeout_s
        for kind, steps in WORKFLOWS.items():
            for step in steps:
                if KINDS.get(step.name) and Role.RAMDISK in KINDS[step.name].roles:
                    self.assertLessEqual(longest[step.name], step.seconds, (kind, step.name))


class ParameterTests(SynchronousTestCase):
    def refused(self, kind: WorkflowKind, parameters: JSON) -> str:
        error = self.assertRaises(Rejected, checked, kind, parameters)
        self.assertEqual(error.code, "invalid-payload")
        return str(error.detail)

    def test_fine(self) -> None:
        parameters: JSON = {**IMAGE, "wipe": "secure", "disks": ["sda"], "expect_node": True}
        self.assertEqual(checked(WorkflowKind.DEPLOY, parameters), parameters)
        cases: tuple[JSON, ...] = (
            {},
            {"diagnose": []},
            {"diagnose": ["memory", "gpu"], "seconds": 3600},
        )
        for each in cases:
            self.assertEqual(checked(WorkflowKind.INSPECT, each), each)

    def test_wrong(self) -> None:
        cases: tuple[tuple[WorkflowKind, JSON, str], ...] = (
            (WorkflowKind.DEPLOY, {}, "deploy needs sha256, url"),
            (WorkflowKind.POWER, {}, "power needs action"),
            (
                WorkflowKind.POWER,
                {"action": "up"},
                "action: one of on, off, soft-off, reset, cycle, nmi",
            ),
            (WorkflowKind.POWER, {"action": 1}, "action: not a text"),
            (WorkflowKind.WIPE, {"disks": "sda"}, "disks: not a list"),
            (WorkflowKind.WIPE, {"x": 1}, "wipe takes no 'x', but wipe, disks, cmdline"),
        )
        for kind, parameters, detail in cases:
            self.assertEqual(self.refused(kind, parameters), detail)

    def test_what_an_agent_would_refuse(self) -> None:
        """When its machine's disks are empty already."""
        cases: tuple[tuple[WorkflowKind, str, object], ...] = (
            (WorkflowKind.DEPLOY, "sha256", "ab"),
            (WorkflowKind.DEPLOY, "sha256", "A" * 64),
            (WorkflowKind.DEPLOY, "url", "ftp://images/1"),
            (WorkflowKind.DEPLOY, "url", "http://"),
            (WorkflowKind.DEPLOY, "url", "http://" + "i" * 2042),
            (WorkflowKind.DEPLOY, "format", "qcow2"),
            (WorkflowKind.DEPLOY, "root_disk", {"wnn": "5000c500"}),
            (WorkflowKind.DEPLOY, "root_disk", {"min_size_bytes": "4G"}),
            (WorkflowKind.DEPLOY, "disks", [1]),
            (WorkflowKind.DEPLOY, "args", "a" * 1025),
            (WorkflowKind.WIPE, "disks", ["sda"] * 257),
            (WorkflowKind.INSPECT, "diagnose", ["disc"]),
            (WorkflowKind.INSPECT, "seconds", 0),
            (WorkflowKind.INSPECT, "seconds", 3601),
        )
        for kind, name, value in cases:
            more = IMAGE if kind is WorkflowKind.DEPLOY else {}
            self.assertTrue(self.refused(kind, {**more, name: value}).startswith(f"{name}: "))


class DecideTests(SynchronousTestCase):
    def test_a_command_that_ended_before_its_step_began(self) -> None:
        """Whose gateway was killed between the two: what is recorded of the command counts."""
        steps = WORKFLOWS[WorkflowKind.POWER]
        done = Standing(StepState.RUNNING, started_at=1000, command_sent=True, command_ok=True)
        facts = life(parameters={"action": "on"}).facts
        self.assertEqual(decide(steps, [done], facts), Conclude(0, StepState.DONE))
