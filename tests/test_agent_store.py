"""Tests for ``rescriptum.agent.store``."""

import os
import sqlite3
import stat
from pathlib import Path

from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.store import IDENTITY, JOURNAL, TRUST, DataDirectory, Identity
from rescriptum.contract.joining import Role, TrustBundle
from rescriptum.contract.keys import generate, private_jwk, public_jwk
from rescriptum.contract.structure import JSON, LONGEST_DOCUMENT
from rescriptum.errors import ConfigError, Unavailable

from .agent_commands import NOW, command, digest, octets

ASIDE = "corrupt-20231114T221320Z"


@frozen
class Seen:
    """Something that an agent remembers."""

    machines: tuple[str, ...] = ()


class DirectoryCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.directory = DataDirectory(self.path)
        self.directory.open()
        self.addCleanup(self.directory.close)

    def mode(self, path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    def names(self) -> set[str]:
        return {each.name for each in self.path.iterdir()} - {"agent.lock"}

    def wrong(self, call: object, *args: object) -> str:
        """:returns: what the operator is told."""
        assert callable(call)
        with self.assertRaises(ConfigError) as caught:
            call(*args)
        [problem] = caught.exception.problems
        self.assertEqual(problem.source, str(self.path))
        text: str = problem.text
        return text


class OpenTests(DirectoryCase):
    def test_is_made_for_its_owner_alone(self) -> None:
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        deep = self.path / "a" / "b"
        directory = DataDirectory(deep)
        self.assertFalse(deep.exists())
        directory.open()
        self.addCleanup(directory.close)
        self.assertEqual(self.mode(deep), 0o700)
        self.assertEqual(self.mode(deep / "agent.lock"), 0o600)

    def test_is_held_by_one_agent(self) -> None:
        """Another one is told by whom; once the first has let go it may have it."""
        other = DataDirectory(self.path)
        text = self.wrong(other.open)
        self.assertIn(f"process {os.getpid()}", text)
        self.assertIn("another agent", text)
        self.directory.close()
        other.open()
        other.close()

    def test_has_to_be_writable(self) -> None:
        self.path = Path("/proc/self")  # root can write everything else
        self.assertIn("cannot be written", self.wrong(DataDirectory(self.path).open))

    def test_has_to_be_a_directory(self) -> None:
        self.path = self.path / "file"
        self.path.touch()
        self.assertIn("File exists", self.wrong(DataDirectory(self.path).open))

    def test_a_lock_that_is_a_link_is_not_followed(self) -> None:
        self.directory.close()
        (self.path / "agent.lock").unlink()
        (self.path / "agent.lock").symlink_to(self.path / "elsewhere")
        self.wrong(DataDirectory(self.path).open)
        self.assertFalse((self.path / "elsewhere").exists())


class WriteTests(DirectoryCase):
    def test_comes_back(self) -> None:
        self.directory.write("a", b"one")
        self.directory.write("a", b"two")
        self.assertEqual(self.directory.read("a"), b"two")
        self.assertEqual((self.names(), self.mode(self.path / "a")), ({"a"}, 0o600))
        self.assertIsNone(self.directory.read("b"))

    def test_is_on_the_disk_before_it_has_its_name(self) -> None:
        """The file, its name, the folder: in this order."""
        steps: list[str] = []
        fsync, replace = os.fsync, os.replace

        def told_fsync(file: int) -> None:
            steps.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
            fsync(file)

        def told_replace(one: Path, other: Path) -> None:
            steps.append("name")
            replace(one, other)

        self.patch(os, "fsync", told_fsync)
        self.patch(os, "replace", told_replace)
        self.directory.write("a", b"one")
        self.assertEqual(steps, ["file", "name", "folder"])

    def test_what_cannot_be_written_leaves_what_was(self) -> None:
        self.directory.write("a", b"one")

        def full(file: int) -> None:
            raise OSError(28, "No space left on device")

        self.patch(os, "fsync", full)
        self.assertRaises(OSError, self.directory.write, "a", b"two")
        self.assertEqual(self.directory.read("a"), b"one")
        self.assertEqual(self.names(), {"a"})

    def test_what_a_crash_left_is_in_nobodys_way(self) -> None:
        (self.path / ".a.new").write_bytes(b"half of something longer")
        self.directory.write("a", b"one")
        self.assertEqual(self.directory.read("a"), b"one")
        self.assertEqual(self.names(), {"a"})

    def test_values_come_back(self) -> None:
        self.assertIsNone(self.directory.load("seen.json", Seen, NOW))
        self.directory.save("seen.json", Seen(("a", "b")))
        self.assertEqual(self.directory.load("seen.json", Seen, NOW), Seen(("a", "b")))

    def test_what_is_damaged_is_set_aside(self) -> None:
        """And said; it is kept as it was."""
        for data in (b"", b"{", b'{"machines": 1}', b'{"other": []}', b"[]", b"\xff"):
            (self.path / "seen.json").write_bytes(data)
            with capturedLogs() as events:
                self.assertIsNone(self.directory.load("seen.json", Seen, NOW))
            self.assertEqual((self.path / f"seen.json.{ASIDE}").read_bytes(), data)
            self.assertEqual(self.names(), {f"seen.json.{ASIDE}"})
            [event] = events
            self.assertEqual(event["log_level"].name, "error")
            self.assertEqual(event["aside"], f"seen.json.{ASIDE}")

    def test_what_is_too_long_is_damaged(self) -> None:
        text = b'{"machines": []}'
        (self.path / "seen.json").write_bytes(text.ljust(LONGEST_DOCUMENT))
        self.assertEqual(self.directory.load("seen.json", Seen, NOW), Seen())
        (self.path / "seen.json").write_bytes(text.ljust(LONGEST_DOCUMENT + 1))
        self.assertIsNone(self.directory.load("seen.json", Seen, NOW))

    @given(st.binary(max_size=200))
    def test_any_bytes_are_read_or_set_aside(self, data: bytes) -> None:
        (self.path / "seen.json").write_bytes(data)
        made = self.directory.load("seen.json", Seen, NOW)
        self.assertIsInstance(made, (Seen, type(None)))


class IdentityTests(DirectoryCase):
    def setUp(self) -> None:
        super().setUp()
        self.identity = Identity("n1", "s1", Role.SITE, generate("Ed25519"))
        root = JSON(public_jwk(generate("Ed25519")))
        self.trust = TrustBundle((root,), (), 1)

    def test_comes_back(self) -> None:
        self.assertIsNone(self.directory.identity())
        self.directory.joined(self.identity, self.trust)
        found = self.directory.identity()
        assert found is not None
        self.assertEqual(found, self.identity)
        self.assertEqual(private_jwk(found.key), private_jwk(self.identity.key))
        self.assertEqual(self.directory.trust(), self.trust)
        for name in (IDENTITY, TRUST):
            self.assertEqual(self.mode(self.path / name), 0o600)

    def test_shows_nobody_its_key(self) -> None:
        self.assertNotIn(private_jwk(self.identity.key)["d"], repr(self.identity))

    def test_is_written_after_the_trust(self) -> None:
        """A disk that is full in between leaves an agent that has not joined."""
        write = self.directory.write

        def full(name: str, data: bytes) -> None:
            if name == IDENTITY:
                raise OSError(28, "No space left on device")
            write(name, data)

        self.directory.write = full  # type: ignore[method-assign]
        self.assertRaises(OSError, self.directory.joined, self.identity, self.trust)
        self.assertIsNone(self.directory.identity())

    def test_a_damaged_one_is_left_where_it_is(self) -> None:
        self.directory.joined(self.identity, self.trust)
        whole = (self.path / IDENTITY).read_bytes()
        secret = private_jwk(self.identity.key)["d"]
        for data in (b"", whole[:-1], whole.replace(b'"d"', b'"e"'), whole.replace(b"n1", b"")):
            (self.path / IDENTITY).write_bytes(data)
            text = self.wrong(self.directory.identity)
            self.assertIn("identity.json is damaged", text)
            self.assertIn("join again", text)
            self.assertNotIn(secret, text)
            self.assertEqual((self.path / IDENTITY).read_bytes(), data)

    def test_trust_is_never_begun_anew(self) -> None:
        """Without command roots an agent would take commands from anybody."""
        self.directory.joined(self.identity, self.trust)
        (self.path / TRUST).write_bytes(b"{")
        self.assertIn("trust.json is damaged", self.wrong(self.directory.trust))
        (self.path / TRUST).unlink()
        self.assertIn("trust.json is missing", self.wrong(self.directory.trust))

    def test_one_that_others_can_read_is_warned_of(self) -> None:
        self.directory.joined(self.identity, self.trust)
        (self.path / IDENTITY).chmod(0o644)
        with capturedLogs() as events:
            self.directory.identity()
        self.assertEqual([each["mode"] for each in events], ["0644"])

    def test_one_that_cannot_be_read_is_told(self) -> None:
        (self.path / IDENTITY).mkdir()
        self.assertIn("identity.json cannot be read", self.wrong(self.directory.identity))


class JournalTests(DirectoryCase):
    def receive(self, now: int = NOW) -> None:
        taken = command()
        journal = self.directory.journal(now)
        journal.receive(taken, digest(taken), octets(taken), now)
        journal.close()

    def test_is_kept(self) -> None:
        self.receive()
        journal = self.directory.journal(NOW + 60)
        self.addCleanup(journal.close)
        self.assertEqual(journal.made_at, NOW)
        self.assertIsNotNone(journal.find("c1"))

    def test_is_for_its_owner_alone(self) -> None:
        journal = self.directory.journal(NOW)
        taken = command()
        journal.receive(taken, digest(taken), octets(taken), NOW)
        self.addCleanup(journal.close)
        self.assertEqual(self.names(), {JOURNAL, f"{JOURNAL}-wal"})
        self.assertEqual({self.mode(self.path / each) for each in self.names()}, {0o600})

    def test_a_damaged_one_is_set_aside(self) -> None:
        """The new one says that it is new."""
        self.receive()
        (self.path / JOURNAL).write_bytes(b"damage" * 2000)
        (self.path / f"{JOURNAL}-wal").write_bytes(b"more of it")
        with capturedLogs() as events:
            journal = self.directory.journal(NOW + 60)
        journal.close()
        self.assertEqual(journal.made_at, NOW + 60)
        aside = f"{JOURNAL}.corrupt-20231114T221420Z"
        self.assertLessEqual({JOURNAL, aside}, self.names())
        self.assertEqual((self.path / aside).read_bytes(), b"damage" * 2000)
        self.assertIn("error", [each["log_level"].name for each in events])

    def test_what_stood_beside_one_that_is_gone_is_not_read(self) -> None:
        taken = command()
        journal = self.directory.journal(NOW)
        journal.receive(taken, digest(taken), octets(taken), NOW)
        # As a process that is killed leaves it.
        wal = (self.path / f"{JOURNAL}-wal").read_bytes()
        journal.close()
        (self.path / JOURNAL).unlink()
        (self.path / f"{JOURNAL}-wal").write_bytes(wal)
        journal = self.directory.journal(NOW + 60)
        self.addCleanup(journal.close)
        self.assertEqual(journal.made_at, NOW + 60)
        self.assertIsNone(journal.find("c1"))

    def test_one_of_a_newer_release_is_left_alone(self) -> None:
        self.receive()
        with sqlite3.connect(self.path / JOURNAL) as other:
            other.execute("PRAGMA user_version = 9")
        other.close()
        self.assertRaises(Unavailable, self.directory.journal, NOW)
        self.assertEqual(self.names(), {JOURNAL})

    def test_one_that_cannot_be_opened_is_told(self) -> None:
        (self.path / JOURNAL).mkdir()
        self.assertRaises(Unavailable, self.directory.journal, NOW)
