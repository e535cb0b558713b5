"""Tests for ``rescriptum.cli.check``."""

import io
import json
import os
from pathlib import Path

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.captured import Captured
from rescriptum.answers.documents import Key, Kind, Place
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.cli.check import MAX_FACTS, CheckOptions, requests
from rescriptum.cli.main import main

MAC = "52-54-00-00-00-01"
KS = "lang x\nkeyboard x\ntimezone x\nrootpw x\nautopart\n"
NEEDY = KS + "# {{ serial }}\n"


class Terminal(io.StringIO):
    """Standard error, where somebody is looking."""

    def isatty(self) -> bool:
        return True


class CheckTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.answers = self.path / "answers"
        self.answers.mkdir(parents=True)
        self.tools = self.path / "bin"
        self.tools.mkdir()
        self.patch(os, "environ", {**os.environ, "PATH": f"{self.tools}:/nowhere"})

    def write(self, name: str, text: str) -> Path:
        path = self.answers / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def facts(self, what: object) -> str:
        path = self.path / "facts.json"
        path.write_text(json.dumps(what))
        return str(path)

    def check(self, *arguments: str, **settings: str) -> tuple[int, str, str]:
        """:returns: exit code, standard output, standard error."""
        out, err = io.StringIO(), io.StringIO()
        environ = {"RESCRIPTUM_ANSWERS_DIR": str(self.answers), **settings}
        code = main(["check", *arguments], environ, out, err)
        return code, out.getvalue(), err.getvalue()

    def test_all_is_well(self) -> None:
        self.write(f"{MAC}/a.ipxe", "#!ipxe\nexit\n")
        self.assertEqual(
            self.check(),
            (
                0,
                f"checking files:{self.answers}\n"
                "0 groups, 1 machine; 1 answer rendered: 1 iPXE script\n"
                "ok: everything renders\n",
                "",
            ),
        )

    def test_problems(self) -> None:
        """Each is told, the exit code is 1; warnings and notes do not fail it."""
        self.write(f"{MAC}/a.ks", KS + "autoprat\n")
        code, out, _ = self.check("--no-tools")
        self.assertEqual(code, 0)
        self.assertIn(f"warning  {MAC}/a.ks: line 6: unknown command 'autoprat'; did you ", out)
        self.write(f"{MAC}/b.ks", KS)
        self.write("flat.ks", KS)
        code, out, _ = self.check("--no-tools")
        self.assertEqual(code, 1)
        self.assertTrue(out.endswith("2 problems\n"), out)

    def test_a_store_that_cannot_be_read(self) -> None:
        code, out, err = self.check(RESCRIPTUM_ANSWERS_DIR=str(self.write("x", "")))
        self.assertEqual((code, out), (1, ""))
        self.assertTrue(err.startswith("error: "), err)

    def test_a_database(self) -> None:
        database = self.path / "answers.db"
        store = SQLiteStore(database)
        store.put(Key(Place(Kind.MACHINE, MAC), "ipxe"), b"#!ipxe\nexi\n")
        settings = {"RESCRIPTUM_STORE": "sqlite", "RESCRIPTUM_DB_PATH": str(database)}
        code, out, _ = self.check(**settings)
        self.assertEqual(code, 0)
        self.assertIn("checking sqlite:", out)
        self.assertIn("unknown command 'exi'", out)

    def test_for_programs(self) -> None:
        self.write("installed-x/a.ks", KS)
        self.write("groups/g/a.ks", f"# answer: member {MAC}\n{NEEDY}")
        code, out, _ = self.check("--json", "--no-tools")
        said = json.loads(out)
        self.assertEqual(code, 0)
        self.assertEqual((said["ok"], said["groups"], said["machines"]), (True, 1, 0))
        [finding] = said["findings"]
        self.assertEqual(finding["severity"], "note")
        self.assertEqual(finding["machines"], [MAC])

    def test_the_page_names_every_key(self) -> None:
        """What programs may rely on is written down."""
        self.write("groups/g/a.ks", f"# answer: member {MAC}\n{NEEDY}")
        said = json.loads(self.check("--json", "--no-tools")[1])
        page = (Path(__file__).parent.parent / "docs" / "check.md").read_text()
        section = page.partition("## For programs")[2]
        for key in (*said, *said["findings"][0]):
            self.assertIn(f"`{key}`", section)

    def test_facts(self) -> None:
        """One request, or several, in as many files; each by its number."""
        self.write(f"{MAC}/a.ks", NEEDY)
        self.assertIn("needs serial from the request", self.check("--no-tools")[1])
        both = [{"mac": MAC, "serial": "s"}, {"mac": "nobody"}]
        file = self.facts(both)
        code, out, _ = self.check("--no-tools", "--facts", file, "-f", file)
        self.assertEqual(code, 0)
        self.assertNotIn("needs serial", out)
        self.assertIn(f"warning  {file}: request 2: nothing answers this request\n", out)
        code, out, _ = self.check("--no-tools", "--facts", self.facts({"mac": MAC}))
        self.assertEqual(code, 1)
        self.assertIn(f"FAIL     {MAC}/a.ks: needs serial, which the request does not", out)

    def test_a_request_that_was_kept(self) -> None:
        """Its path says what it asks for, and where it came from is a fact."""
        self.write("groups/g/a.ks", "# answer: match peer=192.0.2.0/24 serial=S\n" + NEEDY)
        captured = Captured(0, ("192.0.2.7", 1), "POST", "/ks?x=1", "application/json", 14, "404")
        meta = self.path / "19700101T000000Z-192.0.2.7-0001.meta"
        meta.write_text(captured.meta())
        meta.with_suffix(".body").write_text('{"serial":"S"}')
        code, out, _ = self.check("--no-tools", "--facts", str(meta))
        self.assertEqual(code, 0)
        self.assertIn("1 answer rendered: 1 kickstart\nok: ", out)
        self.assertNotIn("note", out)

    def test_tools(self) -> None:
        """What an installer's own tool refuses is a problem; one that is missing is a note."""
        self.write(f"{MAC}/a.ks", KS)
        code, out, _ = self.check()
        self.assertEqual(code, 0)
        self.assertIn(
            "note     ks: ksvalidator is not on PATH: only the bundled check looked at it\n", out
        )
        tool = self.tools / "ksvalidator"
        tool.write_text("#!/bin/sh\necho no\nexit 1\n")
        tool.chmod(0o755)
        code, out, _ = self.check()
        self.assertEqual(code, 1)
        self.assertIn(f"FAIL     {MAC}/a.ks: ksvalidator: no\n", out)
        self.assertEqual(self.check("--no-tools")[0], 0)

    def test_every(self) -> None:
        for at in range(9):
            self.write(f"{MAC[:-1]}{at}/a.ks", f"{KS}# {at}\n")
        tool = self.tools / "ksvalidator"
        tool.write_text("#!/bin/sh\nexit 0\n")
        tool.chmod(0o755)
        self.assertIn("ksvalidator looked at 8 of 9: --every for all", self.check()[1])
        self.assertNotIn("note", self.check("--every")[1])

    def test_progress_on_a_terminal(self) -> None:
        """A bar, and nothing of it elsewhere nor in the result."""
        self.write(f"{MAC}/a.ipxe", "#!ipxe\nexit\n")
        out, err = io.StringIO(), Terminal()
        environ = {"RESCRIPTUM_ANSWERS_DIR": str(self.answers)}
        self.assertEqual(main(["check"], environ, out, err), 0)
        self.assertIn("answers", err.getvalue())
        self.assertIn("1/1", err.getvalue())
        self.assertEqual(out.getvalue(), self.check()[1])

    def test_usage(self) -> None:
        """A file that cannot be used names itself and what would be right; the exit code is 2."""
        broken = self.path / "broken.json"
        broken.write_text("{")
        meta = self.path / "a.meta"
        meta.write_text("request: x\n")
        (self.path / "a.body").write_text("")
        deep = self.path / "deep.json"
        deep.write_text('{"a":' * 40 + "1" + "}" * 40)
        for arguments, said in (
            (["--every", "--no-tools"], "--every is about the tools"),
            (["--facts", str(self.path / "none")], f"{self.path}/none: No such file or directory"),
            (["--facts", str(broken)], f"{broken}: want JSON: "),
            (["--facts", self.facts([1])], "want what a request posts, a table of facts, not 1"),
            (["--facts", str(deep)], f"{deep}: body nested deeper than 32"),
            (["--facts", str(meta)], f"{meta}: request: want METHOD /PATH?QUERY, not 'x'"),
            (["x"], ""),
        ):
            code, out, err = self.check(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(said, err)

    def test_files_are_bounded(self) -> None:
        path = self.path / "large.json"
        with path.open("wb") as file:
            file.truncate(MAX_FACTS)
        with self.assertRaises(UsageError) as caught:
            requests(path)
        self.assertIn("want JSON", str(caught.exception))
        with path.open("r+b") as file:
            file.truncate(MAX_FACTS + 1)
        with self.assertRaises(UsageError) as caught:
            requests(path)
        self.assertEqual(str(caught.exception), f"{path}: larger than {MAX_FACTS} bytes")

    def test_options_are_not_shared(self) -> None:
        """Facts of one command line are none of the next."""
        first, second = CheckOptions(), CheckOptions()
        first.parseOptions(["--facts", self.facts({"mac": MAC})])
        self.assertEqual((len(first.given), len(second.given)), (1, 0))
