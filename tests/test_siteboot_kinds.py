"""Tests for ``rescriptum.siteboot.kinds`` and ``store``: entries come, go and outlive a restart."""

import json

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.kinds import AnyKind, KindTable
from rescriptum.boot.discovery import Discoveries
from rescriptum.boot.entries import BootKind
from rescriptum.contract.commands import Command
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.errors import Unavailable
from rescriptum.siteboot.kinds import kinds
from rescriptum.siteboot.store import DISCOVERED, ENTRIES, MOST, Kept
from rescriptum.testing import MemoryWorkers
from rescriptum.values import MAC
from tests.sitebootcases import DIGEST, MACHINE, NOW, OTHER, MemoryDirectory, entry

GOOD: JSON = {"mac": "52-54-00-12-34-56", "kind": "ramdisk", "workflow": "w1", "epoch": 7}


@define
class Running:
    command: Command
    epoch: int = 7


@define(slots=False)
class Case:
    directory: MemoryDirectory = field(factory=MemoryDirectory)
    workers: MemoryWorkers = field(factory=MemoryWorkers)
    dropped: list[MAC] = field(factory=list)
    now: float = NOW

    def __attrs_post_init__(self) -> None:
        self.kept = Kept(
            self.directory, self.workers, Discoveries(False), lambda: self.now, self.dropped.append
        )
        made: tuple[AnyKind, ...] = kinds(self.kept)
        self.table = KindTable(Role.SITE, made)


class KindsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.case = Case()

    def run_(self, payload: JSON, name: str = "boot.prepareRamdisk", epoch: int = 7) -> object:
        """:returns: what it gives back, or the code that it is refused by."""
        command = Command("c1", "n1", name, payload, "w1", "s1", NOW, NOW + 60)
        kind = self.case.table.find(name)
        try:
            made = self.case.table.payload(command)
            kind.resource(made)
            running = Deferred.fromCoroutine(kind.run(Running(command, epoch), made))  # type: ignore[arg-type]
            return self.successResultOf(running)
        except Rejected as e:
            return e.code

    def code(self, payload: JSON, epoch: int = 7) -> object:
        command = Command("c1", "n1", "boot.prepareRamdisk", payload, "w1", "s1", NOW, NOW + 60)
        kind = self.case.table.find(command.kind)
        made = self.case.table.payload(command)
        running = Deferred.fromCoroutine(kind.run(Running(command, epoch), made))  # type: ignore[arg-type]
        return self.failureResultOf(running, Rejected).value.code

    def test_prepared(self) -> None:
        """It is live, written down, no discovered machine any more, and bound to its command."""
        self.case.kept.discovered.fetched(MACHINE, "", "", "", NOW)
        made = self.run_({**GOOD, "token_ref": "join-w1", "cmdline": "a b", "not_after": NOW + 9})
        self.assertEqual(made, {"mac": "52:54:00:12:34:56", "epoch": 7})
        live = self.case.kept.entries.live(MACHINE, 7, NOW)
        assert live is not None
        self.assertEqual((live.step, live.command, live.token_ref), ("s1", "c1", "join-w1"))
        self.assertEqual(len(self.case.kept.discovered), 0)
        self.assertEqual(self.case.dropped, [MACHINE])
        self.assertIsNone(self.case.kept.entries.live(MACHINE, 8, NOW))
        self.assertIsNone(self.case.kept.entries.live(MACHINE, 7, NOW + 9))

    def test_what_is_no_payload(self) -> None:
        for change in (
            {"mac": "52:54:00:12:34"},
            {"mac": ""},
            {"mac": 5},
            {"kind": "disk"},
            {"kind": "sanboot", "sanboot_sha256": "ab" * 31},
            {"kind": "sanboot", "sanboot_sha256": "xy" * 32},
            {"kind": "sanboot"},
            {"sanboot_sha256": DIGEST},
            {"epoch": -1},
            {"cmdline": "a || shell"},
            {"cmdline": "x" * 1025},
            {"surprise": 1},
        ):
            self.assertEqual(self.run_({**GOOD, **change}), "invalid-payload", change)
        self.assertEqual(len(self.case.kept.entries), 0)

    def test_a_digest_in_capitals(self) -> None:
        self.run_({**GOOD, "kind": "sanboot", "sanboot_sha256": DIGEST.upper()})
        self.assertEqual([each.sanboot_sha256 for each in self.case.kept.entries], [DIGEST])

    def test_another_epoch(self) -> None:
        """Refused, on standby too; one that is bound to none is taken at any time."""
        self.assertEqual(self.code(GOOD, epoch=8), "stale-epoch")
        self.assertEqual(self.code(GOOD, epoch=0), "stale-epoch")
        self.assertEqual(len(self.case.kept.entries), 0)
        self.run_({**GOOD, "epoch": 0}, epoch=0)
        self.assertIsNotNone(self.case.kept.entries.live(MACHINE, 3, NOW))

    def test_the_token_of_another_workflow(self) -> None:
        """The gateway would not hand it out: that is said now, not when the machine boots."""
        stolen = {**GOOD, "token_ref": "join-w2", "workflow": "w2"}
        self.assertEqual(self.code(stolen), "invalid-payload")

    def test_cleared(self) -> None:
        """By its MAC, and only that of the workflow that is named."""
        self.run_(GOOD)
        clear: JSON = {"mac": str(MACHINE), "workflow": "w2"}
        self.assertEqual(self.run_(clear, "boot.clear"), {"cleared": False})
        clear["workflow"] = "w1"
        self.assertEqual(self.run_(clear, "boot.clear"), {"cleared": True})
        self.assertEqual(self.run_({"mac": str(MACHINE)}, "boot.clear"), {"cleared": False})
        self.assertEqual(self.run_({"mac": "x"}, "boot.clear"), "invalid-payload")
        self.assertEqual(json.loads(self.case.directory.files[ENTRIES]), {"entries": []})

    def test_a_disk_that_does_not_take_it(self) -> None:
        """What was there before still is, and the command says why it failed."""
        self.run_({**GOOD, "cmdline": "before"})
        for error in (OSError(28, "No space left on device"), Unavailable("files: 1024 wait")):
            self.case.directory.error = error
            self.assertEqual(self.code({**GOOD, "cmdline": "after"}), "failed")
            self.assertEqual([each.cmdline for each in self.case.kept.entries], ["before"])
            self.assertEqual(self.code({**GOOD, "mac": str(OTHER)}), "failed")
            self.assertEqual(len(self.case.kept.entries), 1)

    def test_a_bound(self) -> None:
        """So many machines have entries at once, and such a file can be read again."""
        for number in range(MOST):
            self.case.kept.entries.put(entry(mac=MAC(f"{number:012x}")))
        self.assertEqual(self.code(GOOD), "over-capacity")
        self.assertEqual(self.run_({**GOOD, "mac": "000000000001"}), {
            "mac": "00:00:00:00:00:01", "epoch": 7,
        })  # fmt: skip
        again = Case(self.case.directory)
        again.kept.open()
        self.assertEqual(list(again.kept.entries), list(self.case.kept.entries))


class StoreTests(SynchronousTestCase):
    def test_a_restart(self) -> None:
        """Entries are as they were; machines that were discovered are still known."""
        case = Case()
        kept = case.kept
        self.successResultOf(Deferred.fromCoroutine(kept.put(entry())))
        kept.discovered.fetched(OTHER, "", "x86_64-efi", "192.0.2.9", NOW)
        self.successResultOf(Deferred.fromCoroutine(kept.remember()))
        again = Case(case.directory)
        again.kept.open()
        self.assertEqual(list(again.kept.entries), [entry()])
        self.assertEqual(
            list(again.kept.discovered.machines(NOW)), list(kept.discovered.machines(NOW))
        )

    def test_pruned(self) -> None:
        """What has lapsed, and what an earlier lease has left, is gone from the file too."""
        case = Case()
        self.successResultOf(Deferred.fromCoroutine(case.kept.put(entry())))
        self.successResultOf(Deferred.fromCoroutine(case.kept.prune(0)))
        self.assertEqual(len(case.kept.entries), 1)
        self.successResultOf(Deferred.fromCoroutine(case.kept.prune(8)))
        self.assertEqual(json.loads(case.directory.files[ENTRIES]), {"entries": []})
        self.assertEqual(case.dropped, [MACHINE, MACHINE])

    def test_nothing_new(self) -> None:
        """Discovered machines that are the same are not written again."""
        case = Case()
        case.directory.error = OSError(5, "Input/output error")
        self.successResultOf(Deferred.fromCoroutine(case.kept.remember()))
        self.assertEqual(case.workers.done, 0)

    def test_discovered_machines_that_cannot_be_written(self) -> None:
        """It is said, and nothing else suffers; the next time writes them."""
        case = Case()
        case.kept.discovered.fetched(OTHER, "", "x86_64-efi", "192.0.2.9", NOW)
        for error in (OSError(5, "Input/output error"), Unavailable("files: 1024 wait")):
            case.directory.error = error
            self.successResultOf(Deferred.fromCoroutine(case.kept.remember()))
            self.assertEqual(case.directory.files, {})
        case.directory.error = None
        self.successResultOf(Deferred.fromCoroutine(case.kept.remember()))
        self.assertIn(DISCOVERED, case.directory.files)

    @given(st.binary(max_size=200))
    def test_damaged(self, data: bytes) -> None:
        """Whatever a file holds, it is read, or set aside and begun anew."""
        for name in (ENTRIES, DISCOVERED):
            case = Case(MemoryDirectory({name: data}))
            case.kept.open()
            self.assertEqual(case.directory.aside, [name])

    def test_damaged_inside(self) -> None:
        for name, text in (
            (ENTRIES, '{"entries": [{"mac": "x"}]}'),
            (ENTRIES, '{"entries": [{"mac": "525400123456", "epoch": "7"}]}'),
            (DISCOVERED, '{"machines": [{"mac": "x", "uuid": "", "architecture": "", "ip": "",'
             ' "seen": 1}]}'),
        ):  # fmt: skip
            case = Case(MemoryDirectory({name: text.encode()}))
            case.kept.open()
            self.assertEqual(case.directory.aside, [name])

    def test_kinds_of_entries(self) -> None:
        """Each kind is what it was, after it was written and read."""
        for kind in BootKind:
            case = Case()
            self.successResultOf(Deferred.fromCoroutine(case.kept.put(entry(kind))))
            again = Case(case.directory)
            again.kept.open()
            self.assertEqual(list(again.kept.entries), [entry(kind)])
