"""
An agent is killed at every write that it makes, and is started again: see ``tests.crashing``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.journal import Journal, State
from rescriptum.agent.store import DataDirectory
from rescriptum.contract.refusals import Rejected

from ..agent_commands import NOW
from ..crashing import (
    DONE,
    FIRST,
    FIRST_TRUST,
    HOWS,
    LATE,
    LATER,
    REVOKED,
    SECOND,
    SECOND_TRUST,
    never,
    receive,
)
from ..processes import ROOT


@frozen
class Death:
    """:ivar told: what others know. :ivar path: what is left."""

    name: str
    path: Path
    told: list[str]

    @property
    def ended(self) -> bool:
        """It was not killed: it came to its end."""
        return any(each.startswith("end") for each in self.told)


#: In memory where there is such a place: being killed loses nothing that a disk would have.
_PLACE = "/dev/shm" if os.path.isdir("/dev/shm") else None


class CrashTests(SynchronousTestCase):
    def deaths(self, life: str) -> list[Death]:
        """:returns: one for each write of that life, and each how."""
        root = Path(tempfile.mkdtemp(prefix="rescriptum-", dir=_PLACE))
        self.addCleanup(shutil.rmtree, root)
        subprocess.run(
            [sys.executable, "-m", "tests.crashing", str(root), life], cwd=ROOT, check=True
        )
        deaths = [
            Death(path.stem, path.with_suffix(""), path.read_text().splitlines())
            for path in sorted(root.glob("*.told"))
        ]
        for how in HOWS:
            [end] = [each for each in deaths if each.ended and each.name.startswith(how)]
            counted = set(end.told[-1].split()[1:])
            # Else the hooks were somewhere else than the writes.
            self.assertLessEqual({"fsync", "ftruncate", "open", "replace", "write"}, counted)
            self.assertIn("unlink*", counted)
            self.assertTrue({"pwrite64*", "pwrite*", "write*"} & counted)
        return deaths

    @contextmanager
    def opened(self, death: Death, now: int) -> Iterator[tuple[DataDirectory, Journal]]:
        """The agent is started again: nothing that it left keeps it from that."""
        directory = DataDirectory(death.path)
        directory.open()
        journal = directory.journal(now)
        try:
            yield directory, journal
        finally:
            journal.close()
            directory.close()

    def test_an_agent_goes_on_wherever_it_was_killed(self) -> None:
        deaths = self.deaths("life")
        self.assertGreater(len(deaths), 300)
        for death in deaths:
            with self.opened(death, LATER) as (directory, journal):
                self.check_identity(death, directory)
                self.check_commands(death, journal)
            self.assertEqual(list(death.path.glob("*.corrupt-*")), [], death.name)

    def check_identity(self, death: Death, directory: DataDirectory) -> None:
        """It is the old one or the new one, and there is the trust that came with it."""
        identity = directory.identity()
        if "joined second" in death.told:
            self.assertEqual(identity, SECOND, death.name)
        elif "joined first" in death.told:
            self.assertIn(identity, (FIRST, SECOND), death.name)
        if identity is not None:
            trust = directory.trust()
            self.assertIn(trust, (FIRST_TRUST, SECOND_TRUST), death.name)
            if identity == SECOND:
                self.assertEqual(trust, SECOND_TRUST, death.name)

    def check_commands(self, death: Death, journal: Journal) -> None:
        """None is lost, and none is run twice."""
        told, name = set(death.told), death.name
        entries = {each: journal.find(each) for each in ("c1", "c2", "c3", "c4", "c5")}
        for command_id, entry in entries.items():
            if f"journalled {command_id}" in told and entry is None:
                # It may have been forgotten; then the gateway has its result, and it cannot return.
                self.assertIn(f"acknowledged {command_id}", told, name)
                with self.assertRaises(Rejected) as caught:
                    receive(journal, command_id, NOW)
                self.assertEqual(caught.exception.code, "expired", name)
            if entry is None:
                continue
            if f"ran {command_id}" in told:
                self.assertNotEqual(entry.state, State.RECEIVED, name)
            if f"done {command_id}" in told:
                self.assertIn(entry.state, (State.DONE, State.ACKNOWLEDGED), name)
            if f"acknowledged {command_id}" in told:
                self.assertEqual(entry.state, State.ACKNOWLEDGED, name)
            if entry.result is not None and command_id in ("c1", "c2"):
                self.assertEqual(entry.result, DONE if command_id == "c1" else REVOKED, name)
        journal.recover("boot-3", never, LATER)
        waiting = [each.command.command_id for each in journal.waiting()]
        for command_id in waiting:
            self.assertNotIn(f"ran {command_id}", told, name)
            journal.start(command_id, "boot-3")
            journal.finish(command_id, DONE, "boot-3", LATER)
        for command_id, entry in entries.items():
            if entry is not None:
                found = journal.find(command_id)
                assert found is not None
                self.assertIn(found.state, (State.DONE, State.ACKNOWLEDGED), name)
                if f"acknowledged {command_id}" not in told and found.state is State.DONE:
                    unsent = [each.command.command_id for each in journal.unacknowledged()]
                    self.assertIn(command_id, unsent, name)

    def test_a_damaged_journal_brings_nothing_back(self) -> None:
        """
        Killed while it is set aside, and whatever of it is left beside the new one: a command that
        had begun is not waiting, and the new one says that it is new.
        """
        for death in self.deaths("damaged"):
            with self.opened(death, LATE) as (_, journal):
                self.check_new(death, journal)
            self.assertEqual(len(list(death.path.glob("*.corrupt-*Z"))), 1, death.name)

    def check_new(self, death: Death, journal: Journal) -> None:
        waiting = [each.command.command_id for each in journal.waiting()]
        self.assertNotIn("c1", waiting, death.name)
        self.assertIsNone(journal.find("c1"), death.name)
        self.assertIn(journal.made_at, (LATER, LATE), death.name)
        if "opened" in death.told:
            self.assertEqual(journal.made_at, LATER, death.name)
        if "journalled c2" in death.told:
            self.assertEqual(waiting, ["c2"], death.name)
