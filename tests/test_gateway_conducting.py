"""Tests for ``rescriptum.gateway`` where workflows start, are carried on, and end."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TypeVar

from sqlalchemy import Connection, update
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import Command, Result
from rescriptum.contract.joining import Role, TrustBundle
from rescriptum.contract.jose import digest
from rescriptum.contract.keys import generate, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.gateway import interlock
from rescriptum.gateway.conductor import Conductor
from rescriptum.gateway.ending import cancel
from rescriptum.gateway.interlock import POWER_SECONDS, WIPE_SECONDS
from rescriptum.gateway.issuing import approved
from rescriptum.gateway.means import Means
from rescriptum.gateway.peers import PATIENCE, Peers
from rescriptum.gateway.plans import token_ref
from rescriptum.gateway.records import (
    ApprovalRow,
    CommandRow,
    CommandState,
    Image,
    Machine,
    Workflow,
    WorkflowState,
)
from rescriptum.gateway.signing import Draft, Worker, enveloped
from rescriptum.gateway.starting import start
from rescriptum.gateway.statements import approval, certificate
from rescriptum.gateway.stores import (
    batches,
    commands,
    events,
    images,
    leases,
    machines,
    nodes,
    secrets,
    tables,
    tokens,
    workflows,
)
from rescriptum.gateway.stores.database import Database
from rescriptum.gateway.stores.sessions import heard
from rescriptum.gateway.trust import set_trust, trust
from rescriptum.gateway.workflows import STEP_SECONDS

from . import gateway_stores
from .gateway_stores import NOW, settle

_T = TypeVar("_T")

ROOT, WORKER, APPROVER = generate("Ed25519"), generate("Ed25519"), generate("Ed25519")
OK = Result(True, "ok")
IMAGE: JSON = {"sha256": "ab" * 32, "url": "https://images.example.com/debian.raw"}
KINDS = [
    "boot.prepareRamdisk",
    "bmc.boot",
    "bmc.power",
    "disk.wipe",
    "image.write",
    "seed.write",
    "boot.kexec",
]


def off(address: str) -> JSON:
    """:returns: what takes the power of whatever hangs on a BMC."""
    return {"operation": "power.setPower", "address": address, "args": {"action": "off"}}


MACHINE = Machine(
    "m1",
    "ber",
    ("52:54:00:00:00:01",),
    bmc_address="192.0.2.9",
    bmc_driver="redfish",
    credential_ref="m1-bmc",
)


class Conducting(gateway_stores.Stores):
    """
    A machine with a BMC at a site with two agents, the first of which holds the boot lease.

    :ivar now: Unix time, and the clock of every process.
    """

    def setUp(self) -> None:
        super().setUp()
        self.numbers = count(1)
        self.now = float(NOW)
        self.signer: Worker | None = None
        self.do(settle, "ber", "node-1", "node-2")
        self.do(self.grant, "node-1")
        self.do(machines.create, MACHINE, NOW)
        self.conductor = self.process("g1")
        self.look()

    def process(self, name: str, database: Database | None = None) -> Conductor:
        """:returns: another gateway process."""
        opened = database or self.database
        return Conductor(opened, self.means(name), lambda: self.now, lambda: self.now)

    def means(self, process: str = "g1") -> Means:
        return Means(
            process=process,
            new_id=lambda: f"id-{next(self.numbers)}",
            new_token=lambda: f"token-{next(self.numbers)}",
            seal=lambda name, value: f"sealed {name} ".encode() + value,
            worker=lambda: self.signer,
        )

    @staticmethod
    def grant(connection: Connection, node: str) -> None:
        row = leases.read(connection, "ber")
        if row.holder_node is not None:
            leases.release(connection, "ber", row.epoch, row.holder_node)
        session = f"session-of-{node}"
        assert leases.grant(connection, "ber", row.epoch, session, node, 15_000, NOW)

    def begin(self, kind: str = "deploy", **parameters: object) -> str:
        def begun(connection: Connection) -> Workflow:
            said = {**IMAGE, **parameters} if kind == "deploy" else parameters
            return start(self.means(), connection, kind, "m1", said, "ada", int(self.now))

        name = self.do(begun).id
        self.look()
        return name

    def look(self, conductor: Conductor | None = None) -> None:
        looked = (conductor or self.conductor).look(None)
        self.successResultOf(Deferred.fromCoroutine(looked))

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.look()

    def read(self, work: Callable[[Connection], _T]) -> _T:
        return self.do(work)

    def row(self, name: str) -> Workflow:
        return self.do(workflows.get, name)

    def states(self, name: str) -> list[str]:
        return [each.state.value for each in self.do(workflows.steps, name)]

    def sent(self, name: str) -> list[CommandRow]:
        """:returns: all its commands, the oldest first."""
        found = self.do(commands.listing, workflow=name).items
        return sorted(found, key=lambda each: int(each.id.removeprefix("id-")))

    def answer(self, command: CommandRow, result: Result = OK) -> None:
        self.do(commands.finished, command.id, command.node, result, int(self.now))
        self.look()

    def join(self, name: str) -> None:
        """The machine's ramdisk joins by the workflow's token."""
        sealed = self.do(secrets.get, token_ref(name)).decode()
        token = sealed.rpartition(" ")[2]

        def joined(connection: Connection) -> None:
            row = tokens.use(
                connection, digest(token.encode()), "ber", Role.RAMDISK, "rd", int(self.now)
            )
            assert (row.machine, row.workflow) == ("m1", name)
            nodes.add(connection, gateway_stores.node("rd", "ber", Role.RAMDISK))

        self.do(joined)
        self.look()

    def cancel(self, name: str, reason: str = "cancelled by ada") -> bool:
        """As an operator does, whichever process is asked."""
        return self.do(partial(cancel, self.means("g9")), name, reason, int(self.now))

    def boot(self, name: str) -> None:
        """Everything until the ramdisk has joined."""
        for _ in range(3):
            self.answer(self.sent(name)[-1])
        self.join(name)


class Case(gateway_stores.OverSQLite, Conducting, SynchronousTestCase):
    """In a file."""


class DeployTests(Case):
    def test_the_whole_way(self) -> None:
        """Each step's command is sent when the one before it has succeeded; then it is done."""
        name = self.begin()
        self.boot(name)
        for _ in range(3):
            self.answer(self.sent(name)[-1])
        self.assertEqual(
            [(each.kind, each.node) for each in self.sent(name)],
            [
                ("boot.prepareRamdisk", "node-1"),
                ("bmc.boot", "node-1"),
                ("bmc.power", "node-1"),
                ("disk.wipe", "rd"),
                ("image.write", "rd"),
                ("boot.kexec", "rd"),
                ("boot.clear", "node-1"),
            ],
        )
        row = self.row(name)
        self.assertEqual((row.state, row.finished_at), (WorkflowState.DONE, int(self.now)))
        self.assertEqual(self.states(name), [*["done"] * 6, "skipped", "done", "skipped"])
        said = self.do(events.after, 0, subject=name, kind="workflow.done")
        self.assertEqual(len(said), 1)

    def test_what_its_agents_may_ask_for(self) -> None:
        """The BMC's credential for what goes to it, and the join token for the boot entry."""
        self.do(secrets.put, "m1-seed", b"sealed", NOW)
        name = self.begin(user_data_ref="m1-seed")
        self.boot(name)
        for _ in range(3):
            self.answer(self.sent(name)[-1])
        refs = {each.kind: each.secret_refs for each in self.sent(name)}
        self.assertEqual(refs["boot.prepareRamdisk"], (token_ref(name),))
        self.assertEqual(refs["bmc.power"], ("m1-bmc",))
        self.assertEqual(refs["seed.write"], ("m1-seed",))
        self.assertEqual(refs["disk.wipe"], ())

    def test_its_token_ends_with_it(self) -> None:
        name = self.begin()
        self.do(secrets.get, token_ref(name))
        self.answer(self.sent(name)[-1], Result(False, "invalid-payload", "no such MAC"))
        row = self.row(name)
        self.assertEqual(row.state, WorkflowState.FAILED)
        self.assertEqual(row.reason, "boot.prepareRamdisk: invalid-payload: no such MAC")
        self.refused("not-found", secrets.get, token_ref(name))

    def test_a_bmc_that_says_no(self) -> None:
        """Its command succeeds: that is what it was to find out. The workflow does not."""
        name = self.begin()
        self.answer(self.sent(name)[-1])
        said = Result(True, "ok", data={"ok": False, "code": "auth-failed", "detail": "401"})
        self.answer(self.sent(name)[-1], said)
        self.assertEqual(self.row(name).reason, "boot.setOverride: auth-failed: 401")

    def test_without_a_boot_server_whoever_is_there_is_asked(self) -> None:
        """Of two agents the one that was silent for a minute is not, though its session goes on."""
        self.do(lambda c: leases.release(c, "ber", leases.read(c, "ber").epoch, "node-1"))
        first = self.begin("power", action="cycle")
        self.assertEqual(self.sent(first)[-1].node, "node-1")
        self.answer(self.sent(first)[-1])
        self.now += 61
        self.do(heard, ["session-of-node-2"], int(self.now))
        second = self.begin("power", action="cycle")
        self.assertEqual(self.sent(second)[-1].node, "node-2")

    def test_an_image_by_its_name(self) -> None:
        image = Image("debian", "cd" * 32, "https://images.example.com/x", "zstd", created_at=NOW)
        self.do(images.create, image, NOW)
        made = self.do(
            lambda c: start(self.means(), c, "deploy", "m1", {"image": "debian"}, "ada", NOW)
        )
        self.assertEqual(made.parameters["sha256"], "cd" * 32)
        self.assertEqual(made.parameters["format"], "zstd")

    def test_what_cannot_begin(self) -> None:
        def begin(kind: str, machine: str, parameters: JSON) -> Callable[[Connection], Workflow]:
            return lambda c: start(self.means(), c, kind, machine, parameters, "ada", NOW)

        self.do(machines.create, Machine("bare", "ber", ()), NOW)
        for code, kind, machine, parameters in (
            ("invalid-payload", "explode", "m1", {}),
            ("not-found", "wipe", "m9", {}),
            ("not-found", "deploy", "m1", {"image": "nothing"}),
            ("invalid-payload", "deploy", "m1", {}),
            ("not-found", "deploy", "m1", {**IMAGE, "user_data_ref": "m1-seed"}),
            ("invalid-payload", "wipe", "bare", {}),
            ("invalid-payload", "power", "bare", {"action": "on"}),
        ):
            parameters_: JSON = dict(parameters)
            self.refused(code, begin(kind, machine, parameters_))
        self.begin()
        self.refused("in-use", begin("wipe", "m1", {}))

    def test_the_lease_moves(self) -> None:
        """Until the ramdisk has joined, whoever boots machines now has its entry as well."""
        name = self.begin()
        for _ in range(3):
            self.answer(self.sent(name)[-1])
        self.do(self.grant, "node-2")
        self.later(1)
        self.later(1)
        again = self.sent(name)[3:]
        self.assertEqual([(each.kind, each.node) for each in again], [(KINDS[0], "node-2")])
        self.join(name)
        self.assertEqual(self.sent(name)[-1].kind, "disk.wipe")
        self.do(self.grant, "node-1")
        self.later(1)
        self.assertEqual(self.sent(name)[-1].kind, "disk.wipe")

    def test_nobody_boots_it(self) -> None:
        """Time is up at last, it is said what was missing, and what was sent is taken back."""
        name = self.begin()
        for _ in range(2):
            self.answer(self.sent(name)[-1])
        self.later(STEP_SECONDS + 1)
        row = self.row(name)
        self.assertEqual(
            row.reason, "power.setPower: timeout: a site agent never said how it ended"
        )
        self.assertEqual(self.sent(name)[2].state, CommandState.REVOKED)

    def test_cancelled(self) -> None:
        """What its agents have not begun is taken back, and nothing more is sent."""
        name = self.begin()
        self.assertTrue(self.cancel(name, "cancelled by ada"))
        self.assertFalse(self.cancel(name, "cancelled by bob"))
        self.look()
        self.assertEqual(self.row(name).state, WorkflowState.CANCELLED)
        self.assertEqual(self.sent(name)[0].state, CommandState.REVOKED)
        self.refused("not-found", secrets.get, token_ref(name))

    def test_its_machine_is_gone(self) -> None:
        """Not while a workflow is about it."""
        self.begin()
        self.refused("in-use", machines.remove, "m1")


class OverBehaviour(Conducting):
    """Once a workflow is over its machine is not led into the ramdisk again, however it ended."""

    def cleared(self, name: str) -> list[CommandRow]:
        return [each for each in self.sent(name) if each.kind == "boot.clear"]

    def payloads(self, name: str) -> list[JSON]:
        return [Draft.stored(each.claims).command.payload for each in self.cleared(name)]

    def deliver(self, command: CommandRow) -> None:
        self.do(commands.delivered, [command.id], int(self.now))

    def test_done(self) -> None:
        """Not before: the ramdisk reads its image under the entry."""
        name = self.begin()
        self.boot(name)
        for _ in range(3):
            self.assertEqual(self.cleared(name), [])
            self.answer(self.sent(name)[-1])
        self.assertEqual(self.row(name).state, WorkflowState.DONE)
        self.assertEqual(self.payloads(name), [{"mac": "52:54:00:00:00:01", "workflow": name}])
        self.assertEqual(self.cleared(name)[0].node, "node-1")

    def test_failed(self) -> None:
        name = self.begin()
        self.boot(name)
        self.answer(self.sent(name)[-1], Result(False, "wipe-unverified", "sda"))
        self.assertEqual(self.row(name).state, WorkflowState.FAILED)
        self.assertEqual(len(self.cleared(name)), 1)

    def test_cancelled(self) -> None:
        """By whichever process; also where its agent has the entry, and has not said so yet."""
        name = self.begin()
        self.deliver(self.sent(name)[0])
        self.assertTrue(self.cancel(name))
        self.assertEqual(len(self.cleared(name)), 1)
        self.assertFalse(self.cancel(name))
        self.look()
        self.assertEqual(len(self.cleared(name)), 1)

    def test_there_is_no_entry(self) -> None:
        """Nobody had the command, or it failed, or the workflow has none."""
        name = self.begin()
        self.cancel(name)
        self.assertEqual(self.cleared(name), [])
        name = self.begin()
        self.answer(self.sent(name)[0], Result(False, "over-capacity", ""))
        self.assertEqual(self.row(name).state, WorkflowState.FAILED)
        self.assertEqual(self.cleared(name), [])
        name = self.begin("power", action="on")
        self.answer(self.sent(name)[0])
        self.assertEqual(self.row(name).state, WorkflowState.DONE)
        self.assertEqual(self.cleared(name), [])

    def test_nobody_knows_whether_there_is_one(self) -> None:
        """Its agent had the command, and did not say in time what became of it."""
        for code in ("timeout", "interrupted"):
            name = self.begin()
            self.answer(self.sent(name)[0], Result(False, code, ""))
            self.assertEqual(self.row(name).state, WorkflowState.FAILED)
            self.assertEqual(len(self.cleared(name)), 1, code)
        name = self.begin()
        self.deliver(self.sent(name)[0])
        self.now += STEP_SECONDS
        self.do(commands.expire, int(self.now))
        self.look()
        self.assertEqual(self.row(name).reason, "boot.prepareRamdisk: expired")
        self.assertEqual(len(self.cleared(name)), 1)

    def test_the_lease_has_moved(self) -> None:
        """An entry of another lease is dead; of two that were made, the living one is cleared."""
        name = self.begin()
        self.boot(name)
        self.do(self.grant, "node-2")
        self.answer(self.sent(name)[-1], Result(False, "failed", ""))
        self.assertEqual(self.cleared(name), [])
        name = self.begin()
        self.answer(self.sent(name)[-1])
        self.do(self.grant, "node-1")
        self.later(1)
        self.answer(self.sent(name)[-1])
        self.cancel(name)
        self.assertEqual([each.node for each in self.cleared(name)], ["node-1"])

    def test_a_worker_that_may_not(self) -> None:
        """The workflow is over all the same, and what is left behind is said."""
        name = self.begin()
        self.answer(self.sent(name)[0])
        text = certificate(ROOT, dict(public_jwk(WORKER)), ["bmc.power"], NOW)
        self.signer = Worker.certified(WORKER, text, trusted(ROOT))
        self.assertTrue(self.cancel(name))
        self.assertEqual(self.row(name).state, WorkflowState.CANCELLED)
        [left] = self.do(events.after, 0, subject=name, kind="workflow.left")
        self.assertIn("does not allow boot.clear", str(left.data["reason"]))


class OverTests(gateway_stores.OverSQLite, OverBehaviour, SynchronousTestCase):
    """Over SQLite."""


class ApprovalTests(Case):
    """Agents know a command root and an approver."""

    def setUp(self) -> None:
        super().setUp()
        roots, approvers = (public_jwk(ROOT),), (public_jwk(APPROVER),)
        bundle = TrustBundle(tuple(map(dict, roots)), tuple(map(dict, approvers)), 1)
        self.do(set_trust, bundle)
        text = certificate(ROOT, dict(public_jwk(WORKER)), KINDS, NOW)
        self.signer = Worker.certified(WORKER, text, trusted(ROOT))

    def approve(self, name: str, digests: list[str]) -> None:
        signed = approval(APPROVER, name, digests, int(self.now))
        row = ApprovalRow(name, APPROVER.thumbprint(), signed, int(self.now) + 3600, NOW)
        self.do(batches.approve, row)
        self.look()

    def test_all_that_destroys_is_approved_at_once(self) -> None:
        """And is sent one after the other all the same, each when its turn has come."""
        self.do(secrets.put, "m1-seed", b"sealed", NOW)
        name = self.begin(user_data_ref="m1-seed")
        self.boot(name)
        drafted = self.do(commands.listing, batch=name).items
        self.assertEqual(
            {each.kind for each in drafted}, {"disk.wipe", "image.write", "seed.write"}
        )
        self.assertEqual({each.state for each in drafted}, {CommandState.WAITING})
        [wipe] = [each for each in self.do(workflows.steps, name) if each.name == "disk.wipe"]
        self.assertEqual(wipe.reason, "waits for approval")
        self.approve(name, [each.digest for each in drafted])
        for kind in ("disk.wipe", "image.write", "seed.write"):
            on_their_way = [
                each.kind
                for each in self.do(commands.listing, batch=name).items
                if each.state is CommandState.QUEUED
            ]
            self.assertEqual(on_their_way, [kind])
            [row] = [each for each in self.sent(name) if each.kind == kind]
            self.assertEqual(len(row.envelope.approvals), 1)
            self.answer(row)
        self.assertEqual(self.sent(name)[-1].kind, "boot.kexec")

    def test_it_is_approved_before_its_turn(self) -> None:
        """Whoever is told of the approval sends nothing that is not under way."""
        name = self.begin()
        self.boot(name)
        rows = self.do(commands.listing, batch=name).items
        [write] = [each for each in rows if each.kind == "image.write"]
        bundle = self.do(trust)
        self.assertEqual(self.do(approved, write, bundle, int(self.now)), ())
        self.approve(name, [write.digest])
        self.assertEqual(len(self.do(approved, write, bundle, int(self.now))), 1)
        states = {each.kind: each.state for each in self.do(commands.listing, batch=name).items}
        self.assertEqual(set(states.values()), {CommandState.WAITING})

    def test_an_approval_of_something_else(self) -> None:
        """The digests count, not the batch's name."""
        name = self.begin()
        self.boot(name)
        self.approve(name, ["sha256:" + "0" * 64])
        self.assertEqual({each.state for each in self.do(commands.listing, batch=name).items},
                         {CommandState.WAITING})  # fmt: skip

    def test_nobody_approves(self) -> None:
        name = self.begin()
        self.boot(name)
        self.later(STEP_SECONDS + 1)
        self.assertEqual(self.row(name).state, WorkflowState.RUNNING)
        self.later(86_400)
        row = self.row(name)
        self.assertEqual(row.state, WorkflowState.FAILED)
        self.assertEqual(row.reason, "disk.wipe: timeout: nobody approved it")
        self.assertNotIn(
            CommandState.WAITING,
            {each.state for each in self.do(commands.listing, batch=name).items},
        )

    def test_a_worker_that_may_not(self) -> None:
        """The workflow fails, and says what is missing."""
        text = certificate(ROOT, dict(public_jwk(WORKER)), ["bmc.power"], NOW)
        self.signer = Worker.certified(WORKER, text, trusted(ROOT))
        name = self.begin()
        self.assertIn("does not allow boot.prepareRamdisk", self.row(name).reason)


class ProcessTests(Case):
    def test_a_process_that_is_killed_at_any_transaction(self) -> None:
        """
        Whoever takes over goes on where it was: the same commands are sent, each once. What is
        not committed never was, so it is enough to change processes between any two looks.
        """
        name = self.begin()
        process = 1
        for _ in range(40):
            process += 1
            self.conductor = self.process(f"g{process}")
            self.look()
            self.later(PATIENCE)  # the last one has not beaten meanwhile
            if self.row(name).state is not WorkflowState.RUNNING:
                break
            self.assertEqual(self.row(name).process, f"g{process}")
            steps = self.do(workflows.steps, name)
            here = steps[self.row(name).step]
            if here.name == "joined":
                self.join(name)
            elif here.command is not None:
                row = self.do(commands.get, here.command)
                self.do(commands.finished, row.id, row.node, OK, int(self.now))
        self.assertEqual(self.row(name).state, WorkflowState.DONE)
        self.assertEqual([each.kind for each in self.sent(name)].count("boot.clear"), 1)
        self.assertEqual(len(self.sent(name)), 7)

    def test_two_at_once(self) -> None:
        """A process that lives keeps its workflows; one that comes gets what nobody has."""
        name = self.begin()
        other = self.process("g2", self.opened(self.url))
        self.look(other)
        self.assertEqual(self.row(name).process, "g1")
        self.assertEqual(len(self.sent(name)), 1)

    def test_a_process_that_only_seemed_to_be_gone(self) -> None:
        """It was paused; its workflow is another's, and it does nothing more about it."""
        name = self.begin()
        other = self.process("g2", self.opened(self.url))
        self.look(other)
        self.now += PATIENCE
        self.look(other)
        self.assertEqual(self.row(name).process, "g2")
        row = self.sent(name)[0]
        self.do(commands.finished, row.id, row.node, OK, int(self.now))
        self.look()
        self.assertEqual(len(self.sent(name)), 1)
        self.look(other)
        self.assertEqual(len(self.sent(name)), 2)


class PeersTests(SynchronousTestCase):
    def test_who_is_alive(self) -> None:
        peers = Peers("own")
        self.assertEqual(peers.observed({"own": 0, "other": 5}, 100.0), {"own", "other"})
        self.assertEqual(peers.observed({"other": 5}, 100.0 + PATIENCE - 0.1), {"own", "other"})
        alive = peers.observed({"other": 5}, 100.0 + PATIENCE)
        self.assertEqual(alive, {"own"})
        self.assertEqual(peers.gone(alive), {"other": 5})
        self.assertEqual(peers.observed({"other": 6}, 200.0), {"own", "other"})

    def test_the_forgotten_are_not_remembered(self) -> None:
        peers = Peers("own")
        peers.observed({"other": 5}, 0.0)
        alive = peers.observed({}, 1000.0)
        self.assertEqual((alive, peers.gone(alive)), ({"own"}, {}))


class InterlockBehaviour(Conducting):
    """W230: the power of a machine is not taken away while its disks are being erased."""

    def setUp(self) -> None:
        super().setUp()
        first = self.begin()
        self.boot(first)
        self.wipe = self.sent(first)[-1]
        self.assertEqual(self.wipe.kind, "disk.wipe")
        self.do(commands.delivered, [self.wipe.id], int(self.now))
        # It is taken back, and runs on: an erase of a drive cannot be stopped.
        self.cancel(first)

    def reason(self, kind: str = "power", **parameters: object) -> str:
        """:returns: why such a workflow failed; empty: it goes on. It is cancelled then."""
        name = self.begin(kind, **parameters)
        row = self.row(name)
        if row.state is not WorkflowState.FAILED:
            self.cancel(name)
        return row.reason

    def test_whatever_takes_power_away(self) -> None:
        """Fails with conflict; what does not is sent."""
        for action in ("off", "soft-off", "reset", "cycle", "nmi"):
            self.assertIn("conflict: the disks of m1", self.reason(action=action), action)
        self.assertIn("conflict", self.reason("firmware", **IMAGE))
        self.assertEqual(self.reason(action="on"), "")

    def test_until_it_ends(self) -> None:
        """However it does."""
        self.answer(self.wipe, Result(False, "failed"))
        self.assertEqual(self.reason(action="off"), "")

    def test_until_its_node_is_removed(self) -> None:
        """By an operator who knows that nothing runs there any more."""
        self.do(nodes.remove, "rd", int(self.now))
        self.assertEqual(self.reason(action="off"), "")

    def test_not_for_ever(self) -> None:
        """A ramdisk that is never heard of again holds nothing up for longer than a wipe takes."""
        self.now += WIPE_SECONDS - 1
        self.do(heard, ["session-of-node-1"], int(self.now))
        self.assertIn("conflict", self.reason(action="off"))
        self.now += 1
        self.assertEqual(self.reason(action="off"), "")

    def test_of_another_machine(self) -> None:
        """Others are not held up; one that shares the BMC's address is."""

        self.asked("192.0.2.10")
        self.assertRaises(Rejected, self.asked, "192.0.2.9")

    def asked(self, address: str) -> None:
        self.do(interlock.check, "node-2", "bmc.power", off(address), int(self.now))

    def alter(self, command: str, **values: object) -> None:
        """Make a command one that had another past."""
        mine = tables.commands.c.id == command
        self.do(
            lambda connection: connection.execute(
                update(tables.commands).where(mine).values(values)
            )
        )

    def test_however_its_bmc_is_spelt(self) -> None:
        """A port that goes without saying, brackets, a mapped address: it is the same BMC."""
        for address in ("192.0.2.9:443", "192.0.2.9:623", "[::ffff:192.0.2.9]", "192.0.2.9."):
            self.assertRaises(Rejected, self.asked, address)
        self.asked("192.0.2.9:8443")

    def test_from_when_it_was_sent(self) -> None:
        """One that waited a day for its approvers is under way as long as any other."""
        self.alter(self.wipe.id, issued_at=int(self.now) - 86_400)
        self.assertRaises(Rejected, self.asked, "192.0.2.9")
        self.alter(self.wipe.id, delivered_at=int(self.now) - 86_400)
        self.asked("192.0.2.9")
        self.alter(self.wipe.id, journalled_at=int(self.now))
        self.assertRaises(Rejected, self.asked, "192.0.2.9")

    def test_that_the_gateway_has_given_up(self) -> None:
        """Its time was over before its agent said that it has it: it may have it all the same."""
        self.alter(self.wipe.id, state="delivered", not_after=int(self.now))
        self.assertEqual(self.do(commands.expire, int(self.now)), [self.wipe.id])
        self.assertRaises(Rejected, self.asked, "192.0.2.9")
        self.answer(self.wipe, Result(False, "expired"))
        self.asked("192.0.2.9")

    def held(self, *rows: CommandRow) -> set[str]:
        return self.do(interlock.held, rows, int(self.now))

    def queued(
        self, kind: str, payload: JSON, node: str = "node-1", workflow: str = "w"
    ) -> CommandRow:
        """:returns: a command that was issued while nothing stood against it."""

        def add(connection: Connection) -> CommandRow:
            name = f"id-{next(self.numbers)}"
            now = int(self.now)
            draft = Draft.of(Command(name, node, kind, payload, workflow, "s", now, now + 600))
            row = CommandRow(
                name,
                node,
                kind,
                workflow,
                "s",
                draft.octets,
                draft.digest,
                enveloped(draft, None, now),
                now,
                now + 600,
            )
            commands.add(connection, row)
            return row

        return self.do(add)

    def test_what_was_issued_before_it(self) -> None:
        """An agent that was away gets no command to take the power before the wipe has ended."""
        row = self.queued("bmc.power", off("192.0.2.9:443"))
        others = (
            self.queued("bmc.power", off("192.0.2.10")),
            self.queued("bmc.power", {**off("192.0.2.9"), "args": {"action": "on"}}),
            self.queued("bmc.inventory", off("192.0.2.9")),
        )
        self.assertEqual(self.held(row, *others), {row.id})
        self.answer(self.wipe)
        self.assertEqual(self.held(row, *others), set())

    def test_the_other_way_round(self) -> None:
        """A wipe is not sent while a BMC may be about to take the power, for as long as it may."""
        self.answer(self.wipe)
        wipe = self.queued("disk.wipe", {}, "rd", self.wipe.workflow)
        self.assertEqual(self.held(wipe), set())
        power = self.queued("bmc.power", off("192.0.2.9:443"), "node-2")
        self.assertEqual(self.held(wipe), set())
        self.do(commands.delivered, [power.id], int(self.now))
        self.assertEqual(self.held(wipe), {wipe.id})
        self.now += POWER_SECONDS
        self.assertEqual(self.held(wipe), set())
        self.do(commands.journalled, power.id, "node-2", int(self.now))
        self.assertEqual(self.held(wipe), {wipe.id})
        self.answer(power)
        self.assertEqual(self.held(wipe), set())

    def test_both_at_once(self) -> None:
        """What was issued first is sent, whichever of them it is."""
        self.answer(self.wipe)
        power = self.queued("bmc.power", off("192.0.2.9"))
        self.now += 1
        wipe = self.queued("disk.wipe", {}, "rd", self.wipe.workflow)
        late = self.queued("bmc.power", off("192.0.2.9"))
        self.assertEqual(self.held(late, wipe, power), {wipe.id})
        for each in (power, late):
            self.answer(each)
        self.now += 1
        late = self.queued("bmc.power", off("192.0.2.9"))
        self.assertEqual(self.held(late, wipe), {late.id})

    def test_what_is_there_already(self) -> None:
        """What was sent once is sent again: holding it back would keep nothing from happening."""
        row = self.queued("bmc.power", off("192.0.2.9"))
        self.do(commands.delivered, [row.id], int(self.now))
        self.assertEqual(self.held(self.do(commands.get, row.id)), set())


class InterlockTests(gateway_stores.OverSQLite, InterlockBehaviour, SynchronousTestCase):
    """In a file."""
