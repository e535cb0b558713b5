"""Tests for ``rescriptum.cli.sets``: import, export and migrate."""

import io
import json
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.main import main

from .test_answers_stores_copying import plant, tree

FILES = {
    "52-54-00-12-34-56/boot.ipxe": b"#!ipxe\r\n",
    "default/debian.preseed": b"\xff",
    "groups/dell/proxmox.toml": b"a = ",
}


class Terminal(io.StringIO):
    """Standard error, where somebody is looking."""

    def isatty(self) -> bool:
        return True


class SetsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.answers = plant(self.path / "answers", FILES)
        self.database = self.path / "answers.db"
        self.err = io.StringIO()

    def run_command(self, *arguments: str, store: str = "sqlite") -> tuple[int, str, str]:
        """:returns: exit code, standard output, standard error."""
        environ = {
            "RESCRIPTUM_ANSWERS_DIR": str(self.answers),
            "RESCRIPTUM_STORE": store,
            "RESCRIPTUM_DB_PATH": str(self.database),
        }
        out = io.StringIO()
        self.err = self.err if isinstance(self.err, Terminal) else io.StringIO()
        code = main(arguments, environ, out, self.err)
        return code, out.getvalue(), self.err.getvalue()

    def test_there_and_back(self) -> None:
        """Every document, to the byte, broken ones too: neither command judges them."""
        out = self.path / "out"
        self.assertEqual(
            self.run_command("import", str(self.answers)),
            (0, f"3 documents into sqlite:{self.database}\n", ""),
        )
        self.assertEqual(self.run_command("export", str(out)), (0, f"3 documents to {out}\n", ""))
        self.assertEqual(tree(out), FILES)
        (out / "default" / "debian.preseed").write_bytes(b"new")
        self.assertEqual(
            self.run_command("import", str(out)),
            (0, f"1 document into sqlite:{self.database}, 2 are there already\n", ""),
        )

    def test_a_directory_of_files_is_a_store_too(self) -> None:
        out, elsewhere = self.path / "out", self.path / "elsewhere"
        self.assertEqual(self.run_command("export", str(out), store="files")[0], 0)
        self.assertEqual(tree(out), FILES)
        self.answers = elsewhere
        self.assertEqual(
            self.run_command("import", str(out), store="files"),
            (0, f"3 documents into files:{elsewhere}\n", ""),
        )
        self.assertEqual(tree(elsewhere), FILES)

    def test_what_is_left_out(self) -> None:
        """Exit code 1, and the reason on standard error; the rest is done."""
        plant(self.answers, {"flat.ks": b""})
        self.assertEqual(
            self.run_command("import", str(self.answers)),
            (
                1,
                f"3 documents into sqlite:{self.database}\n",
                "left out: flat.ks: not served: it belongs in flat/rhel.ks\n",
            ),
        )

    def test_for_programs(self) -> None:
        plant(self.answers, {"flat.ks": b""})
        code, out, err = self.run_command("import", str(self.answers), "--json")
        self.assertEqual((code, err), (1, ""))
        about = {"directory": str(self.answers), "store": f"sqlite:{self.database}"}
        text = "not served: it belongs in flat/rhel.ks"
        problems = [{"source": "flat.ks", "text": text}]
        wanted = {**about, "written": 3, "unchanged": 0, "problems": problems}
        self.assertEqual(json.loads(out), wanted)
        about["directory"] = str(self.path / "out")
        code, out, _ = self.run_command("export", "-j", about["directory"])
        wanted = {**about, "written": 3, "unchanged": 0, "problems": []}
        self.assertEqual((code, json.loads(out)), (0, wanted))

    def test_refused(self) -> None:
        """One line that says why: a directory that is not there, or not empty, or no store."""
        missing = str(self.path / "missing")
        for arguments, text in (
            (("import", missing), f"error: no such directory: {missing}\n"),
            (("migrate", missing), f"error: no such directory: {missing}\n"),
        ):
            self.assertEqual(self.run_command(*arguments), (1, "", text))
        code, out, err = self.run_command("export", missing)
        self.assertEqual((code, out), (1, f"0 documents to {missing}\n"))
        self.assertIn("no such database", err)
        self.run_command("import", str(self.answers))
        plant(self.path / "full", {"README": b""})
        code, _, err = self.run_command("export", str(self.path / "full"))
        self.assertEqual(code, 1)
        self.assertEqual(
            err, f"error: {self.path}/full is not empty: the export would not write its README\n"
        )
        self.database.write_bytes(b"no database")
        code, _, err = self.run_command("import", str(self.answers))
        self.assertEqual(code, 1)
        self.assertTrue(err.startswith(f"error: {self.database}: "), err)

    def test_on_a_terminal(self) -> None:
        """How much is done is shown there, and nothing of it on standard output."""
        self.err = Terminal()
        code, out, err = self.run_command("import", str(self.answers))
        self.assertEqual((code, out), (0, f"3 documents into sqlite:{self.database}\n"))
        self.assertIn("3/3", err)

    def test_migrate(self) -> None:
        """What would be done, and then it is; in the answer set's directory or another."""
        plant(self.answers, {"m1.toml": b"1", "groups/g.ks": b"2"})
        lines = "m1.toml -> m1/proxmox.toml\ngroups/g.ks -> groups/g/rhel.ks\n"
        todo = f"{lines}2 to rename: 'rescriptum migrate --apply' does it\n"
        self.assertEqual(self.run_command("migrate"), (0, todo, ""))
        self.assertEqual(self.run_command("migrate", str(self.answers)), (0, todo, ""))
        self.assertIn("m1.toml", tree(self.answers))
        done = f"{lines}renamed 2\n"
        self.assertEqual(self.run_command("migrate", "--apply"), (0, done, ""))
        wanted = {**FILES, "m1/proxmox.toml": b"1", "groups/g/rhel.ks": b"2"}
        self.assertEqual(tree(self.answers), wanted)
        self.assertEqual(self.run_command("migrate"), (0, "nothing lies flat\n", ""))

    def test_migrate_what_stays(self) -> None:
        plant(self.answers, {"m1.toml": b"1", "m1/a.toml": b"2"})
        stays = "stays where it is: there is m1/a.toml already"
        self.assertEqual(self.run_command("migrate"), (1, "", f"problem: m1.toml: {stays}\n"))
        code, out, _ = self.run_command("migrate", "--apply", "--json")
        wanted = {
            "directory": str(self.answers),
            "applied": True,
            "moves": [],
            "problems": [{"source": "m1.toml", "text": stays}],
        }
        self.assertEqual((code, json.loads(out)), (1, wanted))

    def test_misuse(self) -> None:
        for arguments in (
            ("import",),
            ("export",),
            ("import", "a", "b"),
            ("export", ""),
            ("migrate", "a", "b"),
            ("migrate", "--force"),
        ):
            code, out, err = self.run_command(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn("Usage: rescriptum", err)
