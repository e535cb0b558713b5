"""Tests for ``rescriptum.answers.stores.migrate``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.stores.migrate import Move, migrated, planned
from rescriptum.errors import NotFound, Unavailable

from .test_answers_stores_copying import plant, tree


class MigrationTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()

    def migrate(self) -> tuple[dict[str, str], dict[str, str]]:
        """:returns: what was planned, and done just so: moves, and what stays, with the reason."""
        before = tree(self.path)
        plan = planned(self.path)
        self.assertEqual(tree(self.path), before)
        self.assertEqual(migrated(self.path, plan), plan)
        again = planned(self.path)
        self.assertEqual(again.moves, ())
        self.assertEqual(
            [each.source for each in again.problems], [each.source for each in plan.problems]
        )
        return (
            {each.source: each.to for each in plan.moves},
            {each.source: each.text for each in plan.problems},
        )

    def test_flat_documents(self) -> None:
        """Of machines, of groups and the default; each to the name that we give such a file."""
        plant(
            self.path,
            {
                "52-54-00-12-34-56.toml": b"1\r\n",
                "52-54-00-12-34-56.ipxe": b"2",
                "host.example.com.YML": b"3",
                "default.preseed": b"4",
                "groups/dell.ks": b"5",
                "groups/default.ks": b"6",
                "new/proxmox.toml": b"7",
                "README.md": b"8",
                ".hidden.ks": b"9",
                "groups/notes.txt": b"10",
            },
        )
        (self.path / "directory.ks").mkdir()
        moves, stay = self.migrate()
        self.assertEqual(
            moves,
            {
                "52-54-00-12-34-56.toml": "52-54-00-12-34-56/proxmox.toml",
                "52-54-00-12-34-56.ipxe": "52-54-00-12-34-56/boot.ipxe",
                "host.example.com.YML": "host.example.com/ubuntu.yml",
                "default.preseed": "default/debian.preseed",
                "groups/dell.ks": "groups/dell/rhel.ks",
                "groups/default.ks": "groups/default/rhel.ks",
            },
        )
        self.assertEqual(stay, {})
        self.assertEqual(
            tree(self.path),
            {
                "52-54-00-12-34-56/proxmox.toml": b"1\r\n",
                "52-54-00-12-34-56/boot.ipxe": b"2",
                "host.example.com/ubuntu.yml": b"3",
                "default/debian.preseed": b"4",
                "groups/dell/rhel.ks": b"5",
                "groups/default/rhel.ks": b"6",
                "new/proxmox.toml": b"7",
                "README.md": b"8",
                ".hidden.ks": b"9",
                "groups/notes.txt": b"10",
            },
        )

    def test_nothing_is_overwritten(self) -> None:
        """Nor put beside a document that would be served instead, or instead of it."""
        files = {
            "m1.toml": b"flat",
            "m1/proxmox.toml": b"there",
            "m2.toml": b"flat",
            "m2/another.TOML": b"there",
            "m3.KS": b"first",
            "m3.ks": b"second",
            "m4.ks": b"flat",
            "m4": b"a file",
            "meta-data": b"",
            "groups.toml": b"",
        }
        plant(self.path, files)
        moves, stay = self.migrate()
        self.assertEqual(moves, {"m3.KS": "m3/rhel.ks"})
        self.assertEqual(
            stay,
            {
                "m1.toml": "stays where it is: there is m1/proxmox.toml already",
                "m2.toml": "stays where it is: there is m2/another.TOML already",
                "m4.ks": "stays where it is: m4 is no directory",
                "meta-data": "stays where it is: its name does not say whose it is",
                "groups.toml": "stays where it is: its name does not say whose it is",
                "m3.ks": "stays where it is: another document goes to m3/rhel.ks",
            },
        )

    def test_spellings(self) -> None:
        """The default and the groups go where they are read from."""
        plant(self.path, {"DEFAULT.ks": b"1", "Default/x.toml": b"", "Groups/g.ks": b"2"})
        moves, stay = self.migrate()
        self.assertEqual(
            moves, {"DEFAULT.ks": "Default/rhel.ks", "Groups/g.ks": "Groups/g/rhel.ks"}
        )
        self.assertEqual(stay, {})

    def test_symbolic_links(self) -> None:
        """A relative one would lead elsewhere; one by a whole path goes along, as a link."""
        shared = plant(Path(self.mktemp()).absolute(), {"x.ks": b"1"}) / "x.ks"
        plant(self.path, {"m1.ks": b"1"})
        (self.path / "m2.ks").symlink_to("m1.ks")
        (self.path / "m3.ks").symlink_to(shared)
        moves, stay = self.migrate()
        self.assertEqual(moves, {"m1.ks": "m1/rhel.ks", "m3.ks": "m3/rhel.ks"})
        self.assertIn("would lead elsewhere", stay["m2.ks"])
        self.assertEqual((self.path / "m3" / "rhel.ks").readlink(), shared)

    def test_interrupted(self) -> None:
        """A file that has both names already is finished; under a third name it would be two."""
        plant(self.path, {"m1.ks": b"1"})
        (self.path / "m1").mkdir()
        (self.path / "m1" / "rhel.ks").hardlink_to(self.path / "m1.ks")
        self.assertEqual(
            migrated(self.path, planned(self.path)).moves, (Move("m1.ks", "m1/rhel.ks"),)
        )
        self.assertEqual(tree(self.path), {"m1/rhel.ks": b"1"})

    def test_what_comes_meanwhile(self) -> None:
        """Is not overwritten either, and the others are moved."""
        plant(self.path, {"m1.ks": b"1", "m2.ks": b"2"})
        plan = planned(self.path)
        plant(self.path, {"m1/rhel.ks": b"new"})
        done = migrated(self.path, plan)
        self.assertEqual(done.moves, plan.moves[1:])
        [problem] = done.problems
        self.assertEqual(str(problem), "m1.ks: stays where it is: m1/rhel.ks: File exists")
        self.assertEqual(tree(self.path), {"m1.ks": b"1", "m1/rhel.ks": b"new", "m2/rhel.ks": b"2"})

    def test_no_directory(self) -> None:
        self.assertRaises(NotFound, planned, self.path)
        self.path.touch()
        self.assertRaises(Unavailable, planned, self.path)
