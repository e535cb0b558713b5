"""Tests for ``rescriptum.cli.arming``: arm and disarm."""

import io
import json
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import Key, Kind, Place
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.cli.main import main

from .test_answers_stores_copying import plant, tree

MAC = "52-54-00-12-34-56"


class ArmingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.answers = plant(
            self.path / "answers", {f"{MAC}/any.ipxe": b"1", f"{MAC}/x.ks": b"2", "m2/x.ks": b"3"}
        )
        self.database = self.path / "answers.db"

    def run_command(self, *arguments: str, store: str = "files") -> tuple[int, str, str]:
        """:returns: exit code, standard output, standard error."""
        environ = {
            "RESCRIPTUM_ANSWERS_DIR": str(self.answers),
            "RESCRIPTUM_STORE": store,
            "RESCRIPTUM_DB_PATH": str(self.database),
        }
        out, err = io.StringIO(), io.StringIO()
        return main(arguments, environ, out, err), out.getvalue(), err.getvalue()

    def test_there_and_back(self) -> None:
        """What moved is said; what is so already is no failure."""
        for arguments, text in (
            (("disarm", "52:54:00:12:34:56"), f"{MAC} -> installed-{MAC}\n"),
            (("disarm", MAC), f"disarmed already: installed-{MAC}\n"),
            (("arm", "525400123456"), f"installed-{MAC} -> {MAC}\n"),
            (("arm", f"installed-{MAC}"), f"armed already: {MAC}\n"),
        ):
            self.assertEqual(self.run_command(*arguments), (0, text, ""))
        self.assertEqual(
            tree(self.answers), {f"{MAC}/any.ipxe": b"1", f"{MAC}/x.ks": b"2", "m2/x.ks": b"3"}
        )

    def test_in_a_database(self) -> None:
        store = SQLiteStore(self.database)
        store.put(Key(Place(Kind.MACHINE, MAC), "ipxe"), b"1")
        store.close()
        text = f"{MAC} -> installed-{MAC}\n"
        self.assertEqual(self.run_command("disarm", MAC, store="sqlite"), (0, text, ""))

    def test_for_programs(self) -> None:
        code, out, _ = self.run_command("disarm", MAC, "--json")
        moved = [{"from": MAC, "to": f"installed-{MAC}"}]
        self.assertEqual((code, json.loads(out)), (0, {"moved": moved, "already": []}))
        code, out, _ = self.run_command("disarm", MAC, "-j")
        wanted = {"moved": [], "already": [f"installed-{MAC}"]}
        self.assertEqual((code, json.loads(out)), (0, wanted))

    def test_nobody(self) -> None:
        """Exit code 1, and who is there."""
        self.assertEqual(
            self.run_command("arm", "52:54:00:12:34:57"),
            (1, "", f"error: no machine is called 52:54:00:12:34:57, there is {MAC}\n"),
        )
        text = "error: m2 has no ipxe document of its own\n"
        self.assertEqual(self.run_command("disarm", "m2"), (1, "", text))

    def test_misuse(self) -> None:
        for arguments in (("arm",), ("disarm", " "), ("disarm", "a", "b"), ("arm", "--all")):
            code, out, err = self.run_command(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn(f"Usage: rescriptum {arguments[0]} ID", err)
